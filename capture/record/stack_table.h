/* From the stack of the event at hand to a stack id. A stack that was seen before costs collecting
 * it, one hash and one look-up; a new one is spelled out in names.c.
 *
 * What a stack is made of depends on what was asked for (docs/capture.md, "Stacks"):
 *     none       nothing
 *     python     Python frames; on a thread that has none, native frames and, outermost, the
 *                thread's name
 *     native     native frames
 *     all        native frames up to the interpreter, then Python frames */
#ifndef MV_STACK_TABLE_H
#define MV_STACK_TABLE_H

#include "capture/record/thread_state.h"

/* Stack id + 1 of the calling thread, whose block this is; 0: none, or lost and counted. Frames of
 * the shim itself are left out. */
uint32_t mv_stack_table_now(mv_thread_block *block);

/* Finds out whether there are Python frames to be had. */
void mv_stack_table_start(void);

/* In a child: no stack has an id yet. */
void mv_stack_table_forget(void);

#endif
