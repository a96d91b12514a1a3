/* Stacks of the calling thread: first as raw words; a new stack also gets ids.
 *
 * Collecting is cheap and happens at each event: it only reads memory. The result is hashed (XXH3,
 * 128 bits), and a known stack costs only this and one look-up (stack_table.c). The first event
 * with a stack writes it out, frame by frame, as NAMES records. */
#ifndef MV_STACK_H
#define MV_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/wire_live.h"

typedef enum { MV_STACKS_NONE, MV_STACKS_PYTHON, MV_STACKS_NATIVE, MV_STACKS_ALL } mv_stacks_wanted;

/* A Python frame: the code object, the position in its bytecode, and a fingerprint of the object,
 * because the interpreter soon reuses the address of a freed code object for another. */
typedef struct {
    uint64_t code;        /* address of the PyCodeObject */
    uint64_t fingerprint; /* changes when another code object is at that address */
    uint32_t offset;      /* of the instruction in the bytecode, in bytes */
    uint32_t version;     /* of the interpreter: major << 8 | minor */
} mv_python_frame;

/* Innermost frame first. Filled by mv_stack_collect, in the thread's own storage. */
typedef struct {
    uint32_t python_count;
    uint32_t native_count;
    mv_python_frame python[MV_LIVE_MOST_FRAMES];
    uint64_t native[MV_LIVE_MOST_FRAMES + 3]; /* return addresses; room for a hash of the rest */
} mv_raw_stack;

/* ---- python_frames.c: the calling thread's Python frames, without the GIL ---- */

/* Whether there is an interpreter with a known layout. Cheap to call again, because an interpreter
 * may be loaded later (dlopen of libpython). */
bool mv_python_ready(void);

/* The frames of this thread; their number. 0: no interpreter, no frames, or switched off. */
uint32_t mv_python_walk(mv_python_frame *frames, uint32_t most);

/* A frame's code object. Copy the fields before the program continues. */
typedef struct {
    const char *file, *name; /* UTF-8 without NUL; converted texts are in `text` */
    uint32_t file_bytes, name_bytes;
    int32_t first_line;
    const uint8_t *table; /* the line table */
    uint32_t table_bytes;
    char text[2][4096]; /* for names that are Latin-1, UCS-2 or UCS-4 in the interpreter */
} mv_python_code;

bool mv_python_describe(const mv_python_frame *frame, mv_python_code *out);

/* The reason for missing Python stacks, for FACTS ("stacks_off"); NULL without a reason. */
const char *mv_python_why_off(void);

/* "3.12.3", or NULL. */
const char *mv_python_version(void);

/* ---- loader_list.c ---- */

/* When the shim is loaded, and there is only one thread: looks for the loader's lock. */
void mv_loader_begin(void);

/* ---- native_frames.c: return addresses, by the tables for exceptions ---- */

/* Prepares the walk. Called once, at the first event; loads no library. */
bool mv_native_start(void);

/* The last walk of a thread, zeros before the first: registers after the step to each frame, and
 * where that step read them. The next walk takes over the steps that are still true. */
typedef struct {
    uint64_t pc, sp, bp;
    uint64_t pc_at; /* 0: the step depends on more than these words */
    uint64_t bp_at; /* 0: rbp is the callee's */
} mv_native_step;

enum { MV_NATIVE_PAST = 96 }; /* innermost frames that are kept */

typedef struct {
    uint64_t unloads; /* the loader's count of unloaded files */
    uint32_t turn, count;
    mv_native_step steps[2][MV_NATIVE_PAST];
} mv_native_past;

/* The return addresses of this thread, at most MV_LIVE_MOST_FRAMES; their number. The innermost ones
 * are in the shim itself. */
uint32_t mv_native_walk(mv_native_past *past, uint64_t *addresses, uint32_t most);
const char *mv_native_unwinder(void); /* "eh_frame"; NULL: not started */

/* ---- modules.c: which ELF file an address is in ---- */

typedef struct {
    const char *path; /* as in the loader's list; for the program itself its real path */
    uint8_t build_id[32];
    uint32_t build_id_bytes;
    uint64_t bias, first, end;
} mv_module;

/* The module that holds `address`. The answer is cached until a library is loaded or unloaded. Must
 * be called without a lock of the shim, since it takes the loader's. The strings stay valid for the
 * life of the process. NULL: not in a module. */
const mv_module *mv_module_at(uint64_t address);

/* python_frames.c: the interpreter's module, with the same rules. */
const mv_module *mv_python_module(void);

#endif
