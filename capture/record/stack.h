/* Collects stacks of the calling thread, as raw words, and assigns ids to new stacks.
 *
 * Collecting happens at each event and is cheap, because it only reads memory. The words are hashed
 * (XXH3, 128 bits), and a known stack costs only the hash and one look-up (stack_table.c). The
 * first event with a new stack writes out the stack, frame by frame, as NAMES records. */
#pragma once

#include "capture/wire_live.h"

typedef enum { MV_STACKS_NONE, MV_STACKS_PYTHON, MV_STACKS_NATIVE, MV_STACKS_ALL } mv_stacks_wanted;

/* A Python frame: the code object, the position in its bytecode, and a fingerprint of the code
 * object, because the interpreter soon reuses the address of a freed code object for a new one. */
typedef struct {
    uint64_t code;        /* address of the PyCodeObject */
    uint64_t fingerprint; /* different for another code object at the same address */
    uint32_t offset;      /* bytes from the beginning of the bytecode to the instruction */
    uint32_t version;     /* version of the interpreter: major << 8 | minor */
} mv_python_frame;

/* A stack with its innermost frame first. mv_stack_collect fills it, in memory that belongs to the
 * thread. */
typedef struct {
    uint32_t python_count;
    uint32_t native_count;
    mv_python_frame python[MV_LIVE_MOST_FRAMES];
    uint64_t native[MV_LIVE_MOST_FRAMES + 3]; /* return addresses, followed by space for a hash of
                                               * all other data */
} mv_raw_stack;

/* ---- python_frames.c: the calling thread's Python frames, without the GIL ---- */

/* Returns true if there is an interpreter with a known layout. Repeating the call is cheap, and
 * necessary because an interpreter may be loaded later (dlopen of libpython). */
bool mv_python_ready(void);

/* Finds the frames of this thread and returns their number. The result is 0 if there is no
 * interpreter, if it has no frames, or if Python stacks are off. */
uint32_t mv_python_walk(mv_python_frame *frames, uint32_t most);

/* The code object of a frame, filled by mv_python_describe. The caller must copy the fields before
 * the program continues. */
typedef struct {
    const char *file, *name; /* UTF-8 without NUL; converted strings point into `text` */
    uint32_t file_bytes, name_bytes;
    int32_t first_line;
    const uint8_t *table; /* the line table */
    uint32_t table_bytes;
    char text[2][4096]; /* space for names that are stored as Latin-1, UCS-2 or UCS-4 in the
                         * interpreter */
} mv_python_code;

bool mv_python_describe(const mv_python_frame *frame, mv_python_code *out);

/* Returns the reason why Python stacks are missing, for FACTS ("stacks_off"); NULL if they are
 * not. */
const char *mv_python_why_off(void);

/* "3.12.3", or NULL. */
const char *mv_python_version(void);

/* ---- loader_list.c ---- */

/* Looks for the loader's lock. Called when the shim is loaded, while there is only one thread. */
void mv_loader_begin(void);

/* ---- native_frames.c: return addresses, from the exception tables ---- */

/* Prepares for walking stacks. Called once, at the first event; loads no library. */
bool mv_native_start(void);

/* A step of a thread's last walk: the registers after the step, and the addresses from which the
 * step read them. The next walk reuses all steps that are still valid. */
typedef struct {
    uint64_t pc, sp, bp;
    uint64_t pc_at; /* address from which pc was read; 0: the step cannot be reused */
    uint64_t bp_at; /* address from which bp was read; 0: the step does not change rbp */
} mv_native_step;

enum { MV_NATIVE_PAST = 96 }; /* number of innermost frames whose steps are kept */

typedef struct {
    uint64_t unloads; /* the loader's count of unloaded files */
    uint32_t turn, count;
    mv_native_step steps[2][MV_NATIVE_PAST];
} mv_native_past;

/* Finds the return addresses of this thread, up to `most`, and returns their number. The innermost
 * ones are in the shim itself. */
uint32_t mv_native_walk(mv_native_past *past, uint64_t *addresses, uint32_t most);
const char *mv_native_unwinder(void); /* "eh_frame"; NULL: not started */

/* ---- modules.c: the ELF file that contains an address ---- */

typedef struct {
    const char *path; /* path in the loader's list, or the real path of the program itself */
    uint8_t build_id[32];
    uint32_t build_id_bytes;
    uint64_t bias, first, end;
} mv_module;

/* Returns the module that contains `address`; NULL: none. The result is cached until a library is
 * loaded or unloaded. The caller must not hold any of the shim's locks, because this function takes
 * the loader's lock. The strings stay valid for the life of the process. */
const mv_module *mv_module_at(uint64_t address);

/* Returns the interpreter's module. The rules of mv_module_at apply (python_frames.c). */
const mv_module *mv_python_module(void);
