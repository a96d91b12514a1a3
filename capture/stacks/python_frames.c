/* Reads the calling thread's Python frames directly from memory, without the GIL and without
 * reference counts. Only two functions of the interpreter are called. One of them returns the
 * address of the thread state, which belongs to the thread even while the thread does not hold the
 * GIL. The other one returns whether the interpreter still exists.
 *
 * Reading is safe because only this thread changes its own chain of frames, and a running frame
 * keeps its code object alive. The thread states of other threads are freed when the interpreter
 * ends; Py_IsInitialized is false before the first of them is freed. */
#include "capture/stacks/python_frames.h"
#include "capture/live/confined.h"

#include "capture/stacks/safe_read.h"

#include <pthread.h>
#include <string.h>

enum {
    CHECKED_WALKS = 16,  /* number of walks at the beginning that read each field with mv_peek */
    MOST_STRANGERS = 64, /* largest number of walks that find another thread's state, before the
                          * first good walk */
    MOST_BAD_WALKS = 4,  /* largest number of walks that find something other than a code object */
    MOST_STEPS = 4 * MV_LIVE_MOST_FRAMES, /* largest number of frames found, even if they are not
                                           * kept */
    OWNED_BY_GENERATOR = 1
};

/* State of the shim, which tells whether the layout can be trusted. */
static _Atomic uint32_t good_walks, bad_walks, strangers;

typedef struct {
    const mv_python_interp *python;
    bool is_checked; /* a compile-time constant at each call, because all of this is inlined */
} reader;

typedef enum { FRAME_KEPT, FRAME_PASSED, FRAME_BAD } frame_fate;

static inline __attribute__((always_inline)) bool load(reader r, uint64_t at, void *out,
                                                       size_t bytes)
{
    if (r.is_checked)
        return mv_peek(at, out, bytes);
    memcpy(out, (const void *)(uintptr_t)at, bytes);
    return true;
}

static inline __attribute__((always_inline)) bool load_word(reader r, uint64_t at, uint64_t *out)
{
    return load(r, at, out, sizeof *out);
}

static inline __attribute__((always_inline)) bool load_int(reader r, uint64_t at, int32_t *out)
{
    return load(r, at, out, sizeof *out);
}

static inline __attribute__((always_inline)) bool is_a(reader r, uint64_t object, uint64_t type)
{
    uint64_t found;
    return load_word(r, object + r.python->layout.object_type, &found) && found == type;
}

/* Hashes four words. Each word is multiplied by a different odd number, so the multiplications run
 * in parallel. */
static inline uint64_t mix(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    uint64_t sum = a * 0x9e3779b97f4a7c15u + b * 0xc2b2ae3d27d4eb4fu + c * 0x165667b19e3779f9u +
                   d * 0x27d4eb2f165667c5u;
    return sum ^ sum >> 29;
}

/* Computes the fingerprint of a code object. Up to 3.11, a code object has no unique number, so the
 * length and the first bytes of the line table are hashed too. Since 3.12 there is co_version,
 * which comes from a counter that only increases; 3.12 has one counter for the process, and later
 * versions have one for each (sub-)interpreter. co_version is 0 once the counter has overflowed. */
static inline __attribute__((always_inline)) bool fingerprint(reader r, uint64_t code,
                                                              uint64_t *out)
{
    const mv_python_layout *l = &r.python->layout;
    uint64_t file, name, table, at, size, sample[2] = {0};
    int32_t line, version = 0;

    if (!load_word(r, code + l->code_file, &file) || !load_word(r, code + l->code_name, &name) ||
        !load_word(r, code + l->code_table, &table) || !load_int(r, code + l->code_line, &line) ||
        (l->code_version && !load_int(r, code + l->code_version, &version)))
        return false;
    *out = mix((uint64_t)(uint32_t)line << 32 | (uint32_t)version, file, name, table);
    if (l->code_version)
        return true;
    at = table + mv_python_bytes_data(l);
    if (!load_word(r, table + mv_python_item_count(l), &size) ||
        !(size >= sizeof sample ? load(r, at, sample, sizeof sample) /* the size is constant, so
                                                                      * this is inlined */
                                : load(r, at, sample, (size_t)size)))
        return false;
    *out = mix(*out, size, sample[0], sample[1]);
    return true;
}

