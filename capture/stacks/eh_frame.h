/* Rules for unwinding a function's frame, from the tables that compilers write for exceptions
 * (.eh_frame, .eh_frame_hdr). For x86-64, and only to find return addresses.
 *
 *     CFA      the stack pointer before the call: where the caller's frame ends
 *     rbp      the caller's value, which the caller's own rule may need
 *     return   at CFA - 8, or where a signal frame has it
 *
 * Allocates nothing, locks only the loader's list of files, and reads only memory that is mapped as
 * part of a loaded file. */
#ifndef MV_EH_FRAME_H
#define MV_EH_FRAME_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    MV_CFA_UNKNOWN,    /* an unsupported kind of rule */
    MV_CFA_END,        /* no caller: the thread's first function, or code without a table */
    MV_CFA_RSP,        /* rsp + offset */
    MV_CFA_RBP,        /* rbp + offset */
    MV_CFA_INSIDE_RSP, /* the word at rsp + offset, for signal frames */
    MV_CFA_INSIDE_RBP  /* the word at rbp + offset, for functions that align the stack */
} mv_cfa_kind;

typedef enum {
    MV_SAVED_NOT,    /* unchanged; not possible for a return address */
    MV_SAVED_AT_CFA, /* at CFA + offset */
    MV_SAVED_AT_RSP, /* at rsp + offset */
    MV_SAVED_AT_RBP  /* at rbp + offset */
} mv_saved_kind;

typedef struct {
    int32_t cfa_offset;
    int16_t rbp_offset, return_offset; /* bytes */
    uint8_t cfa;                       /* mv_cfa_kind */
    uint8_t rbp, address;              /* mv_saved_kind; `address` is the return address */
    bool is_signal;                    /* a signal interrupted the caller, which made no call */
} mv_frame_rule;

/* The rule at an instruction. For a return address pass the address - 1, because the call may be
 * the function's last instruction; for an interrupted instruction pass its own address. */
mv_frame_rule mv_eh_frame_rule(uint64_t pc);

#endif
