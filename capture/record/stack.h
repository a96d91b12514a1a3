/* Stacks of the calling thread, as raw words first and as ids when they are new.
 *
 * Collecting is cheap and happens at each event: it only reads memory. What it finds is hashed
 * (XXH3, 128 bits), and a stack that was seen before costs no more than the look-up
 * (stack_table.c). Spelling a new stack out, frame by frame, into NAMES records is the work of the
 * first event that has it. */
#ifndef MV_STACK_H
#define MV_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/wire_live.h"

typedef enum { MV_STACKS_NONE, MV_STACKS_PYTHON, MV_STACKS_NATIVE, MV_STACKS_ALL } mv_stacks_wanted;

/* A Python frame: the code object, where in its bytecode, and a fingerprint of the object, because
 * the interpreter gives the same address to another code object soon after it freed the first. */
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
    bool cut; /* deeper than MV_LIVE_MOST_FRAMES: the outermost frames are missing */
    mv_python_frame python[MV_LIVE_MOST_FRAMES];
    uint64_t native[MV_LIVE_MOST_FRAMES]; /* return addresses */
} mv_raw_stack;

/* ---- python_frames.c: the calling thread's Python frames, without the GIL ---- */

/* Finds out whether there is an interpreter, which version, and whether its layout is as expected.
 * Cheap to call again: an interpreter may be loaded later (dlopen of libpython). */
bool mv_python_ready(void);

/* The frames of this thread; their number. 0: no interpreter, no frames, or switched off. */
uint32_t mv_python_walk(mv_python_frame *frames, uint32_t most);

/* What a frame's code object says, to be copied before the program runs on. False: it no longer
 * looks like a code object. */
typedef struct {
    const char *file, *name; /* not NUL-terminated; UTF-8, or Latin-1/UCS-2/UCS-4 made UTF-8 in
                              * `text` */
    uint32_t file_bytes, name_bytes;
    int32_t first_line;
    const uint8_t *table; /* the line table */
    uint32_t table_bytes;
    char text[2][4096]; /* storage for names that had to be converted */
} mv_python_code;

bool mv_python_describe(const mv_python_frame *frame, mv_python_code *out);

/* Why there are no Python stacks, for FACTS ("stacks_off"); NULL when there is nothing to say. */
const char *mv_python_why_off(void);

/* "3.12.3", or NULL. */
const char *mv_python_version(void);

/* ---- native_frames.c: return addresses, by the tables for exceptions ---- */

/* Finds what walking needs. Called once, at the first event; loads nothing. */
bool mv_native_start(void);

/* The return addresses of this thread; their number. The innermost ones are of the shim itself. */
uint32_t mv_native_walk(uint64_t *addresses, uint32_t most);
const char *mv_native_unwinder(void); /* "eh_frame"; NULL: not started */

/* ---- modules.c: which ELF file an address is in ---- */

typedef struct {
    const char *path; /* as the loader has it; the executable's real path for the program itself */
    uint8_t build_id[32];
    uint32_t build_id_bytes;
    uint64_t bias, first, end;
} mv_module;

/* The module that holds `address`. The answer is cached, and the cache renewed when libraries were
 * loaded or unloaded; must be called without any lock of ours held (it takes the loader's). The
 * strings stay valid for the life of the process. NULL: in no module. */
const mv_module *mv_module_at(uint64_t address);

#endif
