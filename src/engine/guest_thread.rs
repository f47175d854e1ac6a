//! The thread that works for an isolate, as other threads may control it: they can lower its priority and suspend it permanently.
//!
//! A thread that V8 cannot stop would use a processor until the process ends. It may be frozen only while it runs V8's built-in functions
//! or code compiled from JavaScript, because these hold no lock. A thread frozen inside `malloc`, or while it holds one of V8's mutexes,
//! would block the host. So a signal interrupts the thread. Its handler looks at the interrupted instruction, and then either never returns
//! or lets the thread continue. [`GuestThread::suspend`] describes the one exception. This works on Linux; elsewhere a lost thread continues to
//! run, at a low priority.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use super::Heap;
use crate::native::fiber;

/// The thread that works for an isolate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ThreadState {
    Absent,
    /// A thread that works, by its kernel thread id.
    Working(i32),
    /// A thread of a host that works for the isolate on a fiber, by its kernel thread id and the fiber's identity.
    Borrowed(i32, usize),
    /// A thread that has stopped itself permanently.
    Parked,
    /// A thread that was stopped permanently.
    Suspended,
}

pub struct GuestThread {
    state: Mutex<ThreadState>,
    code: OnceLock<Code>,
    heap: OnceLock<Heap>,
    /// Start and length of the stack on which the guest was left.
    left: OnceLock<(usize, usize)>,
    /// Bytes of the heap that were returned to the system.
    returned: AtomicUsize,
    /// Whether a thread works for the isolate. That thread changes it under the lock of `state`. Unlike `state`, this lock is held
    /// only briefly: no thread is ever suspended while it holds this lock.
    here: Mutex<bool>,
}

impl Default for GuestThread {
    fn default() -> Self {
        let state = Mutex::new(ThreadState::Absent);
        let returned = AtomicUsize::new(0);
        let (code, heap, left) = Default::default();
        Self { state, code, heap, left, returned, here: Mutex::new(false) }
    }
}

/// A thread works for the isolate until this is dropped. Dropping it waits for any thread that is acting on the guest thread.
#[must_use]
pub struct Occupied<'thread>(&'thread GuestThread);

impl Drop for Occupied<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        *self.0.is_here() = false;
        *state = ThreadState::Absent;
    }
}

