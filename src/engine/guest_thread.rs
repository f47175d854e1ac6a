//! The thread that works for an isolate, as other threads may control it: they can lower its priority and suspend it permanently.
//!
//! A thread that V8 cannot stop would use a processor until the process ends. It may be suspended only while it holds no lock: in V8's
//! built-in functions and compiled code, which hold none, and in V8's C++ code without a lock. A thread that is suspended
//! inside `malloc`, or while it holds one of V8's mutexes, would block the host. So a signal interrupts the thread. Its handler looks at
//! the interrupted instruction, and then either never returns or requests the thread to stop (`native::stop_request`) and lets it continue.
//! [`GuestThread::suspend`] describes the one exception. This works on Linux; elsewhere a lost thread continues to run, at a low priority.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, OnceLock};
use std::time::{Duration, Instant};

use super::Heap;
use super::code_ranges::Code;
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

/// What is known of the thread.
struct Known {
    state: ThreadState,
    /// Another thread asks this one to stop, and waits for its answer. Until then, this one keeps working for the isolate.
    is_asked: bool,
}

pub struct GuestThread {
    /// The lock is never held for long, because threads wait for it that enforce the limits of all guests.
    known: Mutex<Known>,
    /// The thread is not asked any more.
    answered: Condvar,
    code: OnceLock<Code>,
    heap: OnceLock<Heap>,
    functions: OnceLock<Functions>,
    /// Start and length of the stack on which the guest was left.
    left: OnceLock<(usize, usize)>,
    /// Bytes of the heap that were returned to the system.
    returned: AtomicUsize,
    /// Whether a thread works for the isolate. That thread changes it under the lock of `known`.
    is_here: AtomicBool,
    /// Threads that look at the heap. The thread that works for the isolate waits for them before it leaves.
    observers: AtomicU32,
}

impl Default for GuestThread {
    fn default() -> Self {
        let known = Mutex::new(Known { state: ThreadState::Absent, is_asked: false });
        let returned = AtomicUsize::new(0);
        let (answered, code, heap, functions, left) = Default::default();
        let (is_here, observers) = (AtomicBool::new(false), AtomicU32::new(0));
        Self { known, answered, code, heap, functions, left, returned, is_here, observers }
    }
}

/// A thread works for the isolate until this is dropped. Dropping it waits for any thread that is acting on the guest thread.
#[must_use]
pub struct GuestThreadGuard<'thread>(&'thread GuestThread);

