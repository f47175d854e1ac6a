//! Handles the end of a guest's stack. V8 compares the stack with its limit (984 KB) only where its authors expect deep recursion.
//! Resolving names in nested scopes, module exports through re-exports, and prototypes of prototypes recurses as deep as a guest likes.
//! Such a thread would run into the system's guard page, which ends the process.
//!
//! So the lowest part of the stack is inaccessible. A thread that gets there continues in a reserve, because it may hold a lock of the
//! allocator at that point. It is parked when it next asks for memory or a lock, or immediately at the end of the reserve.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

use super::reserve::{GUARD, RESERVE};
use super::{context, fiber, locks, refusal};

/// The stack on which the signal handler runs and such a thread is parked permanently. Its size distinguishes it from alternate stacks of
/// other code.
const ALTERNATE: usize = 260 << 10;

const MAGIC: u64 = 0x6973_6f6c_7374_6163;

/// At the start of the alternate stack, where the handler finds it without thread-local storage.
#[repr(C)]
#[derive(Clone, Copy)]
struct Header {
    magic: u64,
    /// Where the guard begins. The reserve follows it.
    guard: usize,
}

/// Called when this library has accessed a null pointer, or a field of one.
static AT_NULL: OnceLock<fn()> = OnceLock::new();

/// Pages from the start of the address space that hold nothing.
const NULL: usize = 4 << 10;

/// From now on, `act` is called when this library has accessed a null pointer on a thread with a guard.
pub fn at_null(act: fn()) {
    // The first function stays.
    let _ = AT_NULL.set(act);
}

/// The previous action for the signal.
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

/// Handles the signal for inaccessible memory. Faults that do not concern the end of a stack go to the previous handler.
pub fn watch() {
    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = on_fault;
    PREVIOUS.get_or_init(|| {
        // SAFETY: zero is a valid value of every field. The handler has the type that SA_SIGINFO requires and does nothing that is
        // forbidden after code has accessed the end of its stack.
        unsafe {
            let mut previous: libc::sigaction = std::mem::zeroed();
            libc::sigaction(libc::SIGSEGV, ptr::null(), &raw mut previous);
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as usize;
            // Same flags as the previous action, except for the stack.
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | (previous.sa_flags & libc::SA_NODEFER);
            action.sa_mask = previous.sa_mask;
            libc::sigaction(libc::SIGSEGV, &raw const action, ptr::null_mut());
            previous
        }
    });
}

/// Sets up guard and reserve at the end of this thread's stack. If that fails, the stack has only the system's guard page.
pub fn guard() {
    let Some(guard) = lowest() else { return };
    // SAFETY: no other code knows the new pages, which outlive their use as a stack. The pages of the thread's own stack are far below the
    // part that it uses now, and nothing else uses them.
    unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let alternate = libc::mmap(ptr::null_mut(), ALTERNATE, access, flags, -1, 0);
        if alternate == libc::MAP_FAILED {
            return;
        }
        alternate.cast::<Header>().write(Header { magic: MAGIC, guard });
        let stack = libc::stack_t { ss_sp: alternate, ss_flags: 0, ss_size: ALTERNATE };
        if libc::mprotect(guard as *mut c_void, GUARD + RESERVE, libc::PROT_NONE) != 0 {
            libc::munmap(alternate, ALTERNATE);
        } else if libc::sigaltstack(&raw const stack, ptr::null_mut()) != 0 {
            libc::mprotect(guard as *mut c_void, GUARD + RESERVE, access);
            libc::munmap(alternate, ALTERNATE);
        } else {
            context::with(|context| context.reserve.set(guard + GUARD));
        }
    }
}

/// The thread is about to end. Its stack may be reused for another thread.
pub fn unguard() {
    let start = context::with(|context| context.reserve.replace(usize::MAX));
    if start == usize::MAX {
        return;
    }
    // SAFETY: the pages are those that `guard` has protected, and the stack is the one that it has created, on which nothing runs.
    unsafe {
        let mut alternate: libc::stack_t = std::mem::zeroed();
        let none = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: ALTERNATE };
        if libc::sigaltstack(&raw const none, &raw mut alternate) == 0 && alternate.ss_size == ALTERNATE {
            libc::munmap(alternate.ss_sp, ALTERNATE);
        }
        libc::mprotect((start - GUARD) as *mut c_void, GUARD + RESERVE, libc::PROT_READ | libc::PROT_WRITE);
    }
}

