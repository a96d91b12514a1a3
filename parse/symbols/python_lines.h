/* Maps the instructions of a Python code object to source lines, using the code object's line table
 * in a capture (capture/wire_live.h, CODE).
 *
 *     Python        table          form
 *     3.8, 3.9      co_lnotab      pairs: bytes of code, signed line differences
 *     3.10          co_linetable   pairs: bytes of code, signed lines; -128: code without a line
 *     3.11 and up   co_linetable   entries of 1 to 8 code units, lines in one of 16 forms
 *
 * Source: Objects/lnotab_notes.txt of CPython 3.8 to 3.10, Objects/locations.md of 3.11 to 3.12,
 * InternalDocs/code_objects.md of 3.13 and 3.14, PyCode_Addr2Line of each. */
#pragma once

#include "base/cursor.h"

typedef struct {
    uint32_t version;   /* version of the interpreter, major << 8 | minor */
    int32_t first_line; /* co_firstlineno */
    mv_span table;      /* the line table; untrusted */
} mv_python_lines;

/* Finds the lines of `count` instructions in one pass over the table. The lines are those that the
 * interpreter's own tracebacks show. `offsets` count bytes from the beginning of the bytecode, in
 * ascending order; equal neighbours are allowed. lines[i] is MV_NO_LINE (parse/model/trace.h) if
 * the instruction has no line, or if the table ends before it. Returns false if the table is
 * damaged, or if the version uses none of the forms above; lines before the damage are correct, and
 * all others are MV_NO_LINE. */
bool mv_python_lines_find(const mv_python_lines *code, const uint32_t *offsets, uint64_t count,
                          int64_t *lines);
