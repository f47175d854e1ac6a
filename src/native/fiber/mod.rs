//! A stack of its own for a guest that runs on a thread of its host. The host's stack keeps a loop that resumes the guest. So the host can
//! be called on its own stack while the guest waits, and a guest that does not stop can be left: its frames stay as they are, because V8's
//! own threads may refer to them, but nothing runs on them again.

mod stack;
mod switch;

use std::cell::Cell;
use std::ffi::c_void;
use std::panic::catch_unwind;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use super::context::{self, ThreadContext};
use super::stop_request;
use stack::Stack;
pub use stack::prepare_thread;
pub use switch::redirect;

/// Why control returns to the host's stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Pause {
    /// The guest waits.
    Waiting = 1,
    /// The work is done.
    Done = 2,
    /// The guest was left because it does not stop.
    Left = 3,
    /// The guest was left because it cannot continue.
    Failed = 4,
}

/// What runs on a fiber, with its argument.
type Work = (fn(*const c_void), *const c_void);

pub struct Fiber {
    stack: Stack,
    /// Where it continues.
    pointer: Cell<usize>,
    work: Cell<Option<Work>>,
    state: Cell<Pause>,
    /// What the thread works for while the fiber runs.
    context: ThreadContext,
}

/// There has been a fiber in this process. Without one, signal handlers do without thread-local data.
static EXIST: AtomicBool = AtomicBool::new(false);

/// Whether there has been a fiber.
pub fn exist() -> bool {
    EXIST.load(Ordering::Relaxed)
}

/// An identity of the fiber that runs on this thread; 0 for none.
pub fn active() -> usize {
    if !exist() {
        return 0;
    }
    context::of_thread(|thread| thread.fiber.get() as usize)
}

/// The lowest and the highest address of the stack of the fiber that runs on this thread.
pub fn bounds() -> Option<(usize, usize)> {
    if !exist() {
        return None;
    }
    let active = context::of_thread(|thread| thread.fiber.get()).cast::<Fiber>();
    // SAFETY: the `resume` that has set it borrows the fiber until the fiber is suspended.
    unsafe { active.as_ref() }.map(|fiber| fiber.stack.bounds())
}

extern "C" fn main(fiber: usize) -> ! {
    loop {
        // SAFETY: `resume` borrows the fiber.
        let work = unsafe { &(*(fiber as *const Fiber)).work }.take();
        if let Some((work, argument)) = work {
            // The work handles its own panics; none may leave this stack.
            let _ = catch_unwind(|| work(argument));
        }
        pause(Pause::Done);
    }
}

/// Returns from [`Fiber::resume`] on the thread's own stack, until the fiber is resumed. False if the thread runs on that stack.
#[inline(always)]
fn pause(reason: Pause) -> bool {
    context::of_thread(|thread| {
        // SAFETY: as in `bounds`.
        let Some(fiber) = (unsafe { thread.fiber.get().cast::<Fiber>().as_ref() }) else { return false };
        // SAFETY: the fiber runs. The other stack is suspended in `resume`.
        unsafe { switch::switch(fiber.pointer.as_ptr(), thread.stack.get(), reason as usize) };
        true
    })
}

/// Suspends the fiber that runs on this thread. False if none does.
#[inline(always)]
pub fn suspend() -> bool {
    pause(Pause::Waiting)
}

/// Leaves the fiber that runs on this thread forever. Returns if none does.
///
/// # Safety
///
/// The frames of the fiber stay as they are: nothing may wait for what they would do, such as release a lock.
pub unsafe fn leave(reason: Pause) {
    if active() != 0 {
        let own = own_stack();
        // SAFETY: the thread's own stack is suspended in `resume`. Nothing runs on the fiber again.
        unsafe { switch::continue_on(0, own, reason as usize) }
    }
}

/// The suspended stack of this thread, for [`redirect`].
pub fn own_stack() -> usize {
    context::of_thread(|thread| thread.stack.get())
}

impl Fiber {
    /// `None` if there is no memory for a stack.
    pub fn new() -> Option<Box<Self>> {
        let stack = Stack::new()?;
        EXIST.store(true, Ordering::Relaxed);
        let top = stack.bounds().1;
        let fiber = Box::new(Self {
            stack,
            pointer: Cell::new(0),
            work: Cell::new(None),
            state: Cell::new(Pause::Done),
            context: ThreadContext::new(),
        });
        // SAFETY: the stack is new, and lives as long as the fiber. `main` does not return.
        fiber.pointer.set(unsafe { switch::prepare(top, main, ptr::from_ref(&*fiber) as usize) });
        Some(fiber)
    }

    /// Sets what the next [`Fiber::resume`] begins. The previous work must be done.
    ///
    /// # Safety
    /// `work` may be called with `argument` until the fiber is done, or was left.
    pub unsafe fn begin(&self, work: fn(*const c_void), argument: *const c_void) {
        self.work.set(Some((work, argument)));
        self.state.set(Pause::Waiting);
    }

