/* How a function's frame is undone, from the tables that compilers leave for exceptions (.eh_frame,
 * .eh_frame_hdr): for x86-64, and for what is needed to find return addresses alone.
 *
 *     CFA      the stack pointer ahead of the call: where the caller's frame ends
 *     rbp      the caller's, which its own rule may need
 *     return   at CFA - 8, or where a signal frame has it
 *
 * Nothing is allocated or locked but the loader's list of files, and only what is mapped as part of
 * a loaded file is read. */
#ifndef MV_EH_FRAME_H
#define MV_EH_FRAME_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    MV_CFA_UNKNOWN,    /* a rule of a kind that is not known here */
    MV_CFA_END,        /* no caller: the thread's first function, or code without a table */
    MV_CFA_RSP,        /* rsp + offset */
    MV_CFA_RBP,        /* rbp + offset */
    MV_CFA_INSIDE_RSP, /* the word at rsp + offset: signal frames */
    MV_CFA_INSIDE_RBP  /* the word at rbp + offset: stacks that a function aligned */
} mv_cfa_kind;

typedef enum {
    MV_SAVED_NOT,    /* unchanged; a return address cannot be */
    MV_SAVED_AT_CFA, /* at CFA + offset */
    MV_SAVED_AT_RSP, /* at rsp + offset */
    MV_SAVED_AT_RBP  /* at rbp + offset */
} mv_saved_kind;

typedef struct {
    int32_t cfa_offset;
    int16_t rbp_offset, return_offset; /* bytes */
    uint8_t cfa;                       /* mv_cfa_kind */
    uint8_t rbp, address;              /* mv_saved_kind; `address`: the return address */
    bool is_signal;                    /* the caller was interrupted, and called nothing */
} mv_frame_rule;

/* The rule at an instruction. For a return address ask for the byte ahead of it, since the call may
 * be the function's last instruction; for an interrupted instruction ask for itself. */
mv_frame_rule mv_eh_frame_rule(uint64_t pc);

#endif
