//! Switching between stacks. A suspended stack holds the modes of the floating-point units, above them the registers that the compiler cannot save
//! around a switch by itself, and the address at which it continues.

use std::arch::asm;

#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    r#"
    .p2align 4
    .hidden isolated_v8_leave
    .globl isolated_v8_leave
    .type isolated_v8_leave, @function
isolated_v8_leave:
    .cfi_startproc
    .cfi_undefined rip
    fninit
    fldcw [rsi + 4]
    ldmxcsr [rsi]
    mov rsp, rsi
    add rsp, 8
    pop rbx
    pop rbp
    pop rcx
    jmp rcx
    .cfi_endproc

    .p2align 4
    .hidden isolated_v8_begin
    .globl isolated_v8_begin
    .type isolated_v8_begin, @function
isolated_v8_begin:
    .cfi_startproc
    .cfi_undefined rip
    mov rdi, rbp
    xor ebp, ebp
    call rbx
    ud2
    .cfi_endproc
"#
);

unsafe extern "C" {
    /// Continues on the stack `to` without saving this one. Its second and third argument registers are what a signal handler sets. Empties the
    /// registers of the x87 unit, where V8's code for `%` holds numbers: with those that were left there, the unit would soon be full, and the next
    /// `%` of the host would result in `NaN`.
    #[link_name = "isolated_v8_leave"]
    pub fn continue_on(unused: usize, to: usize, value: usize) -> !;
    /// Where a new stack begins.
    #[link_name = "isolated_v8_begin"]
    fn begin();
}

/// Stores the stack pointer of this stack in `from` and continues on the stack `to`, where the call that has suspended it returns
/// `value`.
///
/// Without a call and a return, since processors would predict none of the returns that follow on the other stack. The jump has nearly always
/// the same target as before.
///
/// # Safety
/// `to` is a suspended stack, of this thread if it has run before. `from` can be written.
#[inline(always)]
pub unsafe fn switch(from: *mut usize, to: usize, value: usize) -> usize {
    let returned;
    // SAFETY: guaranteed by the caller. All registers except `rbx`, `rbp` and `rsp`, which are saved, are declared to change.
    unsafe {
        asm!(
            "lea rax, [rip + 2f]",
            "push rax",
            "push rbp",
            "push rbx",
            "sub rsp, 8",
            "stmxcsr [rsp]",
            "fnstcw [rsp + 4]",
            "mov [rdi], rsp",
            "mov rsp, rsi",
            "add rsp, 8",
            "pop rbx",
            "pop rbp",
            "pop rcx",
            "jmp rcx",
            "2:",
            inout("rdi") from => _,
            inout("rsi") to => _,
            inout("rdx") value => returned,
            out("r12") _,
            out("r13") _,
            out("r14") _,
            out("r15") _,
            clobber_abi("C"),
        );
    }
    returned
}

/// The modes, `rbx`, `rbp`, and the address.
const SAVED: usize = 4;

/// Prepares the stack below `top` so that the first switch to it calls `entry` with `argument`. Returns its stack pointer.
///
/// # Safety
/// `top` is the aligned end of memory that can be written, and that nothing else uses. `entry` never returns.
pub unsafe fn prepare(top: usize, entry: extern "C" fn(usize) -> !, argument: usize) -> usize {
    let pointer = top - SAVED * size_of::<usize>();
    // In the order in which they are popped. The modes are those of the caller at the first switch.
    let saved = [0, entry as usize, argument, begin as unsafe extern "C" fn() as usize];
    // SAFETY: guaranteed by the caller.
    unsafe { (pointer as *mut [usize; SAVED]).write(saved) };
    pointer
}

/// Makes an interrupted thread continue on the stack `to`, where the call that has suspended it returns `value`. The kernel restores
/// everything else that the interruption has changed.
///
/// # Safety
/// `context` is what the kernel has passed to a signal handler. `to` is a suspended stack of the interrupted thread.
pub unsafe fn redirect(context: *mut libc::ucontext_t, to: usize, value: usize) {
    /// Code expects this flag to be clear at the begin of a function.
    const DIRECTION: i64 = 1 << 10;
    // SAFETY: guaranteed by the caller.
    let registers = unsafe { &mut (*context).uc_mcontext.gregs };
    let function: unsafe extern "C" fn(usize, usize, usize) -> ! = continue_on;
    registers[libc::REG_RIP as usize] = (function as usize).cast_signed() as i64;
    registers[libc::REG_RSI as usize] = to.cast_signed() as i64;
    registers[libc::REG_RDX as usize] = value.cast_signed() as i64;
    registers[libc::REG_EFL as usize] &= !DIRECTION;
}
