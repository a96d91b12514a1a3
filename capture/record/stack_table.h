/* Finds the stack id of the current event. For a known stack, this costs its collection, one hash
 * and one look-up; names.c writes out new stacks.
 *
 * The frames of a stack depend on the setting (docs/capture.md, "Stacks"):
 *     none       nothing
 *     python     Python frames; on a thread without them, native frames and, outermost, the
 *                thread's name
 *     native     native frames
 *     all        native frames up to the interpreter, then Python frames */
#pragma once

#include "capture/record/thread_state.h"

/* Returns the id + 1 of the current stack of the calling thread, which owns `block`. 0: there is no
 * stack, or it was lost and counted. Frames of the shim itself are left out. */
uint32_t mv_stack_table_now(mv_thread_block *block);

/* Checks whether stacks of Python frames are available. */
void mv_stack_table_start(void);

/* Called in a forked child: forgets all ids of stacks. */
void mv_stack_table_forget(void);
