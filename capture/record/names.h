/* Assigns ids to strings, code objects, modules, frames and stacks, and writes the meaning of each
 * id as a record in the NAMES chunks.
 *
 * A thread holds a lock while it adds names, from mv_names_lock to mv_names_unlock; existing names
 * are found without the lock. A record is committed before any thread can obtain its id, so even if
 * the process is killed, every name used by an event exists. Functions return MV_NO_ID when the
 * space is used up. */
#pragma once

#include "capture/record/id_table.h"
#include "capture/record/thread_state.h"

/* Takes the lock. Returns false if the lock is busy and the settings forbid waiting. */
bool mv_names_lock(void);
void mv_names_unlock(void);

/* ---- called without the lock: they take it if necessary ---- */

/* Returns the id of a string, which is cut at MV_LIVE_MOST_TEXT, but never inside a UTF-8
 * sequence. */
uint32_t mv_names_text(const void *text, size_t bytes);

/* Returns the id of a string in static storage, which is identified by its address. */
uint32_t mv_names_literal(const char *text);

/* Returns the id of the path of the library that contains a return address. */
uint32_t mv_names_library(const void *caller);

/* Records the thread's name and sets `words`, if the name has changed since the last call. */
void mv_names_thread(mv_thread_block *block);

/* ---- called with the lock ---- */

uint32_t mv_names_python_frame(const mv_python_frame *frame);

/* `module` is the module that contains `address`, looked up before taking the lock; NULL: none. */
uint32_t mv_names_native_frame(uint64_t address, const mv_module *module);

/* `caller` is a stack id + 1; 0: none. */
uint32_t mv_names_stack(uint32_t caller, uint32_t frame);

enum { MV_NAMES_EMPTY = 0 /* string id of "" */ };

/* Adds the first name, which is "". Returns false when there is no space. */
bool mv_names_begin(void);

/* Called in a child, right after fork(): forgets the parent's chunk. Names that an interrupted hook
 * is still adding are lost. */
void mv_names_forked(void);

/* Called in a child with a separate file: forgets all names and the parent's chunk. */
void mv_names_forget(void);
