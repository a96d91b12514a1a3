/* syscall for aarch64; filters.h explains why it is not written in C. */

        .text
        .globl  syscall
        .type   syscall, %function
        .p2align 2
syscall:
        .cfi_startproc
        hint    #34                     /* bti c */
        cmp     x0, #167                /* SYS_prctl */
        b.eq    3f
        cmp     x0, #277                /* SYS_seccomp */
        b.eq    3f
1:      adrp    x16, mv_syscall_real
        ldr     x16, [x16, #:lo12:mv_syscall_real]
        cbz     x16, 2f
        br      x16
2:      stp     x29, x30, [sp, #-80]!
        .cfi_adjust_cfa_offset 80
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        mov     x29, sp
        stp     x0, x1, [sp, #16]
        stp     x2, x3, [sp, #32]
        stp     x4, x5, [sp, #48]
        str     x6, [sp, #64]
        bl      mv_filters_start
        ldp     x0, x1, [sp, #16]
        ldp     x2, x3, [sp, #32]
        ldp     x4, x5, [sp, #48]
        ldr     x6, [sp, #64]
        ldp     x29, x30, [sp], #80
        .cfi_adjust_cfa_offset -80
        .cfi_restore x29
        .cfi_restore x30
        b       1b
3:      b       mv_filters_syscall
        .cfi_endproc
        .size   syscall, . - syscall

        .hidden mv_filters_syscall
        .hidden mv_filters_start
        .hidden mv_syscall_real

/* Marks this file as compilers mark their output: each entry point begins with bti. */
#ifdef __ARM_FEATURE_BTI_DEFAULT
        .section .note.gnu.property, "a"
        .p2align 3
        .word   4, 16, 5                /* lengths of name and properties; NT_GNU_PROPERTY_TYPE_0 */
        .asciz  "GNU"
        .word   0xc0000000, 4, 1, 0     /* GNU_PROPERTY_AARCH64_FEATURE_1_AND: BTI */
#endif
        .section .note.GNU-stack, "", %progbits
