/* What ids mean: texts, code objects, modules, frames and stacks get their numbers here, and a
 * record in the NAMES chunks that spells them out.
 *
 * One lock is held from mv_names_lock to mv_names_unlock by whoever adds; a name that is there
 * already is found without it. A record is committed before anybody can get its id, so no event
 * refers to what a killed process did not write. Functions return MV_NO_ID when there is no space
 * left. */
#ifndef MV_NAMES_H
#define MV_NAMES_H

#include <stddef.h>

#include "capture/record/id_table.h"
#include "capture/record/stack.h"
#include "capture/record/thread_state.h"

/* False: the lock is busy, and threads must not wait. */
bool mv_names_lock(void);
void mv_names_unlock(void);

/* ---- Without the lock; they take it when they have to ---- */

/* A text; cut at MV_LIVE_MOST_TEXT, at the start of a UTF-8 sequence. */
uint32_t mv_names_text(const void *text, size_t bytes);

/* A text of static storage, which is known by its address. */
uint32_t mv_names_literal(const char *text);

/* The path of the library that holds a return address. */
uint32_t mv_names_library(const void *caller);

/* Records the thread's name, and makes its `words`, when the name is not what was recorded. */
void mv_names_thread(mv_thread_block *block);

/* ---- With the lock ---- */

uint32_t mv_names_python_frame(const mv_python_frame *frame);

/* `module` is the one that holds `address`, asked for ahead of the lock; NULL: none. */
uint32_t mv_names_native_frame(uint64_t address, const mv_module *module);

/* `caller` is a stack id + 1; 0: none. */
uint32_t mv_names_stack(uint32_t caller, uint32_t frame);

enum { MV_NAMES_EMPTY = 0 /* string id of "" */ };

/* Names what has to be there always: "". False: no space. */
bool mv_names_begin(void);

/* In a child: nothing is named yet, and the chunk was the parent's. */
void mv_names_forget(void);

#endif
