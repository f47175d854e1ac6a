//! The thread that works for an isolate, as other threads may control it: they can lower its priority and suspend it permanently.
//!
//! A thread that V8 cannot stop would use a processor until the process ends. It may be suspended only while it holds no lock: in V8's
//! built-in functions and compiled code, which hold none, and in V8's C++ code without a lock. A thread that is suspended
//! inside `malloc`, or while it holds one of V8's mutexes, would block the host. So a signal interrupts the thread. Its handler looks at
//! the interrupted instruction, and then either never returns or requests the thread to stop (`native::stop_request`) and lets it continue.
//! [`GuestThread::suspend`] describes the one exception. This works on Linux; elsewhere a lost thread continues to run, at a low priority.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use super::Heap;
use super::heap::Functions;

/// The thread that works for an isolate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ThreadState {
    Absent,
    /// A thread that works, by its kernel thread id.
    Working(i32),
    /// A thread of a host that works for the isolate on a fiber, by its kernel thread id and the fiber's identity.
    Caller(i32, usize),
    /// A thread that has stopped itself permanently.
    Parked,
    /// A thread that was stopped permanently.
    Suspended,
}

pub struct GuestThread {
    state: Mutex<ThreadState>,
    code: OnceLock<Code>,
    heap: OnceLock<Heap>,
    functions: OnceLock<Functions>,
    /// Start and length of the stack on which the guest was left.
    left: OnceLock<(usize, usize)>,
    /// Bytes of the heap that were returned to the system.
    returned: AtomicUsize,
    /// Whether a thread works for the isolate. That thread changes it under the lock of `state`.
    is_here: AtomicBool,
    /// Threads that look at the heap. The thread that works for the isolate waits for them before it leaves.
    observers: AtomicU32,
}

impl Default for GuestThread {
    fn default() -> Self {
        let state = Mutex::new(ThreadState::Absent);
        let returned = AtomicUsize::new(0);
        let (code, heap, functions, left) = Default::default();
        let (is_here, observers) = (AtomicBool::new(false), AtomicU32::new(0));
        Self { state, code, heap, functions, left, returned, is_here, observers }
    }
}

/// A thread works for the isolate until this is dropped. Dropping it waits for any thread that is acting on the guest thread.
#[must_use]
pub struct GuestThreadGuard<'thread>(&'thread GuestThread);

impl Drop for GuestThreadGuard<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        *state = ThreadState::Absent;
        // With the lock, under which the request is made.
        #[cfg(target_os = "linux")]
        native::stop_request::withdraw();
        self.0.is_here.store(false, Ordering::SeqCst);
        // Not for long: what they do takes less than a lock.
        while self.0.observers.load(Ordering::SeqCst) > 0 {
            std::thread::yield_now();
        }
    }
}

impl GuestThread {
    pub fn state(&self) -> ThreadState {
        *lock(&self.state)
    }

