#include "parse/symbols/symbol_dwarf.h"

#include "base/search.h"
#include "parse/model/trace.h"
#include "parse/symbols/demangle.h"

#include <dwarf.h>
#include <string.h>

/* Hostile DWARF may nest without end, claim the same addresses repeatedly, or have an entry that is
 * its own sibling. */
enum {
    MOST_DEPTH = 128,
    MOST_INLINED = 64,
    MOST_STEPS = 1 << 28, /* limit of entries and ranges examined */
    SCOPES_PER_ADDRESS = 512,
    KEPT_TEXTS = 256
};

/* Copied texts of the file: every address of a function has the same name. */
typedef struct {
    const char *from, *copy;
} kept_text;

typedef struct {
    mv_arena *arena;
    mv_symbol_answers *answers;
    Dwarf_Die unit;
    Dwarf_Files *files; /* of the unit */
    size_t file_count;
    uint64_t steps;  /* remaining frames */
    uint64_t scopes; /* remaining ranges for addresses */
    bool has_room;
    kept_text names[KEPT_TEXTS], paths[KEPT_TEXTS];
} walk;

/* A copy of a text in the file; NULL for NULL. */
static const char *keep(walk *w, kept_text *kept, const char *from, bool is_name)
{
    kept_text *slot = &kept[(uintptr_t)from * 0x9e3779b97f4a7c15u >> 56];

    if (!from)
        return NULL;
    if (slot->from != from) {
        *slot = (kept_text){from, is_name ? mv_demangle(w->arena, from)
                                          : mv_arena_text(w->arena, from, strlen(from))};
        w->has_room = w->has_room && slot->copy;
    }
    return slot->copy;
}

/* Its linkage name, demangled, if it has one; else the name in the source. Either may be in the
 * declaration, or in the function of which this is an inlined instance. */
static const char *name_of(walk *w, Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    const char *name = NULL;

    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
        dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
        name = dwarf_formstring(&attribute);
    if (!name && dwarf_attr_integrate(die, DW_AT_name, &attribute))
        name = dwarf_formstring(&attribute);
    return keep(w, w->names, name, true);
}

static uint64_t number_of(Dwarf_Die *die, unsigned which)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;

    if (!dwarf_attr(die, which, &attribute) || dwarf_formudata(&attribute, &value) != 0)
        return 0;
    return value;
}

static const char *path_of(walk *w, uint64_t file)
{
    const char *path = NULL;

    if (w->files && file < w->file_count)
        path = dwarf_filesrc(w->files, file, NULL, NULL);
    return keep(w, w->paths, path, false);
}

static bool goes_on(const walk *w)
{
    return w->has_room && w->steps > 0 && w->scopes > 0;
}

static uint32_t inlined_in(const mv_symbol_frame *frame)
{
    uint32_t count = 0;

    for (; frame; frame = frame->outer)
        count++;
    return count;
}

/* A function, or one inlined into the function in which the address was last found. */
static void enter(walk *w, Dwarf_Die *die, uint64_t at, bool is_inlined)
{
    mv_symbol_frame *outer = is_inlined ? w->answers->frame[at] : NULL;
    mv_symbol_frame *frame;

    if ((is_inlined && !outer) || inlined_in(outer) > MOST_INLINED)
        return;
    frame = mv_push_struct(w->arena, mv_symbol_frame);
    if (!frame) {
        w->has_room = false;
        return;
    }
    if (outer) { /* its line is the call's line, which was replaced */
        uint64_t line = number_of(die, DW_AT_call_line);
        outer->file = path_of(w, number_of(die, DW_AT_call_file));
        outer->line = line && line <= INT32_MAX ? (int64_t)line : MV_NO_LINE;
    }
    *frame = (mv_symbol_frame){.outer = outer, .function = name_of(w, die), .line = MV_NO_LINE};
    w->answers->frame[at] = frame;
}

/* Counts the addresses in the ranges of `die`, and enters each if it is a function. */
static uint32_t cover(walk *w, Dwarf_Die *die, bool is_function, bool is_inlined)
{
    const mv_symbol_answers *a = w->answers;
    Dwarf_Addr base, start, end;
    ptrdiff_t offset = 0;
    uint32_t covered = 0;

    while (goes_on(w) && (offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
        uint64_t at = mv_lower_bound_u64(a->address, a->count, start);
        w->steps--;
        for (; at < a->count && a->address[at] < end && goes_on(w); at++) {
            covered++;
            w->scopes--;
            if (is_function)
                enter(w, die, at, is_inlined);
        }
    }
    return covered;
}

/* Examines the children of a DIE that may contain functions. Recursion is as deep as scopes
 * nest. */
// NOLINTNEXTLINE(misc-no-recursion)
static void walk_children(walk *w, Dwarf_Die *parent, unsigned depth)
{
    Dwarf_Die die;

    if (depth == MOST_DEPTH || !goes_on(w) || dwarf_child(parent, &die) != 0)
        return;
    do {
        bool is_inside = false;
        w->steps--;
        switch (dwarf_tag(&die)) {
        case DW_TAG_subprogram:
            is_inside = cover(w, &die, true, false) > 0;
            break;
        case DW_TAG_inlined_subroutine:
            is_inside = cover(w, &die, true, true) > 0;
            break;
        case DW_TAG_lexical_block:
            is_inside = cover(w, &die, false, false) > 0;
            break;
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_class_type:
        case DW_TAG_structure_type:
        case DW_TAG_union_type:
            is_inside = true;
            break;
        default:
            break;
        }
        if (is_inside)
            walk_children(w, &die, depth + 1);
    } while (goes_on(w) && dwarf_siblingof(&die, &die) == 0);
}

/* The innermost function of each address is at the line of the instruction. */
static void add_lines(walk *w)
{
    const mv_symbol_answers *a = w->answers;
    Dwarf_Addr base, start, end;
    ptrdiff_t offset = 0;

    while (goes_on(w) && (offset = dwarf_ranges(&w->unit, offset, &base, &start, &end)) > 0) {
        uint64_t at = mv_lower_bound_u64(a->address, a->count, start);
        w->steps--;
        for (; at < a->count && a->address[at] < end && goes_on(w); at++, w->scopes--) {
            Dwarf_Line *line = a->frame[at] ? dwarf_getsrc_die(&w->unit, a->address[at]) : NULL;
            int number;
            if (!line || dwarf_lineno(line, &number) != 0 || number <= 0)
                continue;
            a->frame[at]->line = number;
            a->frame[at]->file = keep(w, w->paths, dwarf_linesrc(line, NULL, NULL), false);
        }
    }
}

bool mv_symbol_dwarf_query(mv_arena *arena, Dwarf *dwarf, mv_symbol_answers *answers)
{
    walk w = {.arena = arena, .answers = answers, .steps = MOST_STEPS, .has_room = true};
    Dwarf_CU *unit = NULL;
    uint8_t type;

    w.scopes = (uint64_t)answers->count * SCOPES_PER_ADDRESS;
    while (goes_on(&w) && dwarf_get_units(dwarf, unit, &unit, NULL, &type, &w.unit, NULL) == 0) {
        if (type != DW_UT_compile || cover(&w, &w.unit, false, false) == 0)
            continue;
        if (dwarf_getsrcfiles(&w.unit, &w.files, &w.file_count) != 0)
            w.files = NULL;
        walk_children(&w, &w.unit, 0);
        add_lines(&w);
    }
    return w.has_room;
}