/* Reads a frame of 3.8 to 3.10. f_lasti is -1 until the first instruction. */
static inline __attribute__((always_inline)) frame_fate read_object(reader r, uint64_t frame,
                                                                    mv_python_frame *out)
{
    const mv_python_layout *l = &r.python->layout;
    int32_t lasti;

    if (!load_word(r, frame + l->frame_code, &out->code) || !is_a(r, out->code, r.python->code) ||
        !load_int(r, frame + l->frame_instr, &lasti))
        return FRAME_BAD;
    out->offset = lasti < 0 ? 0 : (uint32_t)lasti * l->lasti_unit;
    return FRAME_KEPT;
}

/* Returns true if the code is the interpreter's own code around a specialised class call. Such code
 * has one code object, with "__init__" as both its file and its name. */
static inline __attribute__((always_inline)) bool is_own_code(reader r, uint64_t code)
{
    const mv_python_layout *l = &r.python->layout;
    uint64_t file, name;

    return load_word(r, code + l->code_file, &file) && load_word(r, code + l->code_name, &name) &&
           file == name;
}

/* Reads a frame of 3.11 and later. As in CPython's tracebacks, the interpreter's own frames between
 * C and Python are skipped, and so are functions that have not reached their first traceable
 * instruction (_PyFrame_IsIncomplete). Since 3.13, a frame may run something other than a code
 * object. */
static inline __attribute__((always_inline)) frame_fate read_interpreter(reader r, uint64_t frame,
                                                                         mv_python_frame *out)
{
    const mv_python_layout *l = &r.python->layout;
    uint64_t at;
    int64_t done;
    int32_t traceable;
    uint8_t owner;

    if (!load(r, frame + l->frame_owner, &owner, 1))
        return FRAME_BAD;
    if (owner >= l->first_shim)
        return FRAME_PASSED;
    if (!load_word(r, frame + l->frame_code, &out->code))
        return FRAME_BAD;
    out->code &= l->code_mask;
    if (out->code == 0 || !is_a(r, out->code, r.python->code))
        return l->chain == MV_PYTHON_FRAMES && out->code ? FRAME_PASSED : FRAME_BAD;
    out->offset = 0;
    if (l->is_free_threaded && l->version >= 0x30e)
        return is_own_code(r, out->code) ? FRAME_PASSED : FRAME_KEPT; /* the frame runs a copy of
                                                                       * the code, so the line of
                                                                       * the definition is used */
    if (!load_word(r, frame + l->frame_instr, &at) ||
        !load_int(r, out->code + l->code_traceable, &traceable))
        return FRAME_BAD;
    done = (int64_t)(at - (out->code + l->code_bytes));
    if (owner != OWNED_BY_GENERATOR && done / 2 < traceable)
        return FRAME_PASSED;
    out->offset = done < 0 ? 0 : (uint32_t)done;
    return FRAME_KEPT;
}

/* Returns true if the frame's code looks like a code object. Called only until the layout is
 * trusted. */
static bool is_credible(reader r, const mv_python_frame *frame)
{
    const mv_python_layout *l = &r.python->layout;
    uint64_t file, name, table, bytecode = frame->code, count;
    int32_t line;

    if (!load_word(r, frame->code + l->code_file, &file) ||
        !load_word(r, frame->code + l->code_name, &name) ||
        !load_word(r, frame->code + l->code_table, &table) ||
        !load_int(r, frame->code + l->code_line, &line))
        return false;
    if (l->chain == MV_PYTHON_FRAME_OBJECTS &&
        !load_word(r, frame->code + l->code_bytes, &bytecode))
        return false;
    if (!load_word(r, bytecode + mv_python_item_count(l), &count))
        return false;
    if (l->chain != MV_PYTHON_FRAME_OBJECTS)
        count *= 2;
    return is_a(r, file, r.python->text) && is_a(r, name, r.python->text) &&
           is_a(r, table, r.python->bytes) && line >= 0 && frame->offset <= count;
}

/* Finds the thread's innermost frame. Returns false if the state does not belong to this thread. */
static inline __attribute__((always_inline)) bool first_frame(reader r, uint64_t thread,
                                                              uint64_t *frame)
{
    const mv_python_layout *l = &r.python->layout;
    uint64_t id;

    if (!load_word(r, thread + l->thread_id, &id) || id != (uint64_t)pthread_self() ||
        !load_word(r, thread + l->thread_frame, frame))
        return false;
    if (l->chain == MV_PYTHON_CFRAMES && *frame)
        return load_word(r, *frame + l->cframe_frame, frame);
    return true;
}

