/* Converts frames of a live file to the model: line numbers for Python, symbols for native code. */
#include "base/grow.h"
#include "base/sort.h"
#include "parse/live/live_names.h"
#include "parse/symbols/python_lines.h"
#include "parse/symbols/symbols.h"

/* ---- lines and symbols ------------------------------------------------------------------- */

typedef struct {
    uint32_t code;
    uint32_t offset;
    uint32_t frame; /* id */
} python_place;

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

/* Finds the lines of the frames of one code object, which are sorted by offset. */
static bool resolve_code(mv_live_names *n, const python_place *places, uint32_t count,
                         uint32_t *offsets, int64_t *lines)
{
    mv_live_code *code = &n->codes[places[0].code];
    mv_python_lines table = {code->version, code->first_line, code->table};
    mv_frame_row row = MV_FRAME_ROW;

    for (uint32_t i = 0; i < count; i++) {
        offsets[i] = places[i].offset;
        lines[i] = MV_NO_LINE;
    }
    /* An empty table means that the table was too long to be recorded, so only the first line is
     * known. */
    if (code->table.length == 0)
        for (uint32_t i = 0; i < count; i++)
            lines[i] = code->first_line;
    else if (!mv_python_lines_find(&table, offsets, count, lines) && !code->is_damaged) {
        code->is_damaged = true;
        mv_live_names_damaged(n, "damaged line table");
    }
    row.function = string_of(n, code->name);
    row.file = string_of(n, code->file);
    for (uint32_t i = 0; i < count; i++) {
        row.line = lines[i];
        resolve_as(n, places[i].frame, &row);
    }
    return n->build->code == MV_OK;
}

static bool resolve_python(mv_live_names *n, mv_arena *scratch, uint32_t count)
{
    python_place *places = mv_push_array(scratch, python_place, count);
    uint32_t *offsets = mv_push_array(scratch, uint32_t, count);
    int64_t *lines = mv_push_array(scratch, int64_t, count);
    uint32_t at = 0;

    if (!places || !offsets || !lines)
        return false;
    for (uint32_t i = n->resolved_frames; i < n->made.frames; i++) {
        const mv_live_frame *f = &n->frames[i];
        if (f->kind == MV_LIVE_NAME_PYTHON && f->of != MV_NO_ROW)
            places[at++] =
                (python_place){f->of, f->offset < UINT32_MAX ? (uint32_t)f->offset : UINT32_MAX, i};
    }
    mv_sort_rows(scratch, places, at, MV_RISING(python_place, code),
                 MV_RISING(python_place, offset));
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

    for (uint32_t i = n->resolved_frames; i < n->made.frames; i++) {
        if (n->frames[i].kind != MV_LIVE_NAME_WORDS || n->frames[i].of == MV_NO_ROW)
            continue;
        row.function = string_of(n, n->frames[i].of);
        resolve_as(n, i, &row);
    }
    return n->build->code == MV_OK;
}

static const char *module_path(const mv_live_names *n, mv_arena *scratch, uint32_t module)
{
    mv_span text = {(const uint8_t *)"", 0};

    if (n->modules[module].path != MV_NO_ROW)
        text = n->strings[n->modules[module].path].text;
    return mv_arena_text(scratch, (const char *)text.data, text.length);
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

/* Adds the resolved symbols to the frames. */
static bool keep_symbols(mv_live_names *n, const uint32_t *ids, uint32_t count, const mv_symbols *s)
{
    uint64_t all = n->resolved_count + s->first[count];

    if (all >= MV_NO_ROW || !mv_room_for(n->arena, n->resolved, all, n->resolved_room))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        n->frames[ids[i]].first = (uint32_t)n->resolved_count;
        n->frames[ids[i]].count = s->first[i + 1] - s->first[i];
        for (uint32_t k = s->first[i]; k < s->first[i + 1]; k++) {
            mv_frame_row row = native_row(n, s, k);
            n->resolved[n->resolved_count++] = mv_build_frame(n->build, &row);
        }
    }
    for (uint32_t i = 0; i < n->made.modules; i++) {
        n->missing += s->is_missing[i] && !n->modules[i].is_missing;
        n->modules[i].is_missing = n->modules[i].is_missing || s->is_missing[i];
    }
    return n->build->code == MV_OK;
}

static bool resolve_native(mv_live_names *n, mv_arena *scratch, uint32_t count, mv_err *err)
{
    mv_symbol_module *modules = mv_push_array(scratch, mv_symbol_module, n->made.modules);
    mv_symbol_query *queries = mv_push_array(scratch, mv_symbol_query, count);
    uint32_t *ids = mv_push_array(scratch, uint32_t, count);
    mv_symbols symbols;
    uint32_t at = 0;

    if (!modules || !queries || !ids)
        return false;
    for (uint32_t i = 0; i < n->made.modules; i++) {
        modules[i] =
            (mv_symbol_module){module_path(n, scratch, i), n->modules[i].build_id, n->is_elsewhere};
        if (!modules[i].path)
            return false;
    }
    for (uint32_t i = n->resolved_frames; i < n->made.frames; i++) {
        if (n->frames[i].kind != MV_LIVE_NAME_NATIVE)
            continue;
        ids[at] = i;
        queries[at++] = (mv_symbol_query){n->frames[i].of, n->frames[i].offset};
    }
    if (mv_symbols_resolve(scratch, modules, n->made.modules, queries, count, &symbols, err) !=
        MV_OK)
        return false;
    return keep_symbols(n, ids, count, &symbols);
}

mv_code mv_live_names_resolve(mv_live_names *n, mv_err *err)
{
    uint32_t python = 0, native = 0, news = n->made.frames - n->resolved_frames;
    mv_arena scratch;
    bool fine;

    err->code = MV_OK;
    mv_arena_init(&scratch, n->arena->budget);
    for (uint32_t i = n->resolved_frames; i < n->made.frames; i++) {
        python += n->frames[i].kind == MV_LIVE_NAME_PYTHON;
        native += n->frames[i].kind == MV_LIVE_NAME_NATIVE;
    }
    fine = mv_room_for(n->arena, n->resolved, n->resolved_count + news, n->resolved_room) &&
           resolve_python(n, &scratch, python) && resolve_words(n) &&
           (native == 0 || resolve_native(n, &scratch, native, err));
    mv_arena_release(&scratch);
    if (fine)
        n->resolved_frames = n->made.frames;
    if (fine || err->code != MV_OK)
        return err->code;
    return mv_fail(err, n->build->code != MV_OK ? n->build->code : MV_NOMEM, MV_NO_OFFSET,
                   "%u frames", n->made.frames);
}
