#include "parse/live_names.h"

#include <stdlib.h>

#include "parse/python_lines.h"
#include "parse/symbols.h"
#include "parse/varint.h"

/* Calls that the compiler inlined are frames of their own. */
enum { MOST_FRAMES = 4 * MV_LIVE_MOST_FRAMES };

/* ---- tables ------------------------------------------------------------------------------ */

/* Makes rows up to `count`; new ones are zero, which is "lost". */
static bool make_rows(mv_live_names *n, void **rows, uint32_t *room, uint64_t count, uint64_t size)
{
    uint64_t next = (uint64_t)*room + *room / 2 + 1024;
    void *grown;

    if (count <= *room)
        return true;
    next = next < count ? count : next;
    if (next >= MV_NO_ROW)
        return false;
    grown = mv_arena_grow(n->arena, *rows, next * size);
    if (!grown)
        return false;
    *rows = grown;
    *room = (uint32_t)next;
    return true;
}

#define MAKE_ROWS(n, table, count) \
    make_rows(n, (void **)&(n)->table, &(n)->room.table, count, sizeof *(n)->table)

static bool make_all(mv_live_names *n, const mv_live_made *made)
{
    return MAKE_ROWS(n, strings, made->strings) && MAKE_ROWS(n, codes, made->codes) &&
           MAKE_ROWS(n, modules, made->modules) && MAKE_ROWS(n, frames, made->frames) &&
           MAKE_ROWS(n, stacks, made->stacks);
}

static void note_bad(mv_live_names *n, const char *what)
{
    n->bad = true;
    mv_build_note(n->build, MV_NOTE_DAMAGED, "names: %s", what);
}

static uint32_t known(mv_live_names *n, uint64_t id, uint32_t count, const char *what)
{
    if (id < count)
        return (uint32_t)id;
    note_bad(n, what);
    return MV_NO_ROW;
}

/* ---- records ----------------------------------------------------------------------------- */

static bool read_string(mv_live_names *n, mv_cursor *c)
{
    mv_live_string row = {.text = mv_take_text(c)};

    if (c->overrun)
        return true;
    if (!MAKE_ROWS(n, strings, (uint64_t)n->made.strings + 1))
        return false;
    n->strings[n->made.strings++] = row;
    return true;
}

static bool read_code(mv_live_names *n, mv_cursor *c)
{
    uint64_t file = mv_take_varint(c), name = mv_take_varint(c);
    uint64_t line = mv_take_varint(c), version = mv_take_varint(c);
    mv_live_code row = {.table = mv_take_text(c)};

    if (c->overrun)
        return true;
    row.file = known(n, file, n->made.strings, "code in an unknown file");
    row.name = known(n, name, n->made.strings, "code of an unknown name");
    row.first_line = line <= INT32_MAX ? (int32_t)line : 0;
    row.version = version <= UINT16_MAX ? (uint32_t)version : 0;
    if (!MAKE_ROWS(n, codes, (uint64_t)n->made.codes + 1))
        return false;
    n->codes[n->made.codes++] = row;
    return true;
}

static bool read_module(mv_live_names *n, mv_cursor *c)
{
    uint64_t path = mv_take_varint(c);
    mv_live_module row = {.build_id = mv_take_text(c)};

    row.bias = mv_take_varint(c);
    row.first = mv_take_varint(c);
    row.end = mv_take_varint(c);
    if (c->overrun)
        return true;
    row.path = known(n, path, n->made.strings, "module of an unknown path");
    if (!MAKE_ROWS(n, modules, (uint64_t)n->made.modules + 1))
        return false;
    n->modules[n->made.modules++] = row;
    return true;
}

static bool read_frame(mv_live_names *n, mv_cursor *c, mv_live_name kind)
{
    mv_live_frame row = {.kind = (uint8_t)kind};
    uint64_t of = mv_take_varint(c);

    row.offset = kind == MV_LIVE_NAME_WORDS ? 0 : mv_take_varint(c);
    if (c->overrun)
        return true;
    if (kind == MV_LIVE_NAME_PYTHON)
        row.of = known(n, of, n->made.codes, "frame of unknown code");
    else if (kind == MV_LIVE_NAME_WORDS)
        row.of = known(n, of, n->made.strings, "frame of an unknown text");
    else
        row.of = of ? known(n, of - 1, n->made.modules, "frame in an unknown module") : MV_NO_ROW;
    if (!MAKE_ROWS(n, frames, (uint64_t)n->made.frames + 1))
        return false;
    n->frames[n->made.frames++] = row;
    return true;
}