    /// This thread now works for the isolate.
    pub fn take(&self) -> GuestThreadGuard<'_> {
        let mut state = lock(&self.state);
        *state = ThreadState::Working(system::current_thread());
        self.is_here.store(true, Ordering::SeqCst);
        GuestThreadGuard(self)
    }

    /// This thread, which belongs to a host, now works for the isolate on the fiber that runs on it.
    pub fn take_on_caller(&self) -> GuestThreadGuard<'_> {
        let mut state = lock(&self.state);
        *state = ThreadState::Caller(system::current_thread(), fiber::active());
        self.is_here.store(true, Ordering::SeqCst);
        GuestThreadGuard(self)
    }

    /// Returns the heap's memory to the system.
    ///
    /// # Safety
    /// The thread has stopped permanently, and nothing else accesses the heap's objects from now on.
    pub unsafe fn give_back_heap(&self) {
        if let Some(heap) = self.heap.get() {
            // SAFETY: guaranteed by the caller. Without its thread the isolate is never disposed.
            self.returned.fetch_add(unsafe { heap.give_back() }, Ordering::Relaxed);
        }
        if let Some(functions) = self.functions.get() {
            // SAFETY: as above.
            unsafe { functions.give_back() };
        }
        if let Some((start, length)) = self.left.get() {
            // SAFETY: nothing runs on it, and nothing that V8's own threads do refers to it any more.
            unsafe { native::give_back_pages(*start, *length) };
        }
    }

    /// Bytes of the heap that were returned to the system.
    pub fn returned(&self) -> usize {
        self.returned.load(Ordering::Relaxed)
    }

    /// This thread does not return.
    pub fn park(&self) {
        *lock(&self.state) = ThreadState::Parked;
    }

    /// The guest was left on a stack, so no thread runs it.
    pub fn was_left(&self, stack: (usize, usize)) {
        let _ = self.left.set(stack);
        *lock(&self.state) = ThreadState::Suspended;
    }

    /// The kernel's id of the thread that works for the isolate; 0 if there is none.
    pub fn thread_id(&self) -> u64 {
        match *lock(&self.state) {
            ThreadState::Working(thread) | ThreadState::Caller(thread, _) => u64::try_from(thread).unwrap_or(0),
            _ => 0,
        }
    }

    /// Processor time that the thread has used since it started, if known.
    pub fn processor_time(&self) -> Option<Duration> {
        match *lock(&self.state) {
            ThreadState::Working(thread) | ThreadState::Caller(thread, _) => system::processor_time(thread),
            _ => None,
        }
    }

    /// How long the guest has waited for V8's own threads, and those before it on the same fiber, if it runs on a thread of a host.
    pub fn waited(&self) -> Duration {
        match *lock(&self.state) {
            ThreadState::Caller(_, fiber) => native::waits::waited(fiber),
            _ => Duration::ZERO,
        }
    }

    /// Records where the isolate's code and its functions lie. Called on its thread.
    pub fn learn_place(&self, isolate: &v8::Isolate) {
        self.code.get_or_init(|| Code::of(isolate));
        if let Some(functions) = Functions::of(isolate) {
            self.functions.get_or_init(|| functions);
        }
    }

    /// Records the heap of the isolate that this thread made last.
    ///
    /// # Safety
    /// The isolate is disposed only while no thread works for it.
    pub unsafe fn learn_heap(&self) {
        if let Some(heap) = Heap::of_last_isolate() {
            self.heap.get_or_init(|| heap);
        }
    }

    /// The current size of the isolate's heap, if a thread works for it and the size is known.
    pub fn heap_size(&self) -> Option<usize> {
        let heap = self.heap.get()?;
        // The observer is not suspended: it counts as a thread that holds a lock.
        let _scope = locks::LockScope::enter();
        self.observers.fetch_add(1, Ordering::SeqCst);
        // In this order: either this sees that the thread has left, or the thread sees the observer.
        let size = self.is_here.load(Ordering::SeqCst).then(|| {
            // SAFETY: `learn_heap`'s caller keeps the isolate while a thread works for it, and no thread leaves while there are observers.
            unsafe { heap.committed() }.saturating_sub(self.returned())
        });
        self.observers.fetch_sub(1, Ordering::SeqCst);
        size
    }

    /// Makes the thread run for a small part of the time if other threads need the processor.
    pub fn lower_priority(&self) {
        if let ThreadState::Working(thread) = *lock(&self.state) {
            system::lower_priority(thread);
        }
    }

    /// Suspends the thread if that is possible now or shortly: some loops are in built-in functions only part of the time. Returns the state
    /// afterwards; if the thread still works, the caller may try again. Takes a few milliseconds if processors are free, and at most
    /// [`MAX_WAIT`] plus the time for one answer.
    ///
    /// A thread of a host leaves its fiber instead. Both also happen in V8's C++ code if the thread holds no lock, or as soon as it asks for memory
    /// without one, or releases the last one.
    ///
    /// `anywhere`: also suspends a thread of ours where it runs Rust code, unless it holds a lock that `native::locks` knows. Nothing proves that
    /// it holds no other. Use it only if letting the thread continue would be worse.
    pub fn suspend(&self, anywhere: bool) -> ThreadState {
        let until = Instant::now() + MAX_WAIT;
        for _ in 0..ATTEMPTS {
            if Instant::now() > until {
                break;
            }
            // Held until the thread has answered, so that the thread still works for this isolate.
            let mut state = lock(&self.state);
            let (ThreadState::Working(thread) | ThreadState::Caller(thread, _), Some(code)) = (*state, self.code.get())
            else {
                break;
            };
            let fiber = if let ThreadState::Caller(_, fiber) = *state { fiber } else { 0 };
            let more = if anywhere && fiber == 0 { system::own_code() } else { code_of_v8() };
            match system::suspend(thread, fiber, code, more) {
                Attempt::Suspended => *state = ThreadState::Suspended,
                Attempt::Elsewhere => {
                    drop(state);
                    std::thread::sleep(PAUSE);
                }
                Attempt::Unanswered => break,
            }
        }
        self.state()
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64", not(any(test, fuzzing))))]
core::arch::global_asm!(
    ".weak isolated_v8_code_start",
    ".hidden isolated_v8_code_start",
    ".weak isolated_v8_code_end",
    ".hidden isolated_v8_code_end"
);

/// The range of V8's C++ code.
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(any(test, fuzzing))))]
fn code_of_v8() -> (usize, usize) {
    unsafe extern "C" {
        /// `code.ld` defines these. Without it, they are null.
        static isolated_v8_code_start: u8;
        static isolated_v8_code_end: u8;
    }
    let (start, end) = (&raw const isolated_v8_code_start as usize, &raw const isolated_v8_code_end as usize);
    (start, end - start)
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64", not(any(test, fuzzing)))))]
fn code_of_v8() -> (usize, usize) {
    NOWHERE
}

/// Whether a guest can be left wherever V8 runs for it.
pub fn knows_code_of_v8() -> bool {
    code_of_v8().1 > 0
}

/// Prepares this thread for [`GuestThread::suspend`]. False if it cannot be suspended.
pub fn accept_suspension() -> bool {
    system::accept_signal()
}

/// Whether this is the main thread of the process, as far as that is known.
pub fn is_main_thread() -> bool {
    system::is_main_thread()
}

/// An empty range of memory.
pub const NOWHERE: (usize, usize) = (0, 0);

const ATTEMPTS: usize = 32;
const PAUSE: Duration = Duration::from_micros(100);

/// Maximum duration of all attempts. On a busy machine, a thread of low priority answers each of them late.
const MAX_WAIT: Duration = Duration::from_secs(2);

#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there no thread can be suspended"))]
pub enum Attempt {
    Suspended,
    /// It currently runs other code.
    Elsewhere,
    /// It cannot be asked, or did not get a processor.
    Unanswered,
}

/// The memory ranges that hold V8's built-in functions and an isolate's code compiled from JavaScript, as addresses.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "unused on other systems"))]
pub struct Code {
    pub stretches: [(usize, usize); Code::MAX_COUNT],
}

impl Code {
    pub const MAX_COUNT: usize = 4;
}

#[cfg(target_os = "linux")]
impl Code {
    fn of(isolate: &v8::Isolate) -> Self {
        use std::ffi::c_void;

        /// `v8::MemoryRange`.
        #[repr(C)]
        #[derive(Clone, Copy)]
        struct MemoryRange {
            start: *const c_void,
            length: usize,
        }
        unsafe extern "C" {
            /// `v8::Isolate::CopyCodePages`, which the crate does not bind: writes up to `capacity` ranges and returns how many exist.
            #[link_name = "_ZN2v87Isolate13CopyCodePagesEmPNS_11MemoryRangeE"]
            fn copy_code_pages(isolate: *mut c_void, capacity: usize, ranges: *mut MemoryRange) -> usize;
        }
        let mut ranges = [MemoryRange { start: std::ptr::null(), length: 0 }; Self::MAX_COUNT];
        // SAFETY: `UnsafeRawIsolatePtr` is a pointer in a newtype, to the isolate that the caller has entered; V8 writes no more ranges
        // than the array has room for.
        let found = unsafe {
            let isolate: *mut c_void = std::mem::transmute(isolate.as_raw_isolate_ptr());
            copy_code_pages(isolate, ranges.len(), ranges.as_mut_ptr())
        };
        // On this V8's targets all code compiled from JavaScript lies in one range that is known from the start. If there were more ranges than fit, some
        // code would not be found, and threads that run it would not be suspended.
        let mut stretches = [(0, 0); Self::MAX_COUNT];
        for (stretch, range) in stretches.iter_mut().zip(&ranges).take(found) {
            *stretch = (range.start as usize, range.length);
        }
        Self { stretches }
    }
}

#[cfg(not(target_os = "linux"))]
impl Code {
    fn of(_isolate: &v8::Isolate) -> Self {
        Self { stretches: [(0, 0); Self::MAX_COUNT] }
    }
}

#[cfg(target_os = "linux")]
use super::linux as system;
#[cfg(target_os = "macos")]
use super::macos as system;
#[cfg(windows)]
use super::windows as system;
use crate::native::{self, fiber, lock, locks};

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::ffi::c_void;
    use std::ptr;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex, mpsc};
    use std::thread;

    use super::{Code, GuestThread, NOWHERE, ThreadState};
    use crate::native::{lock, locks, refusal};

    #[test]
    fn a_thread_is_not_suspended_while_it_holds_a_lock() {
        static RELEASE: AtomicBool = AtomicBool::new(false);
        let (guest, shared) = (Arc::new(GuestThread::default()), Arc::new(Mutex::new(0)));
        assert!(guest.code.set(Code { stretches: [NOWHERE; Code::MAX_COUNT] }).is_ok());
        let (begun, begins) = mpsc::channel();
        let (its, locked) = (Arc::clone(&guest), Arc::clone(&shared));
        thread::spawn(move || {
            let _occupied = its.take();
            let held = lock(&locked);
            let _ = begun.send(());
            while !RELEASE.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
            drop(held);
            loop {
                std::hint::spin_loop();
            }
        });
        begins.recv().unwrap();
        assert!(matches!(guest.suspend(true), ThreadState::Working(_)));
        RELEASE.store(true, Ordering::Relaxed);
        assert_eq!(*lock(&shared), 0);
        // Only anywhere, because it runs no code of V8.
        assert!(matches!(guest.suspend(false), ThreadState::Working(_)));
        while guest.suspend(true) != ThreadState::Suspended {}
    }

    #[test]
    fn a_thread_that_is_requested_to_stop_stops_when_it_releases_its_last_lock() {
        static STOPPED: AtomicBool = AtomicBool::new(false);
        static RELEASE: AtomicBool = AtomicBool::new(false);
        fn stop() {
            STOPPED.store(true, Ordering::Relaxed);
            loop {
                thread::park();
            }
        }
        unsafe extern "C" fn take(_lock: *mut c_void) {}
        unsafe extern "C" fn try_take(_lock: *mut c_void) -> bool {
            true
        }
        fn lock_of_v8() {
            // SAFETY: the functions do not use the lock.
            unsafe { locks::take(ptr::null_mut(), take, try_take) };
        }
        refusal::end_by(stop);
        let guest = Arc::new(GuestThread::default());
        assert!(guest.code.set(Code { stretches: [NOWHERE; Code::MAX_COUNT] }).is_ok());
        let (begun, begins) = mpsc::channel();
        let its = Arc::clone(&guest);
        let working = thread::spawn(move || {
            let work = || {
                lock_of_v8();
                lock_of_v8();
                let _ = begun.send(());
                while !RELEASE.swap(false, Ordering::Relaxed) {
                    thread::yield_now();
                }
            };
            // The first guest ends after all, so the request is withdrawn.
            let occupied = its.take();
            work();
            drop(occupied);
            locks::end();
            locks::end();
            let _occupied = its.take();
            work();
            locks::end();
            assert!(!STOPPED.load(Ordering::Relaxed));
            loop {
                locks::end();
                lock_of_v8();
            }
        });
        for _ in 0..2 {
            begins.recv().unwrap();
            assert!(matches!(guest.suspend(false), ThreadState::Working(_)));
            assert!(!STOPPED.load(Ordering::Relaxed));
            RELEASE.store(true, Ordering::Relaxed);
        }
        while !STOPPED.load(Ordering::Relaxed) && !working.is_finished() {
            guest.suspend(false);
        }
        assert!(!working.is_finished());
    }
}