/* Walks the frames. Returns false if they are not a chain of frames. */
static inline __attribute__((always_inline)) bool
walk(reader r, uint64_t frame, mv_python_frame *frames, uint32_t most, uint32_t *count)
{
    const mv_python_layout *l = &r.python->layout;

    *count = 0;
    for (uint32_t steps = 0; frame && *count < most && steps < MOST_STEPS; steps++) {
        mv_python_frame *out = &frames[*count];
        frame_fate fate = l->chain == MV_PYTHON_FRAME_OBJECTS ? read_object(r, frame, out)
                                                              : read_interpreter(r, frame, out);
        if (fate == FRAME_BAD)
            return false;
        if (fate == FRAME_KEPT) {
            out->version = l->version;
            if (!fingerprint(r, out->code, &out->fingerprint) ||
                (r.is_checked && !is_credible(r, out)))
                return false;
            ++*count;
        }
        if (!load_word(r, frame + l->frame_back, &frame))
            return false;
    }
    return true;
}

static void note_bad_walk(void)
{
    if (atomic_fetch_add(&bad_walks, 1) + 1 >= MOST_BAD_WALKS)
        mv_python_interp_stop("frames are not laid out as expected");
}

static void note_stranger(void)
{
    if (atomic_load(&good_walks) == 0 && atomic_fetch_add(&strangers, 1) + 1 >= MOST_STRANGERS)
        mv_python_interp_stop("thread states are not laid out as expected");
}

static inline __attribute__((always_inline)) mv_python_outcome
walk_state(reader r, uint64_t thread, mv_python_frame *frames, uint32_t most, uint32_t *count)
{
    uint64_t frame;

    *count = 0;
    if (!first_frame(r, thread, &frame))
        return MV_PYTHON_STRANGER;
    if (walk(r, frame, frames, most, count))
        return MV_PYTHON_WALKED;
    *count = 0;
    return MV_PYTHON_UNEXPECTED;
}

mv_python_outcome mv_python_walk_state(const mv_python_interp *python, uint64_t thread,
                                       bool is_checked, mv_python_frame *frames, uint32_t most,
                                       uint32_t *count)
{
    if (is_checked)
        return walk_state((reader){python, true}, thread, frames, most, count);
    return walk_state((reader){python, false}, thread, frames, most, count);
}

bool mv_python_ready(void)
{
    return mv_python_interp_get() != NULL;
}

/* The first walks are checked, because the layout is trusted only after it has been confirmed. */
uint32_t mv_python_walk(mv_python_frame *frames, uint32_t most)
{
    const mv_python_interp *python = mv_python_interp_get();
    mv_python_outcome outcome;
    uint64_t thread;
    uint32_t count;
    bool is_checked;

    if (!python || !python->is_initialized())
        return 0;
    thread = (uint64_t)(uintptr_t)python->this_thread();
    if (!thread)
        return 0; /* the thread was made by C code, or the interpreter has ended */
    is_checked = atomic_load_explicit(&good_walks, memory_order_relaxed) < CHECKED_WALKS;
    if (is_checked && mv_is_confined())
        return 0; /* nothing can be read safely any more */
    outcome = mv_python_walk_state(python, thread, is_checked, frames, most, &count);
    if (outcome == MV_PYTHON_UNEXPECTED)
        note_bad_walk();
    else if (outcome == MV_PYTHON_STRANGER)
        note_stranger();
    else if (is_checked && count > 0)
        atomic_fetch_add(&good_walks, 1);
    return count;
}

/* ---- describing a code object ---- */

/* Writes a character as UTF-8. Lone surrogates, which stand for odd bytes in file names, are
 * encoded like other characters. */
static uint32_t put_utf8(uint32_t c, char *out)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 63));
        out[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | (c >> 18 & 7));
    out[1] = (char)(0x80 | (c >> 12 & 63));
    out[2] = (char)(0x80 | (c >> 6 & 63));
    out[3] = (char)(0x80 | (c & 63));
    return 4;
}

