#include "capture/stacks/python_layout.h"

#include <stddef.h>
#include <string.h>

/* Sources, at each version's tag in CPython's repository:
 *     thread_*   struct _ts             Include/cpython/pystate.h
 *     cframe_*   _PyCFrame, CFrame      Include/cpython/pystate.h
 *     frame_*    struct _frame          Include/frameobject.h, Include/cpython/frameobject.h
 *                _PyInterpreterFrame    Include/internal/pycore_frame.h
 *     code_*     PyCodeObject           Include/code.h, Include/cpython/code.h
 *     *_bytes    PyASCIIObject ...      Include/cpython/unicodeobject.h
 *     code_basic PyCode_Type            Objects/codeobject.c
 * scripts/python-offsets prints these rows from installed headers. */
/* Fields common to 3.8 to 3.10. */
#define FRAME_OBJECTS                                                                         \
    .chain = MV_PYTHON_FRAME_OBJECTS, .thread_id = 176, .thread_frame = 24, .frame_back = 24, \
    .frame_code = 32, .code_line = 40, .code_bytes = 48, .code_file = 104, .code_name = 112,  \
    .code_table = 120, .code_basic = 176, .ascii_bytes = 48, .compact_bytes = 72

static const mv_python_layout fixed[] = {
    {.version = 0x308, FRAME_OBJECTS, .frame_instr = 104, .lasti_unit = 1},
    {.version = 0x309, FRAME_OBJECTS, .frame_instr = 104, .lasti_unit = 1},
    {.version = 0x30a, FRAME_OBJECTS, .frame_instr = 96, .lasti_unit = 2},
    {.version = 0x30b,
     .chain = MV_PYTHON_CFRAMES,
     .thread_id = 152,
     .thread_frame = 56,
     .cframe_frame = 8,
     .frame_back = 48,
     .frame_code = 32,
     .frame_instr = 56,
     .frame_owner = 69,
     .first_shim = MV_PYTHON_NO_OWNER,
     .code_line = 72,
     .code_file = 112,
     .code_name = 128,
     .code_table = 136,
     .code_traceable = 168,
     .code_bytes = 184,
     .code_basic = 184,
     .ascii_bytes = 48,
     .compact_bytes = 72},
    {.version = 0x30c,
     .chain = MV_PYTHON_CFRAMES,
     .thread_id = 136,
     .thread_frame = 56,
     .cframe_frame = 0,
     .frame_back = 8,
     .frame_code = 0,
     .frame_instr = 56,
     .frame_owner = 70,
     .first_shim = 3,
     .code_line = 68,
     .code_version = 92,
     .code_file = 112,
     .code_name = 128,
     .code_table = 136,
     .code_traceable = 176,
     .code_bytes = 192,
     .code_basic = 192,
     .ascii_bytes = 40,
     .compact_bytes = 56},
};

/* Positions of the parts of _Py_DebugOffsets. Each part begins with the size of its object; newer
 * versions add fields at its end. Source: Include/internal/pycore_runtime.h of 3.13,
 * Include/internal/pycore_debug_offsets.h of 3.14. */
typedef struct {
    uint32_t version;
    uint32_t thread, frame, code, object, type, bytes, text;
} published_parts;

static const published_parts published[] = {
    {.version = 0x30d,
     .thread = 152,
     .frame = 224,
     .code = 272,
     .object = 352,
     .type = 368,
     .bytes = 512,
     .text = 536},
    {.version = 0x30e,
     .thread = 176,
     .frame = 248,
     .code = 312,
     .object = 400,
     .type = 416,
     .bytes = 592,
     .text = 616},
};

/* Fields of the parts, counted in words of 8 bytes from the start of the part. */
enum { SIZE };
enum { THREAD_CURRENT_FRAME = 4, THREAD_ID };
enum { FRAME_PREVIOUS = 1, FRAME_EXECUTABLE, FRAME_INSTR, FRAME_OWNER = 5 };
enum { CODE_FILENAME = 1, CODE_QUALNAME = 3, CODE_LINETABLE, CODE_FIRSTLINENO, CODE_ADAPTIVE = 9 };
enum { OBJECT_TYPE = 1 };
enum { TYPE_NAME = 1 };
enum { BYTES_SIZE = 1, BYTES_DATA };
enum { TEXT_STATE = 1, TEXT_LENGTH, TEXT_ASCII_SIZE };
enum { MOST_OFFSET = 4096 };

/* Reads a word of _Py_DebugOffsets. A value that is too large for an offset becomes UINT32_MAX. */
static uint32_t word(const void *runtime, uint32_t part, uint32_t field)
{
    uint64_t value;

    memcpy(&value, (const char *)runtime + part + field * 8, sizeof value);
    return value < MOST_OFFSET ? (uint32_t)value : UINT32_MAX;
}

