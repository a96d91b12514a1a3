/* syscall for x86-64; filters.h explains why it is not written in C. */

        .text
        .globl  syscall
        .type   syscall, @function
        .p2align 4
syscall:
        .cfi_startproc
        endbr64
        cmpq    $157, %rdi              /* SYS_prctl */
        je      mv_filters_syscall
        cmpq    $317, %rdi              /* SYS_seccomp */
        je      mv_filters_syscall
1:      movq    mv_syscall_real(%rip), %r11
        testq   %r11, %r11
        je      2f
        jmp     *%r11
2:      .irp    register, rdi, rsi, rdx, rcx, r8, r9, rax
        pushq   %\register
        .cfi_adjust_cfa_offset 8
        .endr
        call    mv_filters_start
        .irp    register, rax, r9, r8, rcx, rdx, rsi, rdi
        popq    %\register
        .cfi_adjust_cfa_offset -8
        .endr
        jmp     1b
        .cfi_endproc
        .size   syscall, . - syscall

        .hidden mv_filters_syscall
        .hidden mv_filters_start
        .hidden mv_syscall_real

/* Marks this file as compilers mark their output: each entry point begins with endbr64, and calls
 * return. */
#ifdef __CET__
#include <cet.h>
#endif
        .section .note.GNU-stack, "", %progbits
