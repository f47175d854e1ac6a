//! Threads on Linux: a signal interrupts one, and its handler looks at the interrupted instruction.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use super::guest_thread::{Attempt, Code, NOWHERE};
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
static CODE: [(AtomicUsize, AtomicUsize); Code::MAX_COUNT] =
    [const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; Code::MAX_COUNT];

/// Another one, in which the thread is frozen only while it holds no lock.
static MORE_CODE: (AtomicUsize, AtomicUsize) = (AtomicUsize::new(0), AtomicUsize::new(0));

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

/// Whether this is the main thread of the process.
pub fn is_main_thread() -> bool {
    static PROCESS: OnceLock<i32> = OnceLock::new();
    // SAFETY: has no preconditions.
    current_thread() == *PROCESS.get_or_init(|| unsafe { libc::getpid() })
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
        let mut found = NOWHERE;
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

/// The fiber that the question is about; 0 if the thread must be frozen.
static FIBER: AtomicUsize = AtomicUsize::new(0);

/// Freezes `thread` if its next instruction lies in `code`, or in `more` while it holds no lock. If it works on a fiber, makes it leave that
/// instead, if it holds no lock.
pub fn freeze(thread: i32, fiber: usize, code: &Code, more: (usize, usize)) -> Attempt {
    static TURNS: Mutex<u64> = Mutex::new(0);
    let (Some(signal), Ok(state_of_thread)) = (*signal(), u32::try_from(thread)) else {
        return Attempt::Unanswered;
    };
    let mut turn = lock(&TURNS);
    *turn += 1;
    let places = CODE.iter().chain([&MORE_CODE]);
    for ((start, length), stretch) in places.zip(code.stretches.iter().chain([&more])) {
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

/// Unblocks the signal on this thread: a process inherits the signals that its creator has blocked. False if there is no signal.
pub fn accept_signal() -> bool {
    // SAFETY: zero is a valid value of every field; the calls change a set and this thread's mask.
    signal().is_some_and(|signal| unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, ptr::null_mut()) == 0
    })
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
    let inside = if fiber == 0 {
        CODE.iter().any(within) || within(&MORE_CODE) && !locks::held()
    } else {
        CODE.iter().chain([&MORE_CODE]).any(within) && may_leave(fiber)
    };
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