impl Drop for GuestThreadGuard<'_> {
    fn drop(&mut self) {
        let mut known = self.0.unasked();
        known.state = ThreadState::Absent;
        // A request is made only while the thread is asked.
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
        lock(&self.known).state
    }

    /// Waits until nothing asks the thread.
    fn unasked(&self) -> Guard<'_, Known> {
        let mut known = lock(&self.known);
        while known.is_asked {
            known = known.wait(&self.answered);
        }
        known
    }

    /// This thread now works for the isolate.
    pub fn take(&self) -> GuestThreadGuard<'_> {
        let mut known = lock(&self.known);
        known.state = ThreadState::Working(system::current_thread());
        self.is_here.store(true, Ordering::SeqCst);
        GuestThreadGuard(self)
    }

    /// This thread, which belongs to a host, now works for the isolate on the fiber that runs on it.
    pub fn take_on_caller(&self) -> GuestThreadGuard<'_> {
        let mut known = lock(&self.known);
        known.state = ThreadState::Caller(system::current_thread(), fiber::active());
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
        self.unasked().state = ThreadState::Parked;
    }

    /// The guest was left on a stack, so no thread runs it.
    pub fn was_left(&self, stack: (usize, usize)) {
        let _ = self.left.set(stack);
        self.unasked().state = ThreadState::Suspended;
    }

    /// The kernel's id of the thread that works for the isolate; 0 if there is none.
    pub fn thread_id(&self) -> u64 {
        match self.state() {
            ThreadState::Working(thread) | ThreadState::Caller(thread, _) => u64::try_from(thread).unwrap_or(0),
            _ => 0,
        }
    }

    /// Processor time that the thread has used since it started, if known.
    pub fn processor_time(&self) -> Option<Duration> {
        match lock(&self.known).state {
            ThreadState::Working(thread) | ThreadState::Caller(thread, _) => system::processor_time(thread),
            _ => None,
        }
    }

    /// How long the guest has waited for V8's own threads, and those before it on the same fiber, if it runs on a thread of a host.
    pub fn waited(&self) -> Duration {
        match lock(&self.known).state {
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
        if let ThreadState::Working(thread) = lock(&self.known).state {
            system::lower_priority(thread);
        }
    }

    /// Suspends the thread if that is possible now or shortly: some loops are in built-in functions only part of the time. Returns the state
    /// afterwards; if the thread still works, the caller may try again. Takes a few milliseconds if processors are free, and at most
    /// [`MAX_WAIT`] plus the time for one answer and those of the threads that are asked before.
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
            let (state, Some(code)) = (self.state(), self.code.get()) else { break };
            let (ThreadState::Working(thread) | ThreadState::Caller(thread, _)) = state else { break };
            let fiber = if let ThreadState::Caller(_, fiber) = state { fiber } else { 0 };
            let attempt = {
                // Others may have to answer first.
                let mut turn = system::Turn::begin(thread, fiber);
                if !self.begin_asking(state) {
                    continue;
                }
                let more = if anywhere && fiber == 0 { system::own_code() } else { code_of_v8() };
                let attempt = turn.suspend(code, more);
                self.end_asking(matches!(attempt, Attempt::Suspended));
                attempt
            };
            match attempt {
                Attempt::Suspended => {}
                Attempt::Elsewhere => std::thread::sleep(PAUSE),
                Attempt::Unanswered => break,
            }
        }
        self.state()
    }

    /// From now on, the thread is asked, unless its state is another one. So it works for this isolate until it has answered. The caller has the turn
    /// to ask a thread with this state, so nothing else asks it then.
    fn begin_asking(&self, state: ThreadState) -> bool {
        let mut known = lock(&self.known);
        let may_ask = known.state == state;
        known.is_asked |= may_ask;
        may_ask
    }

    fn end_asking(&self, is_suspended: bool) {
        let mut known = lock(&self.known);
        known.is_asked = false;
        if is_suspended {
            known.state = ThreadState::Suspended;
        }
        drop(known);
        self.answered.notify_all();
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

#[cfg(target_os = "linux")]
use super::linux as system;
#[cfg(target_os = "macos")]
use super::macos as system;
#[cfg(windows)]
use super::windows as system;
use crate::native::{self, Guard, fiber, lock, locks};

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::ffi::c_void;
    use std::ptr;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex, mpsc};
    use std::thread;
    use std::time::{Duration, Instant};

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
    fn a_thread_that_is_asked_can_be_looked_at_and_does_not_leave() {
        let guest = Arc::new(GuestThread::default());
        assert!(guest.code.set(Code { stretches: [NOWHERE; Code::MAX_COUNT] }).is_ok());
        let (begun, begins) = mpsc::channel();
        let (leave, leaves) = mpsc::channel();
        let (its, asking) = (Arc::clone(&guest), Arc::clone(&guest));
        let working = thread::spawn(move || {
            // SAFETY: zero is a valid value of every field; the calls change a set and this thread's mask. So the thread does not answer.
            unsafe {
                let mut all: libc::sigset_t = std::mem::zeroed();
                libc::sigfillset(&raw mut all);
                libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, ptr::null_mut());
            }
            let occupied = its.take();
            let _ = begun.send(());
            let _ = leaves.recv();
            drop(occupied);
            lock(&its.known).is_asked
        });
        begins.recv().unwrap();
        let start = Instant::now();
        let asks = thread::spawn(move || asking.suspend(false));
        while !lock(&guest.known).is_asked && !asks.is_finished() {
            thread::yield_now();
        }
        // Who knows it in another state does not ask it, and does not end the question.
        assert!(!guest.begin_asking(ThreadState::Working(0)));
        assert!(guest.processor_time().is_some() && matches!(guest.state(), ThreadState::Working(_)));
        assert_ne!(guest.thread_id(), 0);
        // The question takes half a second. On a busy machine, all of it may have passed.
        assert!(lock(&guest.known).is_asked || start.elapsed() > Duration::from_millis(400));
        let _ = leave.send(());
        assert!(!working.join().unwrap());
        assert_eq!(guest.state(), ThreadState::Absent);
        assert!(matches!(asks.join().unwrap(), ThreadState::Working(_) | ThreadState::Absent));
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
