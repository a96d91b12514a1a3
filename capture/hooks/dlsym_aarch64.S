/* dlsym and dlvsym for aarch64; dlsym.h explains why they are not written in C. */

        .text

/* \name(handle in x0, name in x1, version in x2) */
        .macro  LOOKUP  name, real, has_version
        .globl  \name
        .type   \name, %function
        .p2align 2
\name:
        .cfi_startproc
        hint    #34                     /* bti c */
        cbz     x1, 1f
        ldrb    w16, [x1]
        cmp     w16, #'c'
        b.ne    1f
        ldrb    w16, [x1, #1]
        cmp     w16, #'u'
        b.ne    1f
        stp     x29, x30, [sp, #-48]!
        .cfi_adjust_cfa_offset 48
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        mov     x29, sp
        stp     x0, x1, [sp, #16]
        str     x2, [sp, #32]
        mov     x3, x30                 /* the return address */
        .if     \has_version == 0
        mov     x2, xzr
        .endif
        bl      mv_dlsym_choose
        mov     x16, x0
        mov     x17, x1
        ldp     x0, x1, [sp, #16]
        ldr     x2, [sp, #32]
        ldp     x29, x30, [sp], #48
        .cfi_adjust_cfa_offset -48
        .cfi_restore x29
        .cfi_restore x30
        cbz     x17, 1f
        mov     x0, x16
        ret
1:      adrp    x16, \real
        ldr     x16, [x16, #:lo12:\real]
        cbz     x16, 2f
        br      x16
2:      stp     x29, x30, [sp, #-48]!
        .cfi_adjust_cfa_offset 48
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        mov     x29, sp
        stp     x0, x1, [sp, #16]
        str     x2, [sp, #32]
        bl      mv_dlsym_start
        ldp     x0, x1, [sp, #16]
        ldr     x2, [sp, #32]
        ldp     x29, x30, [sp], #48
        .cfi_adjust_cfa_offset -48
        .cfi_restore x29
        .cfi_restore x30
        b       1b
        .cfi_endproc
        .size   \name, . - \name
        .endm

        .hidden mv_dlsym_choose
        .hidden mv_dlsym_start
        .hidden mv_dlsym_real
        .hidden mv_dlvsym_real

        LOOKUP  dlsym, mv_dlsym_real, 0
        LOOKUP  dlvsym, mv_dlvsym_real, 1

/* Marks this file as compilers mark their output: each entry point begins with bti. */
#ifdef __ARM_FEATURE_BTI_DEFAULT
        .section .note.gnu.property, "a"
        .p2align 3
        .word   4, 16, 5                /* lengths of name and properties; NT_GNU_PROPERTY_TYPE_0 */
        .asciz  "GNU"
        .word   0xc0000000, 4, 1, 0     /* GNU_PROPERTY_AARCH64_FEATURE_1_AND: BTI */
#endif
        .section .note.GNU-stack, "", %progbits
