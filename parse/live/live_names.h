/* Looks up the meaning of the ids in a live file. Reads the file's NAMES chunks in the order in
 * which they were written.
 *
 *     mv_live_names_read      decodes the records and gives ids their rows
 *     mv_live_names_resolve   finds lines of Python frames and symbols of native frames at once
 *     mv_live_names_stack     returns the model's stack for an id, made on first use
 *
 * Ids come from the file, so they may be out of range. Such ids have no meaning and are counted. */
#pragma once

#include "parse/live/live_chunks.h"

typedef struct {
    mv_span text;
    uint32_t string; /* string in the model, as mv_string_id + 1; 0: not used yet */
} mv_live_string;

typedef struct {
    uint32_t file, name; /* ids of the file's path and the function's name */
    int32_t first_line;
    uint32_t version;
    mv_span table;
    bool is_damaged; /* the damage of the table was noted */
} mv_live_code;

typedef struct {
    uint32_t path; /* string id */
    mv_span build_id;
    uint64_t bias, first, end;
    bool is_missing; /* the module does not exist on this machine, as far as it was looked up */
} mv_live_module;

typedef struct {
    uint8_t kind;    /* mv_live_name: PYTHON, NATIVE, WORDS; 0: lost */
    uint32_t of;     /* id of a code object, module (MV_NO_ROW: none) or string */
    uint64_t offset; /* offset in the bytecode, or address */
    uint32_t first;  /* mv_live_names.resolved[first, first + count), innermost first */
    uint32_t count;
} mv_live_frame;

typedef struct {
    uint32_t caller; /* id of the caller's stack, which is lower than this stack's id; MV_NO_ROW:
                      * none */
    uint32_t frame;  /* frame id */
    uint32_t stack;  /* stack in the model, as mv_stack_id + 1; 0: not used yet */
} mv_live_stack;

typedef struct {
    mv_arena *arena;
    mv_build *build;
    mv_live_made made; /* number of rows in each of the tables below */
    mv_live_made room;
    mv_live_string *strings;
    mv_live_code *codes;
    mv_live_module *modules;
    mv_live_frame *frames;
    mv_live_stack *stacks;
    mv_frame_id *resolved;
    uint64_t resolved_count, resolved_room;
    uint32_t resolved_frames; /* number of frames whose lines and symbols were looked up */
    uint32_t missing;         /* number of modules that do not exist on this machine */
    bool is_damaged;          /* some names were lost */
    bool is_elsewhere;        /* the recording was made on a different machine, so no local files
                               * are opened */
} mv_live_names;

/* Reads all NAMES chunks. `most` is the largest number of ids of one kind for which the file has
 * space. Returns false when out of memory. */
bool mv_live_names_read(mv_arena *arena, const mv_live_chunks *chunks, uint64_t most, mv_build *b,
                        mv_live_names *out);

/* mv_live_names_add reads one chunk at a time, in file order, for a file that grows. The first
 * `from` bytes of the chunk's records were read before; the records must not move in memory. */
void mv_live_names_init(mv_arena *arena, mv_build *b, mv_live_names *out);
bool mv_live_names_add(mv_live_names *n, const mv_live_chunk *chunk, uint64_t from, uint64_t most);

/* Looks up lines or symbols for frames that are new since the last call (live_frames.c). */
mv_code mv_live_names_resolve(mv_live_names *n, mv_err *err);

/* Counts invalid names. */
void mv_live_names_damaged(mv_live_names *n, const char *what);

/* Returns the row for id + 1, which is how events store ids; 0 gives MV_NO_STRING or
 * MV_NO_STACK. */
mv_string_id mv_live_names_string(mv_live_names *n, uint64_t id_and_1);
mv_stack_id mv_live_names_stack(mv_live_names *n, uint64_t id_and_1);

/* Returns the string with this id + 1; empty if there is none. */
mv_span mv_live_names_text(const mv_live_names *n, uint64_t id_and_1);
