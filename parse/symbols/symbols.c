#include "parse/symbols/symbols.h"

#include "parse/model/trace.h"
#include "parse/symbols/symbol_file.h"

#include "base/search.h"
#include "base/sort.h"
#include "base/text.h"

/* A query, for sorting by module and address. */
typedef struct {
    uint64_t address;
    uint32_t module, query;
} asked;

/* The answer to a query: a chain of frames, or a single frame for the symbol. */
typedef struct {
    const mv_symbol_frame *frames;
    const char *symbol;
} answer;

/* Returns an address inside the call instruction, which ends just before the return address. */
static uint64_t call_of(const asked *q)
{
    return q->address - (q->address > 0);
}

/* Answers the sorted queries [from, to), which refer to the same module. */
static mv_code ask(mv_arena *arena, const mv_symbol_module *module, const asked *from,
                   const asked *to, answer *answers, bool *is_missing, mv_err *err)
{
    uint32_t most = (uint32_t)(to - from), count = 0;
    uint64_t *address = mv_push_array(arena, uint64_t, most);
    mv_symbol_answers found = {
        .symbol = mv_push_array(arena, const char *, most),
        .frame = mv_push_array(arena, mv_symbol_frame *, most),
    };

    if (!address || !found.symbol || !found.frame)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "symbols of %.100s", module->path);
    for (const asked *q = from; q < to; q++)
        if (count == 0 || address[count - 1] != call_of(q))
            address[count++] = call_of(q);
    found.address = address;
    found.count = count;
    err->code = MV_OK;
    *is_missing = module->is_elsewhere || !mv_symbol_file_query(arena, module, &found, err);
    if (err->code != MV_OK)
        return err->code;
    for (const asked *q = from; q < to; q++) {
        uint64_t at = mv_lower_bound_u64(address, count, call_of(q));
        answers[q->query] = (answer){found.frame[at], found.symbol[at]};
    }
    return MV_OK;
}

/* Returns "libfoo.so+0x1234", or "0x1234" outside all modules. */
static const char *spell_address(mv_arena *arena, const mv_symbol_module *module, uint64_t address)
{
    const char *name = module ? module->path : "";

    name = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
    return mv_arena_printf(arena, "%.255s%s0x%llx", name, module ? "+" : "",
                           (unsigned long long)address);
}

static uint32_t frames_of(const answer *a)
{
    uint32_t count = 0;

    for (const mv_symbol_frame *f = a->frames; f; f = f->outer)
        count++;
    return count ? count : 1;
}

/* Adds the rows of one query, starting at row `at`. */
static bool put_rows(mv_arena *arena, const mv_symbol_module *module, uint64_t address,
                     const answer *a, uint32_t at, mv_symbols *out)
{
    const mv_symbol_frame none = {.line = MV_NO_LINE};
    const mv_symbol_frame *f = a->frames ? a->frames : &none;

    for (; f; f = f->outer, at++) {
        const char *name = f->function;
        if (!name && !f->outer)
            name = a->symbol; /* functions written in assembly have no name in DWARF */
        if (!name)
            name = spell_address(arena, module, address);
        if (!name)
            return false;
        out->function[at] = name;
        out->file[at] = f->file ? f->file : module ? module->path : NULL;
        out->line[at] = f->file ? f->line : MV_NO_LINE;
    }
    return true;
}

static mv_code put_all(mv_arena *arena, const mv_symbol_module *modules, uint32_t module_count,
                       const mv_symbol_query *queries, uint32_t count, const answer *answers,
                       mv_symbols *out, mv_err *err)
{
    uint64_t rows = 0;

    out->first = mv_push_array(arena, uint32_t, (uint64_t)count + 1);
    for (uint32_t i = 0; out->first && i < count; i++) {
        out->first[i] = (uint32_t)rows;
        rows += frames_of(&answers[i]);
        if (rows > UINT32_MAX)
            return mv_fail(err, MV_LIMIT, MV_NO_OFFSET, "frames of native stacks");
    }
    out->function = mv_push_array(arena, const char *, rows);
    out->file = mv_push_array(arena, const char *, rows);
    out->line = mv_push_array(arena, int64_t, rows);
    if (!out->first || !out->function || !out->file || !out->line)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "frames of native stacks");
    out->first[count] = (uint32_t)rows;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = queries[i].module;
        if (!put_rows(arena, row < module_count ? &modules[row] : NULL, queries[i].address,
                      &answers[i], out->first[i], out))
            return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "frames of native stacks");
    }
    return MV_OK;
}

mv_code mv_symbols_resolve(mv_arena *arena, const mv_symbol_module *modules, uint32_t module_count,
                           const mv_symbol_query *queries, uint32_t count, mv_symbols *out,
                           mv_err *err)
{
    asked *order = mv_push_array(arena, asked, count);
    answer *answers = mv_push_array(arena, answer, count);
    uint32_t from = 0;

    *out = (mv_symbols){.is_missing = mv_push_array(arena, bool, module_count)};
    if (!order || !answers || !out->is_missing)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "symbols");
    for (uint32_t i = 0; i < count; i++)
        order[i] = (asked){queries[i].address, queries[i].module, i};
    mv_sort_rows(arena, order, count, MV_RISING(asked, module), MV_RISING(asked, address));
    while (from < count && order[from].module < module_count) {
        uint32_t to = from;
        while (to < count && order[to].module == order[from].module)
            to++;
        mv_code code = ask(arena, &modules[order[from].module], order + from, order + to, answers,
                           &out->is_missing[order[from].module], err);
        if (code != MV_OK)
            return code;
        out->missing += out->is_missing[order[from].module];
        from = to;
    }
    return put_all(arena, modules, module_count, queries, count, answers, out, err);
}