/// The lowest address of this thread's stack, if that has room for guard and reserve.
fn lowest() -> Option<usize> {
    // SAFETY: zero is a valid value of every field, which `pthread_getattr_np` initializes and `pthread_attr_destroy` destroys.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return None;
        }
        let (mut start, mut size) = (ptr::null_mut(), 0);
        let error = libc::pthread_attr_getstack(&raw const attributes, &raw mut start, &raw mut size);
        libc::pthread_attr_destroy(&raw mut attributes);
        let page = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)).ok().filter(|page| *page > 0)?;
        let has_room = error == 0 && size > 4 * (GUARD + RESERVE);
        has_room.then(|| (start as usize).next_multiple_of(page))
    }
}

/// Parks a thread that has reached its reserve, before it takes anything that other threads wait for. True if it continues in the reserve.
#[inline]
pub fn check() -> bool {
    let here = 0_u8;
    let start = context::with(|context| context.reserve.get());
    let is_at_end = (&raw const here as usize).wrapping_sub(start) < RESERVE;
    if is_at_end && !locks::held() {
        // The code that parks the thread takes locks as well.
        context::with(|context| context.reserve.set(usize::MAX));
        refusal::end();
        context::with(|context| context.reserve.set(start));
    }
    is_at_end
}

extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes what it has saved, including the thread's alternate signal stack, which is accessible.
    let (address, header) = unsafe {
        let stack = (*context.cast::<libc::ucontext_t>()).uc_stack;
        let is_ours = stack.ss_size == ALTERNATE && !stack.ss_sp.is_null();
        let header = is_ours.then(|| stack.ss_sp.cast::<Header>().read()).filter(|header| header.magic == MAGIC);
        ((*info).si_addr() as usize, header)
    };
    let fiber = fiber::bounds().map(|(guard, _)| guard);
    if let Some(guard) = fiber.or(header.map(|Header { guard, .. }| guard)) {
        if address < NULL
            && fiber.is_none()
            && let Some(act) = AT_NULL.get()
        {
            act();
        }
        let reserve = guard + GUARD;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        if address.wrapping_sub(reserve) < RESERVE
            // SAFETY: the pages are those that `guard` has protected.
            && unsafe { libc::mprotect(reserve as *mut c_void, RESERVE, access) } == 0
        {
            return;
        }
        if address.wrapping_sub(guard) < GUARD {
            if fiber.is_some() {
                let failed = fiber::Pause::Failed as usize;
                // SAFETY: the kernel passes the context that it has saved; the fiber runs, so the thread's own stack is suspended.
                return unsafe { fiber::redirect(context.cast(), fiber::own_stack(), failed) };
            }
            // The thread has used all of the reserve without asking for memory or a lock. Returns if no guest runs on it.
            refusal::end();
        }
    }
    let previous = PREVIOUS.get().filter(|previous| previous.sa_sigaction > libc::SIG_IGN);
    // SAFETY: other code has set the action for this signal, with flags that state what its handler takes. If there is no handler, the
    // signal is raised again as soon as this returns, and ends the process.
    unsafe {
        match previous {
            Some(action) if action.sa_flags & libc::SA_SIGINFO != 0 => {
                let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                    std::mem::transmute(action.sa_sigaction);
                handler(signal, info, context);
            }
            Some(action) => {
                let handler: extern "C" fn(c_int) = std::mem::transmute(action.sa_sigaction);
                handler(signal);
            }
            None => {
                libc::signal(libc::SIGSEGV, libc::SIG_DFL);
                // A signal that was sent by a process does not occur again by itself.
                if (*info).si_code <= 0 {
                    libc::raise(libc::SIGSEGV);
                }
            }
        }
    }
}