    /// Start and length of its stack without the guard.
    pub fn unguarded(&self) -> (usize, usize) {
        let (start, end) = (self.stack.reserve(), self.stack.bounds().1);
        (start, end - start)
    }

    /// Where the reserve of its stack begins.
    pub fn reserve(&self) -> usize {
        self.stack.reserve()
    }

    /// What the thread works for while the fiber runs.
    pub fn context(&self) -> &ThreadContext {
        &self.context
    }

    /// Runs the fiber until it waits, is done or is left. Must be called on the thread's own stack, while the fiber waits.
    pub fn resume(&self) -> Pause {
        if self.state.get() != Pause::Waiting {
            return self.state.get();
        }
        let value = context::of_thread(|thread| {
            if !thread.fiber.get().is_null() {
                return Pause::Waiting as usize;
            }
            thread.fiber.set(ptr::from_ref(self).cast());
            thread.current.set(&raw const self.context);
            // SAFETY: the fiber waits, so `pointer` is its suspended stack. It does not outlive this call.
            let value = unsafe { switch::switch(thread.stack.as_ptr(), self.pointer.get(), 0) };
            thread.current.set(ptr::null());
            thread.fiber.set(ptr::null());
            value
        });
        stop_request::withdraw();
        if value != Pause::Waiting as usize {
            let state = [Pause::Done, Pause::Left, Pause::Failed].into_iter().find(|state| *state as usize == value);
            self.state.set(state.unwrap_or(Pause::Waiting));
        }
        self.state.get()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::ffi::c_void;
    use std::ptr;

    use super::{Fiber, Pause, active, bounds, leave, suspend};

    /// Begins `work`, which must live until the fiber is done or was left.
    fn begin<F: Fn()>(fiber: &Fiber, work: &F) {
        fn call<F: Fn()>(work: *const c_void) {
            // SAFETY: the pointer below, to what the caller keeps.
            unsafe { (*work.cast::<F>())() };
        }
        // SAFETY: the type is that of `work`.
        unsafe { fiber.begin(call::<F>, ptr::from_ref(work).cast()) };
    }

    #[test]
    fn runs_on_a_stack_of_its_own_and_waits() {
        let fiber = Fiber::new().unwrap();
        let seen = RefCell::new(Vec::new());
        for round in 0..3 {
            let work = || {
                let here = 0_u8;
                let (low, high) = bounds().unwrap();
                assert!((low..high).contains(&(&raw const here as usize)));
                seen.borrow_mut().push((round, "begins"));
                assert!(suspend());
                seen.borrow_mut().push((round, "ends"));
            };
            begin(&fiber, &work);
            assert_eq!((fiber.resume(), active()), (Pause::Waiting, 0));
            seen.borrow_mut().push((round, "waits"));
            assert_eq!((fiber.resume(), fiber.resume()), (Pause::Done, Pause::Done));
        }
        let expected: Vec<_> = (0..3).flat_map(|round| ["begins", "waits", "ends"].map(|what| (round, what))).collect();
        assert_eq!(seen.into_inner(), expected);
        assert!(!suspend());
    }

    #[test]
    fn is_left_with_its_frames() {
        struct Dropped<'a>(&'a Cell<bool>);
        impl Drop for Dropped<'_> {
            fn drop(&mut self) {
                self.0.set(true);
            }
        }
        let dropped = Cell::new(false);
        let fiber = Fiber::new().unwrap();
        let work = || {
            let _dropped = Dropped(&dropped);
            // SAFETY: nothing needs the frames.
            unsafe { leave(Pause::Failed) };
        };
        begin(&fiber, &work);
        assert_eq!(fiber.resume(), Pause::Failed);
        assert_eq!(fiber.resume(), Pause::Failed);
        assert!(!dropped.get());
        // Another one works on this thread.
        let other = Fiber::new().unwrap();
        begin(&other, &|| assert!(suspend()));
        assert_eq!([other.resume(), other.resume()], [Pause::Waiting, Pause::Done]);
    }

    #[test]
    fn a_panic_stays_on_the_fiber() {
        let fiber = Fiber::new().unwrap();
        begin(&fiber, &|| panic!("on purpose"));
        assert_eq!(fiber.resume(), Pause::Done);
    }

    #[test]
    fn several_are_suspended_at_a_time() {
        let fibers = [(); 3].map(|()| Fiber::new().unwrap());
        let seen = RefCell::new(Vec::new());
        let works = [0, 1, 2].map(|index| {
            let seen = &seen;
            move || {
                assert!(suspend());
                seen.borrow_mut().push(index);
            }
        });
        for (fiber, work) in fibers.iter().zip(&works) {
            begin(fiber, work);
            assert_eq!(fiber.resume(), Pause::Waiting);
        }
        for index in [1, 2, 0] {
            assert_eq!(fibers[index].resume(), Pause::Done);
        }
        assert_eq!(seen.into_inner(), [1, 2, 0]);
    }
}