static bool read_stack(mv_live_names *n, mv_cursor *c)
{
    uint64_t caller = mv_take_varint(c), frame = mv_take_varint(c);
    mv_live_stack row = {.caller = MV_NO_ROW};

    if (c->overrun)
        return true;
    if (caller)
        row.caller = known(n, caller - 1, n->made.stacks, "stack of an unknown caller");
    row.frame = known(n, frame, n->made.frames, "stack of an unknown frame");
    if (!MAKE_ROWS(n, stacks, (uint64_t)n->made.stacks + 1))
        return false;
    n->stacks[n->made.stacks++] = row;
    return true;
}

/* One record; what the model has no place for, a thread's name, is passed over. */
static bool read_record(mv_live_names *n, mv_cursor *c)
{
    uint8_t kind = mv_take_u8(c);

    switch (kind) {
    case MV_LIVE_NAME_STRING:
        return read_string(n, c);
    case MV_LIVE_NAME_CODE:
        return read_code(n, c);
    case MV_LIVE_NAME_MODULE:
        return read_module(n, c);
    case MV_LIVE_NAME_PYTHON:
    case MV_LIVE_NAME_NATIVE:
    case MV_LIVE_NAME_WORDS:
        return read_frame(n, c, (mv_live_name)kind);
    case MV_LIVE_NAME_STACK:
        return read_stack(n, c);
    case MV_LIVE_NAME_THREAD:
        mv_take_varint(c);
        mv_take_varint(c);
        return true;
    default:
        c->overrun = true;
        return true;
    }
}

/* ---- chunks ------------------------------------------------------------------------------ */

static bool is_told(const mv_live_made *m)
{
    return (m->strings | m->codes | m->modules | m->frames | m->stacks) != 0;
}

static bool is_behind(const mv_live_made *told, const mv_live_made *made, uint64_t most)
{
    return told->strings >= made->strings && told->strings <= most && told->codes >= made->codes &&
           told->codes <= most && told->modules >= made->modules && told->modules <= most &&
           told->frames >= made->frames && told->frames <= most && told->stacks >= made->stacks &&
           told->stacks <= most;
}

/* Marks rows that stand in a lost chunk: their numbers are taken, their content is unknown. */
static void lose_rows(mv_live_names *n, const mv_live_made *told)
{
    for (; n->made.strings < told->strings; n->made.strings++)
        n->strings[n->made.strings] = (mv_live_string){.text = {(const uint8_t *)"", 0}};
    for (; n->made.codes < told->codes; n->made.codes++)
        n->codes[n->made.codes] = (mv_live_code){.file = MV_NO_ROW, .name = MV_NO_ROW};
    for (; n->made.modules < told->modules; n->made.modules++)
        n->modules[n->made.modules] = (mv_live_module){.path = MV_NO_ROW};
    for (; n->made.frames < told->frames; n->made.frames++)
        n->frames[n->made.frames] = (mv_live_frame){.of = MV_NO_ROW};
    for (; n->made.stacks < told->stacks; n->made.stacks++)
        n->stacks[n->made.stacks] = (mv_live_stack){.caller = MV_NO_ROW, .frame = MV_NO_ROW};
}

/* Brings the counts to what the chunk's header says. False in `*usable`: the ids that the chunk
 * makes cannot be known. */
static bool catch_up(mv_live_names *n, const mv_live_chunk *chunk, bool damaged, uint64_t most,
                     bool *usable)
{
    const mv_live_made *told = &chunk->made;

    *usable = is_told(told) ? is_behind(told, &n->made, most) : !damaged || !is_told(&n->made);
    if (!*usable) {
        mv_build_note(n->build, MV_NOTE_DAMAGED, "names at byte %llu: their numbers are lost",
                      (unsigned long long)chunk->at);
        return true;
    }
    if (!is_told(told))
        return true;
    if (!make_all(n, told))
        return false;
    lose_rows(n, told);
    return true;
}

static bool read_chunk(mv_live_names *n, const mv_live_chunk *chunk, bool *damaged, uint64_t most)
{
    mv_cursor c = mv_cursor_over(chunk->records);
    bool usable;

    if (!catch_up(n, chunk, *damaged, most, &usable))
        return false;
    while (usable && c.at < c.span.length && !c.overrun) {
        uint64_t at = c.at;
        if (!read_record(n, &c))
            return false;
        if (!c.overrun)
            continue;
        *damaged = true;
        mv_build_note(n->build, MV_NOTE_DAMAGED, "name at byte %llu",
                      (unsigned long long)(chunk->at + sizeof(mv_wire_chunk) +
                                           sizeof(mv_live_head) + at));
    }
    return true;
}

bool mv_live_names_read(mv_arena *arena, const mv_live_chunks *chunks, uint64_t most, mv_build *b,
                        mv_live_names *out)
{
    bool damaged = false;

    *out = (mv_live_names){.arena = arena, .build = b};
    for (uint32_t i = 0; i < chunks->count; i++) {
        const mv_live_chunk *chunk = &chunks->rows[i];
        if (chunk->kind != MV_LIVE_NAMES)
            continue;
        damaged = damaged || chunks->damaged_at < chunk->at;
        if (!read_chunk(out, chunk, &damaged, most))
            return false;
    }
    return true;
}