impl GuestThread {
    fn is_here(&self) -> MutexGuard<'_, bool> {
        lock(&self.here)
    }

    pub fn state(&self) -> ThreadState {
        *lock(&self.state)
    }

    /// This thread now works for the isolate.
    pub fn take(&self) -> Occupied<'_> {
        let mut state = lock(&self.state);
        *state = ThreadState::Working(system::current_thread());
        *self.is_here() = true;
        Occupied(self)
    }

    /// This thread, which belongs to a host, now works for the isolate on the fiber that runs on it.
    pub fn lend(&self) -> Occupied<'_> {
        let mut state = lock(&self.state);
        *state = ThreadState::Borrowed(system::current_thread(), fiber::active());
        *self.is_here() = true;
        Occupied(self)
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
        if let Some(stack) = self.left.get() {
            // SAFETY: nothing runs on it, and nothing that V8's own threads do refers to it any more.
            unsafe { fiber::give_back(*stack) };
        }
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
            ThreadState::Working(thread) | ThreadState::Borrowed(thread, _) => u64::try_from(thread).unwrap_or(0),
            _ => 0,
        }
    }

    /// Processor time that the thread has used since it started, if known.
    pub fn processor_time(&self) -> Option<Duration> {
        match *lock(&self.state) {
            ThreadState::Working(thread) | ThreadState::Borrowed(thread, _) => system::processor_time(thread),
            _ => None,
        }
    }

    /// Records where the isolate's code lies. Called on its thread.
    pub fn learn_place(&self, isolate: &v8::Isolate) {
        self.code.get_or_init(|| Code::of(isolate));
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
        let is_here = self.is_here();
        // SAFETY: `learn_heap`'s caller keeps the isolate while a thread works for it, and no thread leaves while `here` is locked.
        is_here.then(|| unsafe { heap.committed() }.saturating_sub(self.returned.load(Ordering::Relaxed)))
    }

    /// Makes the thread run only when no other thread needs the processor.
    pub fn lower_priority(&self) {
        if let ThreadState::Working(thread) = *lock(&self.state) {
            system::lower_priority(thread);
        }
    }

    /// Freezes the thread if that is possible now or shortly: some loops are in built-in functions only part of the time. Returns the state
    /// afterwards; if the thread still works, the caller may try again. Takes a few milliseconds if processors are free, and at most
    /// [`MAX_WAIT`] plus the time for one answer.
    ///
    /// `anywhere`: also freezes the thread where it runs native code of this library, including V8. Loops that stay in such code hold no
    /// lock, but nothing proves that for this thread. Use it only if letting the thread continue would be worse.
    ///
    /// A thread of a host leaves its fiber instead, also in V8's C++ code if it holds no lock, but never in Rust code.
    pub fn suspend(&self, anywhere: bool) -> ThreadState {
        let until = Instant::now() + MAX_WAIT;
        for _ in 0..ATTEMPTS {
            if Instant::now() > until {
                break;
            }
            // Held until the thread has answered, so that the thread still works for this isolate.
            let mut state = lock(&self.state);
            let (ThreadState::Working(thread) | ThreadState::Borrowed(thread, _), Some(code)) =
                (*state, self.code.get())
            else {
                break;
            };
            let (fiber, more) = match *state {
                ThreadState::Borrowed(_, fiber) => (fiber, code_of_v8()),
                _ => (0, if anywhere { system::own_code() } else { NOWHERE }),
            };
            match system::freeze(thread, fiber, code, more) {
                Attempt::Frozen => *state = ThreadState::Suspended,
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

/// An empty range of memory.
pub const NOWHERE: (usize, usize) = (0, 0);

const ATTEMPTS: usize = 32;
const PAUSE: Duration = Duration::from_micros(100);

/// Maximum duration of all attempts. On a busy machine, a thread of low priority answers each of them late.
const MAX_WAIT: Duration = Duration::from_secs(2);

#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there no thread can be frozen"))]
pub enum Attempt {
    Frozen,
    /// It currently runs other code.
    Elsewhere,
    /// It cannot be asked, or did not get a processor.
    Unanswered,
}

/// The memory ranges that hold V8's built-in functions and an isolate's compiled code, as addresses.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "unused on other systems"))]
pub struct Code {
    stretches: [(usize, usize); Code::MAX_COUNT],
}

impl Code {
    const MAX_COUNT: usize = 4;
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
        // SAFETY: `UnsafeRawIsolatePtr` is a pointer in a newtype, to the isolate that the caller has borrowed; V8 writes no more ranges
        // than the array has room for.
        let found = unsafe {
            let isolate: *mut c_void = std::mem::transmute(isolate.as_raw_isolate_ptr());
            copy_code_pages(isolate, ranges.len(), ranges.as_mut_ptr())
        };
        // On this V8's targets all compiled code lies in one range that is known from the start. If there were more ranges than fit, some
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

#[cfg(target_os = "macos")]
use super::macos as system;
#[cfg(windows)]
use super::windows as system;
use crate::native::lock;

#[cfg(target_os = "linux")]
mod system {
    use std::cell::Cell;
    use std::ffi::{c_int, c_void};
    use std::ptr;
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
    use std::sync::{Mutex, OnceLock};
    use std::time::{Duration, Instant};

    use super::{Attempt, Code};
    use crate::native::{fiber, lock, locks};

    /// How long a thread may take to answer. A thread of the lowest priority gets about a hundredth of a busy processor.
    const PATIENCE: Duration = Duration::from_millis(500);

    const FIRST_POLL: Duration = Duration::from_micros(50);
    const LAST_POLLS: Duration = Duration::from_millis(2);

    /// The current question. The lower half is the id of the thread that is asked, or one of the states below. The upper half is the number
    /// of the question.
    static QUESTION: AtomicU64 = AtomicU64::new(0);
    const NONE: u32 = 0;
    const FROZEN: u32 = u32::MAX;
    const ELSEWHERE: u32 = u32::MAX - 1;

    /// The ranges of code that the question is about. A thread that reads them for a question that is over notices this when it answers.
    static CODE: [(AtomicUsize, AtomicUsize); Code::MAX_COUNT + 1] =
        [const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; Code::MAX_COUNT + 1];

    fn state(question: u64) -> u32 {
        (question & u64::from(u32::MAX)) as u32
    }

    fn with_state(question: u64, state: u32) -> u64 {
        question & !u64::from(u32::MAX) | u64::from(state)
    }

    /// The kernel's id of this thread.
    pub fn current_thread() -> i32 {
        thread_local! {
            static ID: Cell<i32> = const { Cell::new(0) };
        }
        if ID.get() == 0 {
            // SAFETY: has no preconditions.
            ID.set(unsafe { libc::gettid() });
        }
        ID.get()
    }

    pub fn processor_time(thread: i32) -> Option<Duration> {
        // Linux names the clock of a thread by its complemented id, followed by three bits for the kind of clock.
        const PER_THREAD: i32 = 0b110;
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: writes the time, or fails if the thread does not exist.
        let failed = unsafe { libc::clock_gettime((!thread << 3) | PER_THREAD, &raw mut time) } != 0;
        let (seconds, nanoseconds) = (u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?);
        (!failed).then(|| Duration::new(seconds, nanoseconds))
    }

    pub fn lower_priority(thread: i32) {
        const LOWEST: i32 = 19;
        // Linux accepts a thread id instead of a process id.
        let thread = libc::id_t::try_from(thread).unwrap_or(0);
        // SAFETY: changes the scheduling of one thread of this process. A failure leaves it unchanged.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, thread, LOWEST) };
    }

    /// The range of this library's native code.
    pub fn own_code() -> (usize, usize) {
        static OWN: OnceLock<(usize, usize)> = OnceLock::new();
        *OWN.get_or_init(|| {
            let mut found = super::NOWHERE;
            // SAFETY: the callback gets the pointer that is passed here, for the duration of this call.
            unsafe { libc::dl_iterate_phdr(Some(on_library), (&raw mut found).cast()) };
            found
        })
    }

    /// Finds the segment that contains this function.
    unsafe extern "C" fn on_library(info: *mut libc::dl_phdr_info, _size: usize, found: *mut c_void) -> c_int {
        // SAFETY: the loader passes a library's description, with as many headers as it states, for the duration of this call.
        let (base, headers) = unsafe {
            let info = &*info;
            (info.dlpi_addr as usize, std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)))
        };
        let here = own_code as fn() -> (usize, usize) as usize;
        for header in headers.iter().filter(|header| header.p_type == libc::PT_LOAD) {
            let (start, length) = (base.wrapping_add(header.p_vaddr as usize), header.p_memsz as usize);
            if here.wrapping_sub(start) < length {
                // SAFETY: `own_code` passes a pointer to a range that no other code uses meanwhile.
                unsafe { *found.cast::<(usize, usize)>() = (start, length) };
                return 1;
            }
        }
        0
    }

    /// The fiber that the question is about; 0 if the thread is to be frozen.
    static FIBER: AtomicUsize = AtomicUsize::new(0);

    /// Freezes `thread` if its next instruction lies in `code` or `more`. If it works on a fiber, makes it leave that instead.
    pub fn freeze(thread: i32, fiber: usize, code: &Code, more: (usize, usize)) -> Attempt {
        static TURNS: Mutex<u64> = Mutex::new(0);
        let (Some(signal), Ok(state_of_thread)) = (*signal(), u32::try_from(thread)) else {
            return Attempt::Unanswered;
        };
        let mut turn = lock(&TURNS);
        *turn += 1;
        for ((start, length), stretch) in CODE.iter().zip(code.stretches.iter().chain([&more])) {
            start.store(stretch.0, Ordering::Relaxed);
            length.store(stretch.1, Ordering::Relaxed);
        }
        FIBER.store(fiber, Ordering::Relaxed);
        let question = with_state(*turn << 32, state_of_thread);
        QUESTION.store(question, Ordering::Release);
        // SAFETY: sends a signal that our handler takes (see `signal`) to a thread of this process.
        let sent = is_ours(signal) && unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, signal) } == 0;
        let until = Instant::now() + PATIENCE;
        let mut pause = FIRST_POLL;
        while sent && QUESTION.load(Ordering::Acquire) == question && Instant::now() < until {
            std::thread::sleep(pause);
            pause = (pause * 2).min(LAST_POLLS);
        }
        // A thread that answers after this point continues to run.
        match state(QUESTION.swap(with_state(question, NONE), Ordering::AcqRel)) {
            FROZEN => Attempt::Frozen,
            ELSEWHERE => Attempt::Elsewhere,
            _ => Attempt::Unanswered,
        }
    }

    /// An otherwise unused signal, with our handler; `None` if there is none.
    fn signal() -> &'static Option<c_int> {
        static SIGNAL: OnceLock<Option<c_int>> = OnceLock::new();
        SIGNAL.get_or_init(|| (libc::SIGRTMIN()..=libc::SIGRTMAX()).rev().find(|signal| install(*signal)))
    }

    /// The action that is set for `signal`.
    fn action(signal: c_int) -> Option<libc::sigaction> {
        // SAFETY: zero is a valid value of every field; with a null pointer `sigaction` only writes what is set.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            (libc::sigaction(signal, ptr::null(), &raw mut action) == 0).then_some(action)
        }
    }

    fn is_ours(signal: c_int) -> bool {
        let handler: Handler = on_signal;
        action(signal).is_some_and(|action| action.sa_sigaction == handler as usize)
    }

    fn install(signal: c_int) -> bool {
        if action(signal).is_none_or(|action| action.sa_sigaction != libc::SIG_DFL) {
            return false;
        }
        let handler: Handler = on_signal;
        // SAFETY: the handler has the type that SA_SIGINFO requires and does nothing that is forbidden in a signal handler. All other
        // signals are blocked while it runs; interrupted system calls are restarted.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
            libc::sigfillset(&raw mut action.sa_mask);
            libc::sigaction(signal, &raw const action, ptr::null_mut()) == 0
        }
    }

    type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

    extern "C" fn on_signal(_signal: c_int, _info: *mut libc::siginfo_t, context: *mut c_void) {
        let question = QUESTION.load(Ordering::Acquire);
        if u32::try_from(current_thread()) != Ok(state(question)) {
            return;
        }
        // SAFETY: the kernel passes the context that it has saved.
        let address = unsafe { interrupted(context.cast()) };
        let within = |(start, length): &(AtomicUsize, AtomicUsize)| {
            address.wrapping_sub(start.load(Ordering::Relaxed)) < length.load(Ordering::Relaxed)
        };
        let fiber = FIBER.load(Ordering::Relaxed);
        let inside = CODE.iter().any(within) && (fiber == 0 || may_leave(fiber));
        let completion = with_state(question, if inside { FROZEN } else { ELSEWHERE });
        if QUESTION.compare_exchange(question, completion, Ordering::AcqRel, Ordering::Acquire).is_ok() && inside {
            if fiber != 0 {
                // SAFETY: the kernel passes the context that it has saved. The fiber is active, so the thread's own stack is suspended.
                return unsafe { fiber::redirect(context.cast(), fiber::own_stack(), fiber::Pause::Left as usize) };
            }
            loop {
                // SAFETY: has no preconditions. Only the C library's own signals are delivered.
                unsafe { libc::pause() };
            }
        }
    }

    /// Whether this thread, whose next instruction belongs to V8, may leave the fiber now. If it holds a lock, it leaves when it releases the
    /// last one, or later when it asks for memory.
    fn may_leave(fiber: usize) -> bool {
        let runs = fiber::active() == fiber;
        let leaves = runs && !locks::held();
        if runs && !leaves {
            fiber::leave_soon();
        }
        leaves
    }

    /// The instruction at which the thread was interrupted.
    #[cfg(target_arch = "x86_64")]
    unsafe fn interrupted(context: *const libc::ucontext_t) -> usize {
        // SAFETY: the caller guarantees this.
        let registers = unsafe { &(*context).uc_mcontext.gregs };
        usize::try_from(registers[libc::REG_RIP as usize]).unwrap_or(0)
    }

    #[cfg(target_arch = "aarch64")]
    unsafe fn interrupted(context: *const libc::ucontext_t) -> usize {
        // SAFETY: the caller guarantees this.
        usize::try_from(unsafe { (*context).uc_mcontext.pc }).unwrap_or(0)
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    unsafe fn interrupted(_context: *const libc::ucontext_t) -> usize {
        0
    }
}
