//! Threads on Linux: a signal interrupts one, and its handler looks at the interrupted instruction.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use super::code_ranges::Code;
use super::guest_thread::{Attempt, NOWHERE};
use super::page_allocator;
use super::wasm::code_table;
use crate::native::{Guard, fiber, lock, locks, stop_request};

/// How long a thread may take to answer. A thread of the lowest priority gets about a hundredth of a busy processor.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);

const FIRST_POLL: Duration = Duration::from_micros(50);
const LAST_POLLS: Duration = Duration::from_millis(2);

/// A question to a thread, and the answer.
struct Channel {
    /// The lower half is the id of the thread that is asked, or one of the states below. The upper half is the number of the question.
    question: AtomicU64,
    /// The ranges of code that the question is about. A thread that reads them for a question that is over notices this when it answers.
    code: [(AtomicUsize, AtomicUsize); Code::MAX_COUNT],
    /// Another one, in which the thread is suspended only while it holds no lock.
    more_code: (AtomicUsize, AtomicUsize),
    /// The fiber that the question is about; 0 if the thread must be suspended.
    fiber: AtomicUsize,
    /// The number of questions. One is asked at a time.
    turns: Mutex<u64>,
}

const NONE: u32 = 0;
const SUSPENDED: u32 = u32::MAX;
const ELSEWHERE: u32 = u32::MAX - 1;

/// The first one is for threads of ours. Those of the lowest priority answer late on a busy machine, so the threads of hosts, which must be free as
/// soon as possible, have others.
static CHANNELS: [Channel; 1 + FOR_HOSTS] = [const { Channel::new() }; 1 + FOR_HOSTS];
const FOR_HOSTS: usize = 16;

impl Channel {
    const fn new() -> Self {
        Self {
            question: AtomicU64::new(0),
            code: [const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; Code::MAX_COUNT],
            more_code: (AtomicUsize::new(0), AtomicUsize::new(0)),
            fiber: AtomicUsize::new(0),
            turns: Mutex::new(0),
        }
    }

    fn of_host(thread: u32) -> &'static Self {
        &CHANNELS[1 + thread as usize % FOR_HOSTS]
    }
}

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
    // A tenth of the time of other threads. With less, a thread that holds a lock of the C library, V8 or ICU keeps it for seconds on a busy
    // machine.
    const LOW: i32 = 10;
    // Linux accepts a thread id instead of a process id.
    let thread = libc::id_t::try_from(thread).unwrap_or(0);
    // SAFETY: changes the scheduling of one thread of this process. A failure leaves it unchanged.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, thread, LOW) };
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

/// The right to ask a thread.
pub struct Turn {
    /// The thread, and the fiber that it works on; 0 for none.
    thread: i32,
    fiber: usize,
    channel: &'static Channel,
    number: Guard<'static, u64>,
}

impl Turn {
    /// Waits until no other thread is asked in the same channel.
    pub fn begin(thread: i32, fiber: usize) -> Self {
        let channel = if fiber == 0 { &CHANNELS[0] } else { Channel::of_host(thread.cast_unsigned()) };
        Self { thread, fiber, channel, number: lock(&channel.turns) }
    }