/* Sets fields that are at fixed distances from published fields, according to the headers named
 * above: co_version comes five ints after co_firstlineno; _co_firsttraceable comes before co_extra
 * (and co_tlbc) and the bytecode. Owners: FRAME_OWNED_BY_CSTACK in 3.13, FRAME_OWNED_BY_INTERPRETER
 * in 3.14. */
static void derive(mv_python_layout *l)
{
    l->code_version = l->code_line + 24;
    l->code_traceable = l->code_bytes - (l->is_free_threaded && l->version >= 0x30e ? 24 : 16);
    l->code_basic = l->code_bytes;
    l->compact_bytes = l->ascii_bytes + 16;
    l->first_shim = 3;
    l->code_mask = l->version >= 0x30e ? ~(uint64_t)7 : UINT64_MAX;
    l->kind_shift = l->is_free_threaded && l->version >= 0x30e ? 8 : 2;
}

/* Checks the assumptions of the header's functions and derive(), so that an unexpected struct is
 * refused. */
static bool is_plausible(const mv_python_layout *l, const void *runtime, const published_parts *at)
{
    const uint32_t offsets[] = {l->thread_id,   l->thread_frame, l->frame_back, l->frame_code,
                                l->frame_instr, l->frame_owner,  l->code_line,  l->code_file,
                                l->code_name,   l->code_table,   l->code_bytes, l->object_type};

    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++)
        if (offsets[i] == UINT32_MAX)
            return false;
    return l->header == (l->is_free_threaded ? 32 : 16) && l->object_type == l->header - 8 &&
           word(runtime, at->type, TYPE_NAME) == l->header + 8 &&
           word(runtime, at->bytes, BYTES_SIZE) == mv_python_item_count(l) &&
           word(runtime, at->bytes, BYTES_DATA) == mv_python_bytes_data(l) &&
           word(runtime, at->text, TEXT_STATE) == mv_python_text_state(l) &&
           word(runtime, at->text, TEXT_LENGTH) == mv_python_item_count(l) &&
           l->ascii_bytes == l->header + 24 && l->code_bytes > l->code_table + 24 &&
           word(runtime, at->code, SIZE) == l->code_bytes + 8;
}

static bool read_published(const published_parts *at, const void *runtime, mv_python_layout *out,
                           const char **why)
{
    uint64_t free_threaded, hex;

    memcpy(&hex, (const char *)runtime + 8, sizeof hex);
    memcpy(&free_threaded, (const char *)runtime + 16, sizeof free_threaded);
    *out = (mv_python_layout){
        .version = at->version,
        .chain = MV_PYTHON_FRAMES,
        .is_free_threaded = free_threaded != 0,
        .thread_id = word(runtime, at->thread, THREAD_ID),
        .thread_frame = word(runtime, at->thread, THREAD_CURRENT_FRAME),
        .frame_back = word(runtime, at->frame, FRAME_PREVIOUS),
        .frame_code = word(runtime, at->frame, FRAME_EXECUTABLE),
        .frame_instr = word(runtime, at->frame, FRAME_INSTR),
        .frame_owner = word(runtime, at->frame, FRAME_OWNER),
        .code_line = word(runtime, at->code, CODE_FIRSTLINENO),
        .code_file = word(runtime, at->code, CODE_FILENAME),
        .code_name = word(runtime, at->code, CODE_QUALNAME),
        .code_table = word(runtime, at->code, CODE_LINETABLE),
        .code_bytes = word(runtime, at->code, CODE_ADAPTIVE),
        .header = word(runtime, at->object, SIZE),
        .object_type = word(runtime, at->object, OBJECT_TYPE),
        .ascii_bytes = word(runtime, at->text, TEXT_ASCII_SIZE),
    };
    derive(out);
    *why = "the interpreter's debug offsets are not as expected";
    return memcmp(runtime, "xdebugpy", 8) == 0 && hex >> 16 == at->version &&
           is_plausible(out, runtime, at);
}

bool mv_python_layout_find(uint32_t version, const void *runtime, mv_python_layout *out,
                           const char **why)
{
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (fixed[i].version == version) {
            *out = fixed[i];
            out->code_mask = UINT64_MAX;
            out->header = 16;
            out->object_type = 8;
            out->kind_shift = 2;
            return true;
        }
    for (size_t i = 0; runtime && i < sizeof published / sizeof *published; i++)
        if (published[i].version == version)
            return read_published(&published[i], runtime, out, why);
    *why = "this version's layout is not known";
    return false;
}
