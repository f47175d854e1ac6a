//! Switching between stacks. A suspended stack holds the modes of the floating-point units, above them the registers that functions preserve, and
//! the address at which it continues.

#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    r#"
    .p2align 4
    .hidden isolated_v8_switch
    .globl isolated_v8_switch
    .type isolated_v8_switch, @function
isolated_v8_switch:
    .cfi_startproc
    push rbp
    push rbx
    push r12
    push r13
    push r14
    push r15
    sub rsp, 8
    stmxcsr [rsp]
    fnstcw [rsp + 4]
    mov [rdi], rsp
    .cfi_endproc
isolated_v8_continue:
    .cfi_startproc
    .cfi_undefined rip
    mov rsp, rsi
    add rsp, 8
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbx
    pop rbp
    mov rax, rdx
    ret
    .cfi_endproc

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
    jmp isolated_v8_continue
    .cfi_endproc

    .p2align 4
    .hidden isolated_v8_begin
    .globl isolated_v8_begin
    .type isolated_v8_begin, @function
isolated_v8_begin:
    .cfi_startproc
    .cfi_undefined rip
    xor ebp, ebp
    mov rdi, r13
    call r12
    ud2
    .cfi_endproc
"#
);

unsafe extern "C" {
    /// Stores the stack pointer of this stack in `from` and continues on the stack `to`, where the call that has suspended it returns
    /// `value`.
    #[link_name = "isolated_v8_switch"]
    pub fn switch(from: *mut usize, to: usize, value: usize) -> usize;
    /// Continues on the stack `to` without saving this one. Its second and third argument registers are what a signal handler sets. Empties the
    /// registers of the x87 unit, where V8's code for `%` holds numbers: with those that were left there, the unit would soon be full, and the next
    /// `%` of the host would result in `NaN`.
    #[link_name = "isolated_v8_leave"]
    pub fn continue_on(unused: usize, to: usize, value: usize) -> !;
    /// Where a new stack begins.
    #[link_name = "isolated_v8_begin"]
    fn begin();
}

/// The modes, the registers that functions preserve, and the return address.
const SAVED: usize = 8;

/// Prepares the stack below `top` so that the first switch to it calls `entry` with `argument`. Returns its stack pointer.
///
/// # Safety
/// `top` is the aligned end of memory that can be written, and that nothing else uses. `entry` never returns.
pub unsafe fn prepare(top: usize, entry: extern "C" fn(usize) -> !, argument: usize) -> usize {
    let pointer = top - SAVED * size_of::<usize>();
    // In the order in which they are popped: the modes (of the caller, at the first switch), r15, r14, r13, r12, rbx, rbp, and the return address.
    let saved = [0, 0, 0, argument, entry as usize, 0, 0, begin as unsafe extern "C" fn() as usize];
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
