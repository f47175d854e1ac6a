//! Conditions of V8 (`absl::CondVar`) that guests on fibers wait for, such as the end of tasks on V8's own threads. The thread of a host must be able to leave
//! a guest that waits, since such a task may take long, or have stopped permanently. Inside `absl::CondVar`, the thread is in a queue that it cannot leave,
//! and V8 does not expect to be woken without a reason everywhere. So these guests wait here instead, and the functions that signal look here first
//! (`wrapped_locks`).

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use super::{fiber, lock, locks, stop_request, waits};

/// How often a guest that waits looks whether its thread must leave it.
const POLL: Duration = Duration::from_millis(5);

/// A guest that waits.
struct Waiter {
    number: u64,
    /// The address of the condition.
    condition: usize,
    is_woken: bool,
}

static WAITERS: Mutex<Vec<Waiter>> = Mutex::new(Vec::new());
static WOKEN: Condvar = Condvar::new();

/// The number of waiters. A thread that signals has locked the mutex of the condition after the waiter has unlocked it, so it sees that waiter.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// A mutex of C++ code, and the functions for it.
pub struct CppMutex {
    pub mutex: *mut c_void,
    pub lock: unsafe extern "C" fn(*mut c_void),
    pub try_lock: unsafe extern "C" fn(*mut c_void) -> bool,
    pub unlock: unsafe extern "C" fn(*mut c_void),
}

/// Whether this thread can be left while it waits: it runs a guest on a fiber, which holds only the mutex of the condition, and perhaps the lock of a
/// collection.
pub fn can_leave() -> bool {
    fiber::active() != 0 && locks::count() == 1 + u32::from(locks::is_in_collection())
}

/// Waits until `condition` is signalled, with the mutex unlocked. If the thread is requested to stop before, it leaves the guest, with the mutex
/// unlocked.
///
/// # Safety
/// The functions are those of the kind of mutex. The thread has locked the mutex, and [`can_leave`].
pub unsafe fn wait(condition: *mut c_void, CppMutex { mutex, lock, try_lock, unlock }: CppMutex) {
    let number = add(condition as usize);
    // SAFETY: guaranteed by the caller.
    unsafe { unlock(mutex) };
    waits::begin();
    await_signal(number);
    waits::end();
    // Leaves the guest if the thread was requested to stop: nothing here must be dropped.
    locks::end();
    // SAFETY: guaranteed by the caller.
    unsafe { locks::take(mutex, lock, try_lock) };
}

fn add(condition: usize) -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    lock(&WAITERS).push(Waiter { number, condition, is_woken: false });
    COUNT.fetch_add(1, Ordering::SeqCst);
    number
}

/// Waits until this waiter is woken, or the thread is requested to stop, and removes it.
fn await_signal(number: u64) {
    let mut waiters = lock(&WAITERS);
    loop {
        let place = waiters.iter().position(|waiter| waiter.number == number);
        let is_woken = place.and_then(|place| waiters.get(place)).is_none_or(|waiter| waiter.is_woken);
        if is_woken || stop_request::is_made() {
            if let Some(place) = place {
                waiters.swap_remove(place);
                COUNT.fetch_sub(1, Ordering::SeqCst);
            }
            return;
        }
        waiters = waiters.wait_for(&WOKEN, POLL);
    }
}

/// Wakes up to `most` guests that wait for `condition`. Returns how many.
pub fn wake(condition: *mut c_void, most: usize) -> usize {
    if COUNT.load(Ordering::SeqCst) == 0 {
        return 0;
    }
    let mut waiters = lock(&WAITERS);
    let waiting = |waiter: &&mut Waiter| waiter.condition == condition as usize && !waiter.is_woken;
    let woken = waiters.iter_mut().filter(waiting).take(most).map(|waiter| waiter.is_woken = true).count();
    drop(waiters);
    if woken > 0 {
        WOKEN.notify_all();
    }
    woken
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use std::ffi::c_void;
    use std::ptr;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::{CppMutex, can_leave, wait, wake};
    use crate::native::fiber::{Fiber, Pause, prepare_thread};
    use crate::native::{locks, stop_request};

    unsafe extern "C" fn lock(_mutex: *mut c_void) {
        unreachable!("a guest on a fiber polls");
    }

    unsafe extern "C" fn try_lock(mutex: *mut c_void) -> bool {
        // SAFETY: the tests below pass a flag.
        !unsafe { &*mutex.cast::<AtomicBool>() }.swap(true, Ordering::SeqCst)
    }

    unsafe extern "C" fn unlock(mutex: *mut c_void) {
        // SAFETY: as above.
        unsafe { &*mutex.cast::<AtomicBool>() }.store(false, Ordering::SeqCst);
    }

    /// A condition, and whether its mutex is locked.
    struct Condition {
        is_locked: AtomicBool,
        /// The guest must stop.
        is_stopped: bool,
        /// The guest has waited.
        is_over: AtomicBool,
    }

    impl Condition {
        fn new(is_stopped: bool) -> Self {
            Self { is_locked: AtomicBool::new(true), is_stopped, is_over: AtomicBool::new(false) }
        }

        fn address(&self) -> *mut c_void {
            ptr::from_ref(self).cast_mut().cast()
        }

        /// A guest waits for it on a fiber. Returns how that ends.
        fn await_on_fiber(&self) -> Option<Pause> {
            fn work(condition: *const c_void) {
                // SAFETY: what is passed below.
                let condition = unsafe { &*condition.cast::<Condition>() };
                assert!(!can_leave());
                locks::begin();
                assert!(can_leave());
                if condition.is_stopped {
                    stop_request::make();
                }
                let mutex = ptr::from_ref(&condition.is_locked).cast_mut().cast();
                // SAFETY: the functions above are for such a mutex.
                unsafe { wait(condition.address(), CppMutex { mutex, lock, try_lock, unlock }) };
                condition.is_over.store(can_leave(), Ordering::SeqCst);
            }
            assert!(prepare_thread());
            let fiber = Fiber::new()?;
            // SAFETY: the condition lives until the fiber is done or was left.
            unsafe { fiber.begin(work, self.address()) };
            Some(fiber.resume())
        }
    }

    #[test]
    fn a_guest_waits_until_its_condition_is_signalled() {
        let conditions = [(); 2].map(|()| Condition::new(false));
        let [condition, other] = &conditions;
        thread::scope(|scope| {
            let waiting = scope.spawn(|| condition.await_on_fiber());
            while condition.is_locked.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            assert_eq!(wake(other.address(), usize::MAX), 0);
            assert!(!waiting.is_finished());
            assert_eq!([wake(condition.address(), 1), wake(condition.address(), 1)], [1, 0]);
            assert_eq!(waiting.join().unwrap(), Some(Pause::Done));
        });
        assert!(condition.is_over.load(Ordering::SeqCst) && condition.is_locked.load(Ordering::SeqCst));
        assert_eq!(wake(condition.address(), usize::MAX), 0);
    }

    #[test]
    fn a_guest_that_waits_is_left_with_the_mutex_unlocked() {
        let condition = Condition::new(true);
        assert_eq!(
            thread::scope(|scope| scope.spawn(|| condition.await_on_fiber()).join().unwrap()),
            Some(Pause::Left)
        );
        assert!(!condition.is_over.load(Ordering::SeqCst) && !condition.is_locked.load(Ordering::SeqCst));
        assert_eq!(wake(condition.address(), usize::MAX), 0);
    }
}