    /// Suspends the thread if its next instruction lies in `code` or in code of WebAssembly, or in `more` while it holds no lock. If it works on a
    /// fiber, makes it leave that instead, if it holds no lock. Otherwise requests it to stop: it stops when it next asks for memory or releases its
    /// last lock. It must work for the same guest until this returns.
    pub fn suspend(&mut self, code: &Code, more: (usize, usize)) -> Attempt {
        let (Some(signal), Ok(thread)) = (*signal(), u32::try_from(self.thread)) else {
            return Attempt::Unanswered;
        };
        let channel = self.channel;
        *self.number += 1;
        let places = channel.code.iter().chain([&channel.more_code]);
        for ((start, length), stretch) in places.zip(code.stretches.iter().chain([&more])) {
            start.store(stretch.0, Ordering::Relaxed);
            length.store(stretch.1, Ordering::Relaxed);
        }
        channel.fiber.store(self.fiber, Ordering::Relaxed);
        let question = with_state(*self.number << 32, thread);
        channel.question.store(question, Ordering::Release);
        // SAFETY: sends a signal that our handler takes (see `signal`) to a thread of this process.
        let send = || unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), self.thread, signal) } == 0;
        let sent = is_ours(signal) && send();
        let until = Instant::now() + ANSWER_TIMEOUT;
        let mut pause = FIRST_POLL;
        while sent && channel.question.load(Ordering::Acquire) == question && Instant::now() < until {
            std::thread::sleep(pause);
            pause = (pause * 2).min(LAST_POLLS);
        }
        // A thread that answers after this point continues to run.
        match state(channel.question.swap(with_state(question, NONE), Ordering::AcqRel)) {
            SUSPENDED => Attempt::Suspended,
            ELSEWHERE => Attempt::Elsewhere,
            _ => Attempt::Unanswered,
        }
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
    memory_functions::learn();
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
    let Ok(thread) = u32::try_from(current_thread()) else { return };
    let asked =
        [&CHANNELS[0], Channel::of_host(thread)].map(|channel| (channel, channel.question.load(Ordering::Acquire)));
    let Some((channel, question)) = asked.into_iter().find(|(_, question)| state(*question) == thread) else { return };
    // SAFETY: the kernel passes the context that it has saved.
    let address = unsafe {
        let address = interrupted(context.cast());
        if memory_functions::contain(address) { caller(context.cast()) } else { address }
    };
    let within = |(start, length): &(AtomicUsize, AtomicUsize)| {
        address.wrapping_sub(start.load(Ordering::Relaxed)) < length.load(Ordering::Relaxed)
    };
    let fiber = channel.fiber.load(Ordering::Relaxed);
    // SAFETY: as above.
    let is_guest = fiber::active() == fiber && unsafe { !interrupted_handler(context.cast()) };
    let is_compiled = channel.code.iter().any(within) || page_allocator::contain_code(address);
    let is_between_locks = || !locks::held() && !code_table::is_being_changed();
    let inside = is_guest
        && if is_compiled { fiber == 0 || !locks::held() } else { within(&channel.more_code) && is_between_locks() };
    let completion = with_state(question, if inside { SUSPENDED } else { ELSEWHERE });
    if channel.question.compare_exchange(question, completion, Ordering::AcqRel, Ordering::Acquire).is_err() {
        return;
    }
    if !inside {
        // This thread still works for the same guest: it does not leave that while it is asked.
        if is_guest {
            stop_request::make();
        }
        return;
    }
    if fiber != 0 {
        // SAFETY: the kernel passes the context that it has saved. The fiber is active, so the thread's own stack is suspended.
        return unsafe { fiber::redirect(context.cast(), fiber::own_stack(), fiber::Pause::Left as usize) };
    }
    loop {
        // SAFETY: has no preconditions. Only the C library's own signals are delivered.
        unsafe { libc::pause() };
    }
}

/// Whether another signal handler was interrupted, on the stack for handlers. V8 has one for its profiler. What it has blocked would stay blocked.
#[cfg(target_arch = "x86_64")]
unsafe fn interrupted_handler(context: *const libc::ucontext_t) -> bool {
    // SAFETY: the caller passes what the kernel has saved.
    let (pointer, stack) = unsafe { ((*context).uc_mcontext.gregs[libc::REG_RSP as usize], (*context).uc_stack) };
    usize::try_from(pointer).is_ok_and(|pointer| pointer.wrapping_sub(stack.ss_sp as usize) < stack.ss_size)
}

/// There are no fibers.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn interrupted_handler(_context: *const libc::ucontext_t) -> bool {
    false
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

/// The address to which the interrupted function returns, if it keeps nothing on the stack.
#[cfg(target_arch = "x86_64")]
unsafe fn caller(context: *const libc::ucontext_t) -> usize {
    // SAFETY: the caller guarantees that the kernel has saved this. The stack of an interrupted thread can be read.
    unsafe {
        let pointer = (*context).uc_mcontext.gregs[libc::REG_RSP as usize].cast_unsigned() as usize;
        (pointer as *const usize).read_unaligned()
    }
}