/* ---- lines and symbols ------------------------------------------------------------------- */

typedef struct {
    uint32_t code;
    uint32_t offset;
    uint32_t frame; /* id */
} python_place;

static int by_place(const void *a, const void *b)
{
    const python_place *x = a, *y = b;

    if (x->code != y->code)
        return x->code < y->code ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static mv_string_id string_of(mv_live_names *n, uint32_t id)
{
    return id == MV_NO_ROW ? MV_NO_STRING : mv_live_names_string(n, (uint64_t)id + 1);
}

static void resolve_as(mv_live_names *n, uint32_t frame, const mv_frame_row *row)
{
    n->frames[frame].first = (uint32_t)n->resolved_count;
    n->frames[frame].count = 1;
    n->resolved[n->resolved_count++] = mv_build_frame(n->build, row);
}

/* The frames of one code object, sorted by offset. */
static bool resolve_code(mv_live_names *n, const python_place *places, uint32_t count,
                         uint32_t *offsets, int64_t *lines)
{
    const mv_live_code *code = &n->codes[places[0].code];
    mv_python_lines table = {code->version, code->first_line, code->table};
    mv_frame_row row = MV_FRAME_ROW;

    for (uint32_t i = 0; i < count; i++) {
        offsets[i] = places[i].offset;
        lines[i] = MV_NO_LINE;
    }
    /* an empty table was too long to be kept: the first line is what there is */
    if (code->table.length == 0)
        for (uint32_t i = 0; i < count; i++)
            lines[i] = code->first_line;
    else if (!mv_python_lines_find(&table, offsets, count, lines))
        note_bad(n, "damaged line table");
    row.function = string_of(n, code->name);
    row.file = string_of(n, code->file);
    for (uint32_t i = 0; i < count; i++) {
        row.line = lines[i];
        resolve_as(n, places[i].frame, &row);
    }
    return n->build->code == MV_OK;
}

static bool resolve_python(mv_live_names *n, uint32_t count)
{
    python_place *places = mv_push_array(n->arena, python_place, count);
    uint32_t *offsets = mv_push_array(n->arena, uint32_t, count);
    int64_t *lines = mv_push_array(n->arena, int64_t, count);
    uint32_t at = 0;

    if (!places || !offsets || !lines)
        return false;
    for (uint32_t i = 0; i < n->made.frames; i++) {
        const mv_live_frame *f = &n->frames[i];
        if (f->kind == MV_LIVE_NAME_PYTHON && f->of != MV_NO_ROW)
            places[at++] = (python_place){
                f->of, f->offset < UINT32_MAX ? (uint32_t)f->offset : UINT32_MAX, i};
    }
    qsort(places, at, sizeof *places, by_place);
    for (uint32_t i = 0, end; i < at; i = end) {
        for (end = i + 1; end < at && places[end].code == places[i].code;)
            end++;
        if (!resolve_code(n, places + i, end - i, offsets, lines))
            return false;
    }
    return true;
}

static bool resolve_words(mv_live_names *n)
{
    mv_frame_row row = MV_FRAME_ROW;

    for (uint32_t i = 0; i < n->made.frames; i++) {
        if (n->frames[i].kind != MV_LIVE_NAME_WORDS || n->frames[i].of == MV_NO_ROW)
            continue;
        row.function = string_of(n, n->frames[i].of);
        resolve_as(n, i, &row);
    }
    return n->build->code == MV_OK;
}

static const char *module_path(mv_live_names *n, uint32_t module)
{
    mv_span text = {(const uint8_t *)"", 0};

    if (n->modules[module].path != MV_NO_ROW)
        text = n->strings[n->modules[module].path].text;
    return mv_arena_text(n->arena, (const char *)text.data, text.length);
}

static mv_frame_row native_row(mv_live_names *n, const mv_symbols *s, uint32_t at)
{
    mv_frame_row row = MV_FRAME_ROW;

    row.function = mv_build_string(n->build, s->function[at], strlen(s->function[at]));
    if (s->file[at])
        row.file = mv_build_string(n->build, s->file[at], strlen(s->file[at]));
    row.line = s->line[at];
    return row;
}

/* Puts the answers behind the frames that are resolved already. */
static bool keep_symbols(mv_live_names *n, const uint32_t *ids, uint32_t count, const mv_symbols *s)
{
    uint64_t all = n->resolved_count + s->first[count];
    mv_frame_id *grown = mv_arena_grow(n->arena, n->resolved, all * sizeof *grown + 1);

    if (!grown || all >= MV_NO_ROW)
        return false;
    n->resolved = grown;
    for (uint32_t i = 0; i < count; i++) {
        n->frames[ids[i]].first = (uint32_t)n->resolved_count;
        n->frames[ids[i]].count = s->first[i + 1] - s->first[i];
        for (uint32_t k = s->first[i]; k < s->first[i + 1]; k++) {
            mv_frame_row row = native_row(n, s, k);
            n->resolved[n->resolved_count++] = mv_build_frame(n->build, &row);
        }
    }
    n->missing = s->missing;
    return n->build->code == MV_OK;
}

static bool resolve_native(mv_live_names *n, uint32_t count, mv_err *err)
{
    mv_symbol_module *modules = mv_push_array(n->arena, mv_symbol_module, n->made.modules);
    mv_symbol_query *queries = mv_push_array(n->arena, mv_symbol_query, count);
    uint32_t *ids = mv_push_array(n->arena, uint32_t, count);
    mv_symbols symbols;
    uint32_t at = 0;

    if (!modules || !queries || !ids)
        return false;
    for (uint32_t i = 0; i < n->made.modules; i++) {
        modules[i] = (mv_symbol_module){module_path(n, i), n->modules[i].build_id};
        if (!modules[i].path)
            return false;
    }
    for (uint32_t i = 0; i < n->made.frames; i++) {
        if (n->frames[i].kind != MV_LIVE_NAME_NATIVE)
            continue;
        ids[at] = i;
        queries[at++] = (mv_symbol_query){n->frames[i].of, n->frames[i].offset};
    }
    if (mv_symbols_resolve(n->arena, modules, n->made.modules, queries, count, &symbols, err) !=
        MV_OK)
        return false;
    return keep_symbols(n, ids, count, &symbols);
}

mv_code mv_live_names_resolve(mv_live_names *n, mv_err *err)
{
    uint32_t count[MV_LIVE_NAME_WORDS + 1] = {0};
    bool fine;

    err->code = MV_OK;
    for (uint32_t i = 0; i < n->made.frames; i++)
        count[n->frames[i].kind]++;
    n->resolved = mv_arena_grow(n->arena, NULL, n->made.frames * sizeof *n->resolved + 1);
    fine = n->resolved && resolve_python(n, count[MV_LIVE_NAME_PYTHON]) && resolve_words(n) &&
           (count[MV_LIVE_NAME_NATIVE] == 0 ||
            resolve_native(n, count[MV_LIVE_NAME_NATIVE], err));
    if (fine || err->code != MV_OK)
        return err->code;
    return mv_fail(err, n->build->code != MV_OK ? n->build->code : MV_NOMEM, MV_NO_OFFSET,
                   "%u frames", n->made.frames);
}

/* ---- ids --------------------------------------------------------------------------------- */

mv_span mv_live_names_text(const mv_live_names *n, uint64_t id_and_1)
{
    if (id_and_1 == 0 || id_and_1 > n->made.strings)
        return (mv_span){(const uint8_t *)"", 0};
    return n->strings[id_and_1 - 1].text;
}

mv_string_id mv_live_names_string(mv_live_names *n, uint64_t id_and_1)
{
    mv_live_string *s;

    if (id_and_1 == 0)
        return MV_NO_STRING;
    if (id_and_1 > n->made.strings) {
        note_bad(n, "unknown text");
        return MV_NO_STRING;
    }
    s = &n->strings[id_and_1 - 1];
    if (s->string == 0)
        s->string = mv_build_string(n->build, (const char *)s->text.data, s->text.length).row + 1;
    return (mv_string_id){s->string - 1};
}

mv_stack_id mv_live_names_stack(mv_live_names *n, uint64_t id_and_1)
{
    mv_frame_id frames[MOST_FRAMES];
    uint32_t count = 0, depth = 0, id;

    if (id_and_1 == 0)
        return MV_NO_STACK;
    if (id_and_1 > n->made.stacks) {
        note_bad(n, "unknown stack");
        return MV_NO_STACK;
    }
    id = (uint32_t)id_and_1 - 1;
    if (n->stacks[id].stack)
        return (mv_stack_id){n->stacks[id].stack - 1};
    for (uint32_t at = id; at != MV_NO_ROW && depth++ < MV_LIVE_MOST_FRAMES;
         at = n->stacks[at].caller) {
        const mv_live_frame *f =
            n->stacks[at].frame == MV_NO_ROW ? NULL : &n->frames[n->stacks[at].frame];
        for (uint32_t k = 0; f && k < f->count && count < MOST_FRAMES; k++)
            frames[count++] = n->resolved[f->first + k];
    }
    n->stacks[id].stack = mv_build_stack(n->build, frames, count).row + 1;
    return (mv_stack_id){n->stacks[id].stack - 1};
}