/* Writes `count` characters of `kind` bytes each as UTF-8, as many as fit. */
static bool convert(reader r, uint64_t data, uint64_t count, uint32_t kind, char *out, size_t size,
                    uint32_t *bytes)
{
    uint8_t chunk[256];
    uint64_t per_chunk = sizeof chunk / kind;

    *bytes = 0;
    for (uint64_t done = 0; done < count; done += per_chunk) {
        uint64_t now = count - done < per_chunk ? count - done : per_chunk;
        if (!load(r, data + done * kind, chunk, now * kind))
            return false;
        for (uint64_t i = 0; i < now; i++) {
            uint32_t c = 0;
            memcpy(&c, chunk + i * kind, kind);
            if (*bytes + 4 > size)
                return true;
            *bytes += put_utf8(c, out + *bytes);
        }
    }
    return true;
}

/* Returns true if the first and the last of `bytes` bytes are mapped. */
static bool is_there(reader r, uint64_t at, uint64_t bytes)
{
    char byte;
    return bytes == 0 || (load(r, at, &byte, 1) && load(r, at + bytes - 1, &byte, 1));
}

/* Reads a string object. ASCII strings are used in place. The interpreter may cache the UTF-8 form
 * of other strings, but this cache is not used, because another thread may be writing it at the
 * same time. */
static bool read_text(reader r, uint64_t object, char *room, size_t size, const char **text,
                      uint32_t *bytes)
{
    const mv_python_layout *l = &r.python->layout;
    uint64_t count;
    uint32_t state, kind;

    if (!is_a(r, object, r.python->text) ||
        !load_word(r, object + mv_python_item_count(l), &count) ||
        !load(r, object + mv_python_text_state(l), &state, sizeof state))
        return false;
    kind = state >> l->kind_shift & 7;
    if ((kind != 1 && kind != 2 && kind != 4) || !(state >> l->kind_shift & 8))
        return false;
    if (state >> l->kind_shift & 16) {
        count = count < MV_LIVE_MOST_TEXT ? count : MV_LIVE_MOST_TEXT;
        *text = (const char *)(uintptr_t)(object + l->ascii_bytes);
        *bytes = (uint32_t)count;
        return is_there(r, object + l->ascii_bytes, count);
    }
    *text = room;
    return convert(r, object + l->compact_bytes, count, kind, room, size, bytes);
}

static bool read_table(reader r, uint64_t object, mv_python_code *out)
{
    const mv_python_layout *l = &r.python->layout;
    uint64_t count, data = object + mv_python_bytes_data(l);

    if (!is_a(r, object, r.python->bytes) ||
        !load_word(r, object + mv_python_item_count(l), &count))
        return false;
    out->table = (const uint8_t *)(uintptr_t)data;
    out->table_bytes = count <= MV_LIVE_MOST_TABLE ? (uint32_t)count : 0;
    return is_there(r, data, out->table_bytes);
}

bool mv_python_describe_with(const mv_python_interp *python, const mv_python_frame *frame,
                             mv_python_code *out)
{
    const mv_python_layout *l = &python->layout;
    reader r = {python, true};
    uint64_t now, file, name, table;

    return is_a(r, frame->code, python->code) && fingerprint(r, frame->code, &now) &&
           now == frame->fingerprint && load_word(r, frame->code + l->code_file, &file) &&
           load_word(r, frame->code + l->code_name, &name) &&
           load_word(r, frame->code + l->code_table, &table) &&
           load_int(r, frame->code + l->code_line, &out->first_line) &&
           read_text(r, file, out->text[0], sizeof out->text[0], &out->file, &out->file_bytes) &&
           read_text(r, name, out->text[1], sizeof out->text[1], &out->name, &out->name_bytes) &&
           read_table(r, table, out);
}

bool mv_python_describe(const mv_python_frame *frame, mv_python_code *out)
{
    const mv_python_interp *python = mv_python_interp_get();
    return python && mv_python_describe_with(python, frame, out);
}

const char *mv_python_why_off(void)
{
    return mv_python_interp_why();
}

/* Finds the interpreter by its type of code objects, which every build contains. */
const mv_module *mv_python_module(void)
{
    const mv_python_interp *seen = mv_python_interp_seen();
    return seen ? mv_module_at(seen->code) : NULL;
}

const char *mv_python_version(void)
{
    const mv_python_interp *seen = mv_python_interp_seen();
    return seen ? seen->version : NULL;
}
