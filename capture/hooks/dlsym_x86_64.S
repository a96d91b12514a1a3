/* dlsym and dlvsym for x86-64; dlsym.h explains why they are not written in C. */

        .text

/* \name(handle in rdi, name in rsi, version in rdx) */
        .macro  LOOKUP  name, real, has_version
        .globl  \name
        .type   \name, @function
        .p2align 4
\name:
        .cfi_startproc
        endbr64
        testq   %rsi, %rsi
        je      1f
        cmpb    $'c', (%rsi)
        jne     1f
        cmpb    $'u', 1(%rsi)
        jne     1f
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        pushq   %rdx
        .cfi_adjust_cfa_offset 8
        movq    24(%rsp), %rcx          /* the return address */
        .if     \has_version == 0
        xorl    %edx, %edx
        .endif
        call    mv_dlsym_choose
        testq   %rdx, %rdx              /* decided? The pops keep the flags */
        popq    %rdx
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        je      1f
        ret
1:      movq    \real(%rip), %r11
        testq   %r11, %r11
        je      2f
        jmp     *%r11
2:      pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        pushq   %rdx
        .cfi_adjust_cfa_offset 8
        call    mv_dlsym_start
        popq    %rdx
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        jmp     1b
        .cfi_endproc
        .size   \name, . - \name
        .endm

        .hidden mv_dlsym_choose
        .hidden mv_dlsym_start
        .hidden mv_dlsym_real
        .hidden mv_dlvsym_real

        LOOKUP  dlsym, mv_dlsym_real, 0
        LOOKUP  dlvsym, mv_dlvsym_real, 1

/* Marks this file as compilers mark their output: each entry point begins with endbr64, and calls
 * return. */
#ifdef __CET__
#include <cet.h>
#endif
        .section .note.GNU-stack, "", %progbits