/// The register has it unless the function calls others.
#[cfg(target_arch = "aarch64")]
unsafe fn caller(context: *const libc::ucontext_t) -> usize {
    // SAFETY: the caller guarantees this.
    usize::try_from(unsafe { (*context).uc_mcontext.regs[30] }).unwrap_or(0)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn caller(_context: *const libc::ucontext_t) -> usize {
    0
}

/// The functions of the C library that fill, copy, compare and search memory. They hold no locks, call nothing, and keep nothing on the stack. V8
/// calls them for whole buffers. A guest that does so again and again is nearly always in one of them, so what matters is their caller.
mod memory_functions {
    use std::ffi::c_void;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Addresses at which they begin.
    static STARTS: [AtomicUsize; 4] = [const { AtomicUsize::new(0) }; 4];

    /// No version of them is longer. What follows them in the C library are functions of the same kind.
    const LENGTH: usize = 4 << 10;

    /// Learns where they lie. Called before a handler asks.
    pub fn learn() {
        for (start, name) in STARTS.iter().zip([c"memset", c"memmove", c"memcmp", c"memchr"]) {
            // SAFETY: looks up a name. The C library has chosen the version for this processor when it was loaded.
            let function: *mut c_void = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
            start.store(function as usize, Ordering::Relaxed);
        }
    }

    pub fn contain(address: usize) -> bool {
        STARTS.iter().any(|start| {
            let start = start.load(Ordering::Relaxed);
            start != 0 && address.wrapping_sub(start) < LENGTH
        })
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::{c_int, c_void};
    use std::ptr;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, mpsc};
    use std::thread;

    use super::{Attempt, CHANNELS, Code, Turn, accept_signal, current_thread, own_code};
    use crate::engine::guest_thread::NOWHERE;
    use crate::native::fiber::{self, Fiber, Pause};
    use crate::native::{lock, locks};

    fn suspend(thread: i32, fiber: usize, code: &Code, more: (usize, usize)) -> Attempt {
        Turn::begin(thread, fiber).suspend(code, more)
    }

    /// The handler runs, and may return.
    static BEGUN: AtomicBool = AtomicBool::new(false);
    static ENDS: AtomicBool = AtomicBool::new(false);

    extern "C" fn on_other_signal(_signal: c_int) {
        BEGUN.store(true, Ordering::Relaxed);
        while !ENDS.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_guest_is_not_left_while_another_handler_runs() {
        fn work(send: *const c_void) {
            // SAFETY: what the thread below passes. SIGUSR1 has the handler that is set below.
            unsafe {
                let _ = (*send.cast::<mpsc::Sender<_>>()).send((current_thread(), fiber::active()));
                libc::raise(libc::SIGUSR1);
            }
        }
        // SAFETY: zero is a valid value of every field, and the handler has the type that these flags require.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            let handler: extern "C" fn(c_int) = on_other_signal;
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_ONSTACK;
            assert_eq!(libc::sigaction(libc::SIGUSR1, &raw const action, ptr::null_mut()), 0);
        }
        let (send, asked) = mpsc::channel::<(i32, usize)>();
        let host = thread::spawn(move || {
            assert!(fiber::prepare_thread() && accept_signal());
            let fiber = Fiber::new().unwrap();
            // SAFETY: the sender lives until the fiber is done.
            unsafe { fiber.begin(work, (&raw const send).cast()) };
            fiber.resume()
        });
        let (id, fiber) = asked.recv().unwrap();
        while !BEGUN.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        let mut stretches = [NOWHERE; Code::MAX_COUNT];
        stretches[0] = own_code();
        let code = Code { stretches };
        for _ in 0..20 {
            assert!(!matches!(suspend(id, fiber, &code, NOWHERE), Attempt::Suspended));
        }
        ENDS.store(true, Ordering::Relaxed);
        assert_eq!(host.join().unwrap(), Pause::Done);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_guest_that_waits_for_a_lock_is_left() {
        unsafe extern "C" fn wait(_lock: *mut c_void) {
            unreachable!("a guest on a fiber polls");
        }
        unsafe extern "C" fn try_lock(_lock: *mut c_void) -> bool {
            false
        }
        fn work(send: *const c_void) {
            // SAFETY: what the thread below passes. The functions do not use the lock.
            unsafe {
                let _ = (*send.cast::<mpsc::Sender<_>>()).send((current_thread(), fiber::active()));
                locks::take(ptr::null_mut(), wait, try_lock);
            }
        }
        let (send, asked) = mpsc::channel::<(i32, usize)>();
        let host = thread::spawn(move || {
            assert!(fiber::prepare_thread() && accept_signal());
            let fiber = Fiber::new().unwrap();
            // SAFETY: the sender lives until the guest was left.
            unsafe { fiber.begin(work, (&raw const send).cast()) };
            (fiber.resume(), locks::held())
        });
        let (id, fiber) = asked.recv().unwrap();
        let code = Code { stretches: [NOWHERE; Code::MAX_COUNT] };
        while !host.is_finished() {
            suspend(id, fiber, &code, NOWHERE);
        }
        assert_eq!(host.join().unwrap(), (Pause::Left, false));
    }

    #[test]
    fn a_thread_of_a_host_is_asked_while_another_thread_does_not_answer() {
        let _turn = lock(&CHANNELS[0].turns);
        let (send, ids) = mpsc::channel();
        let ends = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&ends);
        let host = thread::spawn(move || {
            let _ = send.send(current_thread());
            while !end.load(Ordering::Relaxed) {
                thread::yield_now();
            }
        });
        let id = ids.recv().unwrap();
        let code = Code { stretches: [NOWHERE; Code::MAX_COUNT] };
        // On a busy machine, it may answer late.
        assert!((0..100).any(|_| matches!(suspend(id, 1, &code, NOWHERE), Attempt::Elsewhere)));
        ends.store(true, Ordering::Relaxed);
        assert!(host.join().is_ok());
    }
}
