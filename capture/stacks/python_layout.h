/* Offsets of the fields in CPython's objects, by version: thread states, frames, code objects,
 * strings.
 *
 *     thread state ─► frame ─► frame ─► ...          innermost first
 *                      │
 *                      └─► code object ─► file, name, line table
 *
 * The offsets are those of 64-bit builds on Linux. Python 3.8 to 3.12 are rows of a table
 * (python_layout.c names the source of each field). Python 3.13 and later publish their offsets in
 * _PyRuntime (_Py_DebugOffsets), and the table contains the position of each offset in that
 * struct. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* How frames are linked. */
typedef enum {
    MV_PYTHON_FRAME_OBJECTS, /* 3.8 to 3.10: PyFrameObject, f_lasti */
    MV_PYTHON_CFRAMES,       /* 3.11, 3.12: thread state -> _PyCFrame -> _PyInterpreterFrame */
    MV_PYTHON_FRAMES         /* since 3.13: thread state -> _PyInterpreterFrame */
} mv_python_chain;

enum { MV_PYTHON_NO_OWNER = 255 };

/* Offsets are in bytes from the beginning of the object. */
typedef struct {
    uint32_t version; /* major << 8 | minor */
    mv_python_chain chain;
    bool is_free_threaded; /* frames run copies of the bytecode, so there are no instruction
                            * offsets */

    uint32_t thread_id;    /* in a thread state: pthread_self() of the thread */
    uint32_t thread_frame; /* in a thread state: its innermost frame, or its _PyCFrame */
    uint32_t cframe_frame; /* in a _PyCFrame: the innermost frame */

    uint32_t frame_back;  /* in a frame: the caller's frame */
    uint32_t frame_code;  /* in a frame: the code object */
    uint32_t frame_instr; /* in a frame: f_lasti, an int, or a pointer to the instruction */
    uint32_t frame_owner; /* in a frame: a byte that tells who owns the frame; not in frame
                           * objects */
    uint8_t lasti_unit;   /* number of bytes of bytecode per unit of f_lasti: 1 or 2 */
    uint8_t first_shim;   /* frames with this owner or a higher one are not Python functions;
                           * MV_PYTHON_NO_OWNER: none */
    uint64_t code_mask;   /* removes tags from the pointer to the code object */

    uint32_t code_line;      /* co_firstlineno, an int */
    uint32_t code_file;      /* co_filename */
    uint32_t code_name;      /* co_qualname; co_name before 3.11 */
    uint32_t code_table;     /* co_lnotab or co_linetable */
    uint32_t code_version;   /* co_version, 4 bytes; 0: the field does not exist */
    uint32_t code_bytes;     /* the bytecode itself; before 3.11 a pointer to a bytes object */
    uint32_t code_traceable; /* _co_firsttraceable, an int; 0: the field does not exist */
    uint32_t code_basic;     /* PyCode_Type.tp_basicsize */

    uint32_t header;        /* sizeof(PyObject), for the functions below */
    uint32_t object_type;   /* ob_type */
    uint32_t ascii_bytes;   /* sizeof(PyASCIIObject): offset of the characters of an ASCII string */
    uint32_t compact_bytes; /* sizeof(PyCompactUnicodeObject): offset of the characters of other
                             * strings */
    uint8_t kind_shift;     /* bit of `kind` in a string's state, before `compact` and `ascii` */
} mv_python_layout;

/* Finds the layout of `version`. `runtime` is the address of _PyRuntime, which is needed since
 * 3.13; at least 1 KiB must be readable there. Returns false, with the reason in `why`, if the
 * version is unknown or the interpreter's published data cannot be correct. */
bool mv_python_layout_find(uint32_t version, const void *runtime, mv_python_layout *out,
                           const char **why);

/* Offsets that follow from the object header in every version. */
static inline uint32_t mv_python_item_count(const mv_python_layout *l)
{
    return l->header; /* ob_size of a bytes or code object; length of a string */
}

static inline uint32_t mv_python_bytes_data(const mv_python_layout *l)
{
    return l->header + 16; /* ob_sval, after ob_size and ob_shash */
}

static inline uint32_t mv_python_text_state(const mv_python_layout *l)
{
    return l->header + 16; /* after length and hash */
}

static inline uint32_t mv_python_type_basic(const mv_python_layout *l)
{
    return l->header + 16; /* tp_basicsize, after ob_size and tp_name */
}
