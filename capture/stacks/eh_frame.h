/* Finds the rules for unwinding a function's frame in the tables that compilers write for
 * exceptions (.eh_frame, .eh_frame_hdr). Works only for x86-64, and only for finding return
 * addresses.
 *
 *     CFA      the stack pointer before the call: where the caller's frame ends
 *     rbp      the caller's value, which the caller's own rule may need
 *     return   at CFA - 8, or where a signal frame has it
 *
 * Allocates nothing, locks only the loader's list of files, and reads only memory that is mapped as
 * part of a loaded file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    MV_CFA_UNKNOWN,    /* an unsupported kind of rule */
    MV_CFA_END,        /* there is no caller: the thread's first function, or code without a
                        * table */
    MV_CFA_RSP,        /* rsp + offset */
    MV_CFA_RBP,        /* rbp + offset */
    MV_CFA_INSIDE_RSP, /* the word in memory at rsp + offset, for signal frames */
    MV_CFA_INSIDE_RBP  /* the word in memory at rbp + offset, for functions that align the stack */
} mv_cfa_kind;

typedef enum {
    MV_SAVED_NOT,    /* the register is unchanged; not possible for a return address */
    MV_SAVED_AT_CFA, /* at CFA + offset */
    MV_SAVED_AT_RSP, /* at rsp + offset */
    MV_SAVED_AT_RBP  /* at rbp + offset */
} mv_saved_kind;

typedef struct {
    int32_t cfa_offset;
    int16_t rbp_offset, return_offset; /* bytes */
    uint8_t cfa;                       /* mv_cfa_kind */
    uint8_t rbp, address;              /* mv_saved_kind of rbp and of the return address */
    bool is_signal;                    /* a signal interrupted the caller, which did not make a
                                        * call */
} mv_frame_rule;

/* Returns the rule at an instruction. For a return address, pass the address - 1, because the call
 * may be the last instruction of the function. For an interrupted instruction, pass its address. */
mv_frame_rule mv_eh_frame_rule(uint64_t pc);
