#include "analyze/peak/grouping.h"

#include <stdio.h>

#include "analyze/code/culprit.h"
#include "analyze/code/libraries.h"
#include "analyze/code/open_range.h"
#include "analyze/lives/alive.h"
#include "analyze/peak/layers.h"
#include "base/sort.h"
#include "parse/model/build.h"

enum { LABEL = 512 };

static const char *const by_names[MV_BY_COUNT] = {
    "line", "metadata", "annotation", "forward", "compile", "fx", "layer", "library", "module"};

static const char *const no_names[MV_BY_COUNT] = {
    "(no stack)",     "(no metadata)", "(outside of annotations)",     "(no stack)",
    "(not compiled)", "(no fx node)",  "(not in a loop over modules)", "(blocks of an allocator)",
    "(no name)"};

const char *mv_group_by_name(mv_group_by by)
{
    return by_names[by < MV_BY_COUNT ? by : MV_BY_STACK];
}

typedef struct {
    mv_arena *arena, *scratch;
    const mv_trace *trace;
    const mv_lives *lives;
    const uint8_t *kinds;
    mv_grouping *out;
    mv_build forward; /* builds the frames, with files and lines, that forward_frames describes */
    mv_trace forward_trace;  /* the trace built by `forward` */
    const char **of_stack;   /* [stacks.count] names made so far; "": no name */
    const char **of_forward; /* [stacks.count] names made from forward_frames */
} group_search;

/* ---- names ------------------------------------------------------------------------------- */

/* An allocation with the name of its group; names are compared by content. */
typedef struct {
    const char *text; /* NULL: none */
    uint32_t alloc;
} named_alloc;

static const char *string_or_none(const mv_trace *trace, mv_string_id id)
{
    const char *text = mv_string_text(trace, id);

    return id.row == MV_NO_ROW || !*text ? NULL : text;
}

static const char *context_of(const group_search *g, uint32_t alloc)
{
    const char *text =
        string_or_none(g->trace, g->trace->tags.compile_context[mv_alloc_tag(g->lives, alloc).row]);

    return text && strcmp(text, "N/A") != 0 ? text : NULL;
}

/* Copies a label. Returns "" when out of memory, in which case number_groups fails as well. */
static const char *kept(const group_search *g, const char *label)
{
    const char *text = mv_arena_text(g->arena, label, strlen(label));

    return text ? text : "";
}

static const char *node_of(const group_search *g, mv_stack_id stack)
{
    const mv_fx *fx = &g->trace->fx;
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(g->trace, stack, &count);
    char label[LABEL];

    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = g->trace->frames.fx[frames[i].row];
        const char *name, *target;
        if (row == MV_NO_ROW)
            continue;
        name = string_or_none(g->trace, fx->name[row]);
        target = string_or_none(g->trace, fx->target[row]);
        snprintf(label, sizeof label, "%s%s%s%s", name ? name : "", name && target ? " (" : "",
                 target ? target : "", name && target ? ")" : "");
        return kept(g, label);
    }
    return "";
}

/* ---- the forward pass -------------------------------------------------------------------- */

static bool take_number(const char **at, int64_t *out)
{
    const char *c = *at;
    int64_t value = 0;

    for (; *c >= '0' && *c <= '9' && value < INT32_MAX; c++)
        value = value * 10 + (*c - '0');
    if (c == *at)
        return false;
    *at = c;
    *out = value;
    return true;
}

/* Reads a line such as `File "train.py", line 13, in mlp`, which is the format of
 * traceback.format_stack(). */
static bool read_line(mv_build *b, const char *text, mv_frame_row *row)
{
    const char *file = strstr(text, "File \""), *end, *at, *name;

    *row = MV_FRAME_ROW;
    if (!file)
        return false;
    file += strlen("File \"");
    end = strchr(file, '"');
    if (!end || strncmp(end, "\", line ", 8) != 0)
        return false;
    at = end + 8;
    if (!take_number(&at, &row->line) || strncmp(at, ", in ", 5) != 0)
        return false;
    name = at + 5;
    row->file = mv_build_string(b, file, (uint64_t)(end - file));
    row->function = mv_build_string(b, name, strcspn(name, "\n"));
    return true;
}

/* Converts the strings in forward_frames, with the innermost frame last, to a stack of frames;
 * MV_NO_STACK if none of the lines can be read. */
static mv_stack_id forward_stack(group_search *g, mv_stack_id id)
{
    uint32_t count, made_count = 0;
    const mv_frame_id *frames = mv_stack_frames(g->trace, id, &count);
    mv_frame_id *made = mv_push_array(g->scratch, mv_frame_id, count);
    mv_stack_id stack = MV_NO_STACK;

    for (uint32_t i = count; made && i-- > 0;) {
        mv_frame_row row;
        const char *text = mv_string_text(g->trace, g->trace->frames.function[frames[i].row]);
        if (read_line(&g->forward, text, &row))
            made[made_count++] = mv_build_frame(&g->forward, &row);
    }
    if (!made)
        g->forward.code = MV_NOMEM;
    else if (made_count > 0)
        stack = mv_build_stack(&g->forward, made, made_count);
    return stack;
}

static const char *blamed(const group_search *g, const mv_trace *trace, const uint8_t *kinds,
                          mv_stack_id stack)
{
    char label[LABEL];

    return kept(g, mv_culprit_label(trace, kinds, stack, label, sizeof label));
}

/* Returns the culprit of forward_frames; "" if none of the lines can be read. */
static const char *forward_line(group_search *g, mv_stack_id forward)
{
    mv_stack_id stack = forward_stack(g, forward);

    return stack.row == MV_NO_ROW ? "" : blamed(g, &g->forward_trace, NULL, stack);
}

/* Returns the library that called CUDA; "" for a block within memory that its allocator took from
 * CUDA. */
static const char *library_of(const group_search *g, mv_stack_id stack)
{
    const char *path = mv_calling_library(g->trace, stack);
    char name[MV_LIBRARY_NAME];

    return path ? kept(g, mv_library_name(path, name)) : "";
}

static const char *name_of_stack(const group_search *g, mv_stack_id stack)
{
    if (g->out->by == MV_BY_LIBRARY)
        return library_of(g, stack);
    return g->out->by == MV_BY_FX ? node_of(g, stack) : blamed(g, g->trace, g->kinds, stack);
}

/* Returns the name that an allocation's stack has as a group, which is made once per stack. */
static const char *text_of_stack(group_search *g, uint32_t alloc)
{
    mv_stack_id forward = g->trace->tags.forward[mv_alloc_tag(g->lives, alloc).row];
    mv_stack_id stack = g->lives->allocs.stack[alloc];
    const char **text;

    if (forward.row != MV_NO_ROW && g->out->by == MV_BY_FORWARD) {
        text = &g->of_forward[forward.row];
        if (!*text)
            *text = forward_line(g, forward);
        if (**text)
            return *text;
    }
    if (stack.row == MV_NO_ROW)
        return NULL;
    text = &g->of_stack[stack.row];
    if (!*text)
        *text = name_of_stack(g, stack);
    return **text ? *text : NULL;
}

/* ---- metadata and annotations ------------------------------------------------------------ */

/* Sets names from `annotate` events; if a block has several such events, the last one counts. */
static void name_annotated(const group_search *g, named_alloc *rows)
{
    const mv_events *ev = &g->lives->events;

    for (uint32_t i = 0; i < ev->count; i++) {
        uint32_t row = g->lives->alloc_of[i];
        const char *text;
        if (ev->action[i] != MV_ACTION_ANNOTATE || row == MV_NO_ROW)
            continue;
        text = string_or_none(g->trace, g->trace->tags.user_metadata[ev->tag[i].row]);
        if (text)
            rows[row].text = text;
    }
}

typedef struct {
    uint32_t moment; /* birth + 1, so that MV_BEFORE is 0 */
    uint32_t alloc;
} alloc_birth;

static bool name_ranges(const group_search *g, named_alloc *rows)
{
    uint32_t count = g->lives->allocs.count;
    alloc_birth *order = mv_push_array(g->scratch, alloc_birth, count);
    uint32_t *birth = mv_push_array(g->scratch, uint32_t, count);
    mv_string_id *within;

    if (!order || !birth)
        return false;
    for (uint32_t i = 0; i < count; i++)
        order[i] = (alloc_birth){g->lives->allocs.birth[i] + 1, i};
    mv_sort_rows(g->scratch, order, count, MV_RISING(alloc_birth, moment));
    for (uint32_t i = 0; i < count; i++)
        birth[i] = order[i].moment - 1;
    within = mv_within_find(g->scratch, g->trace, g->lives->device, birth, count);
    for (uint32_t i = 0; within && i < count; i++)
        rows[order[i].alloc].text = string_or_none(g->trace, within[i]);
    return within != NULL;
}

/* ---- layers ------------------------------------------------------------------------------ */

/* Writes a name such as "train.py:69 forward, call 3 of 12". The numbers are padded to equal width,
 * so that sorting by name results in the order of the calls. */
static const char *layer_name(const group_search *g, const mv_layer_loop *loop, uint32_t index)
{
    const char *name = loop->name ? mv_string_text(g->trace, loop->name[index]) : "";
    char line[LABEL], label[2 * LABEL + 48];
    int width = snprintf(NULL, 0, "%u", loop->count);

    snprintf(label, sizeof label, "%s, call %*u of %u%s%.*s",
             mv_frame_label(g->trace, loop->line, line, sizeof line), width, index + 1, loop->count,
             *name ? ": " : "", LABEL, name);
    return kept(g, label);
}

static bool name_layers(const group_search *g, named_alloc *rows)
{
    uint32_t *first, all = 0;
    const char **name;
    mv_categories categories;
    mv_layers layers;
    mv_err err = {0};

    if (mv_categories_find(g->scratch, g->trace, g->lives, g->kinds, NULL, &categories, &err) !=
            MV_OK ||
        mv_layers_find(g->scratch, g->trace, g->lives, &categories, &layers, &err) != MV_OK)
        return false;
    first = mv_push_array(g->scratch, uint32_t, layers.loop_count);
    for (uint32_t i = 0; first && i < layers.loop_count; i++) {
        first[i] = all;
        all += layers.loops[i].count;
    }
    name = mv_push_array(g->scratch, const char *, all);
    for (uint32_t i = 0; first && name && i < g->lives->allocs.count; i++) {
        const char **text;
        if (!layers.loop[i])
            continue;
        text = &name[first[layers.loop[i] - 1] + layers.index[i]];
        if (!*text)
            *text = layer_name(g, &layers.loops[layers.loop[i] - 1], layers.index[i]);
        rows[i].text = *text;
    }
    return first && name;
}

/* ---- modules ----------------------------------------------------------------------------- */

/* Returns "layers.7.up_proj" for "layers.7.up_proj.weight". */
static const char *module_of(const group_search *g, uint32_t tensor)
{
    const char *name = mv_string_text(g->trace, g->trace->tensors.name[tensor]);
    const char *dot = strrchr(name, '.');

    if (g->trace->tensors.role[tensor] == MV_TENSOR_NAMED || !dot)
        return kept(g, name);
    name = mv_arena_text(g->arena, name, (uint64_t)(dot - name));
    return name ? name : "";
}

static bool name_modules(const group_search *g, named_alloc *rows)
{
    mv_tensor_blocks tensors;
    mv_err err = {0};

    if (mv_tensor_blocks_find(g->scratch, g->trace, g->lives, &tensors, &err) != MV_OK)
        return false;
    for (uint32_t i = 0; i < g->lives->allocs.count; i++) {
        uint32_t largest = mv_tensor_largest(&tensors, i);
        if (largest != MV_NO_ROW)
            rows[i].text = module_of(g, tensors.row[largest]);
    }
    return true;
}

/* ---- groups ------------------------------------------------------------------------------ */

static bool name_all(group_search *g, named_alloc *rows)
{
    const mv_tags *tags = &g->trace->tags;

    for (uint32_t i = 0; i < g->lives->allocs.count; i++) {
        rows[i] = (named_alloc){.alloc = i};
        if (g->out->by == MV_BY_METADATA)
            rows[i].text =
                string_or_none(g->trace, tags->user_metadata[mv_alloc_tag(g->lives, i).row]);
        else if (g->out->by == MV_BY_COMPILE)
            rows[i].text = context_of(g, i);
        else if (g->out->by != MV_BY_ANNOTATION && g->out->by != MV_BY_LAYER &&
                 g->out->by != MV_BY_MODULE)
            rows[i].text = text_of_stack(g, i);
    }
    if (g->out->by == MV_BY_METADATA)
        name_annotated(g, rows);
    if (g->out->by == MV_BY_LAYER)
        return name_layers(g, rows);
    if (g->out->by == MV_BY_MODULE)
        return name_modules(g, rows);
    return g->out->by != MV_BY_ANNOTATION || name_ranges(g, rows);
}

static bool number_groups(group_search *g, named_alloc *rows)
{
    mv_grouping *out = g->out;
    uint32_t count = g->lives->allocs.count;

    mv_sort_rows(g->scratch, rows, count, MV_RISING(named_alloc, text),
                 MV_RISING(named_alloc, alloc));
    out->count = 1;
    for (uint32_t i = 0; i < count; i++)
        out->count += rows[i].text &&
                      (i == 0 || !rows[i - 1].text || strcmp(rows[i - 1].text, rows[i].text) != 0);
    out->name = mv_push_array(g->arena, const char *, out->count);
    out->stack = mv_push_array(g->arena, mv_stack_id, out->count);
    if (!out->name || !out->stack)
        return false;
    out->name[0] = no_names[out->by];
    for (uint32_t i = 0; i < out->count; i++)
        out->stack[i] = MV_NO_STACK;
    for (uint32_t i = 0, last = 0; i < count; i++) {
        if (rows[i].text && (last == 0 || strcmp(out->name[last], rows[i].text) != 0))
            out->name[++last] = rows[i].text;
        if (out->stack[rows[i].text ? last : 0].row == MV_NO_ROW)
            out->stack[rows[i].text ? last : 0] = g->lives->allocs.stack[rows[i].alloc];
        out->of_alloc[rows[i].alloc] = rows[i].text ? last : 0;
    }
    return true;
}

static bool group_all(group_search *g)
{
    uint32_t count = g->lives->allocs.count, stacks = g->trace->stacks.count;
    named_alloc *rows = mv_push_array(g->scratch, named_alloc, count);

    g->out->of_alloc = mv_push_array(g->arena, uint32_t, count);
    g->of_stack = mv_push_array(g->scratch, const char *, stacks);
    g->of_forward = mv_push_array(g->scratch, const char *, stacks);
    if (!rows || !g->out->of_alloc || !g->of_stack || !g->of_forward)
        return false;
    mv_build_init(&g->forward, g->scratch, &g->forward_trace);
    return name_all(g, rows) && g->forward.code == MV_OK && number_groups(g, rows);
}

mv_code mv_grouping_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const uint8_t *kinds, mv_group_by by, mv_grouping *out, mv_err *err)
{
    mv_arena scratch;
    group_search g = {.arena = arena,
                      .scratch = &scratch,
                      .trace = trace,
                      .lives = lives,
                      .kinds = kinds,
                      .out = out};
    bool is_done;

    *out = (mv_grouping){.by = by};
    mv_arena_init(&scratch, arena->budget);
    is_done = group_all(&g);
    mv_arena_release(&scratch);
    return is_done ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "groups of allocations");
}

/* ---- sums -------------------------------------------------------------------------------- */

mv_code mv_grouping_sum(mv_arena *arena, const mv_lives *lives, const mv_grouping *grouping,
                        uint32_t event, mv_group_rows *out, mv_err *err)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint32_t kept = 0;

    *out = (mv_group_rows){.rows = mv_push_array(arena, mv_group_row, grouping->count)};
    if (!out->rows)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%u groups", grouping->count);
    for (uint32_t i = 0; i < grouping->count; i++)
        out->rows[i] = (mv_group_row){.group = i};
    for (uint32_t i = 0; i < a->count; i++) {
        mv_group_row *row = &out->rows[grouping->of_alloc[i]];
        if (!mv_alloc_is_allocated(lives, i, event))
            continue;
        if (row->blocks++ == 0)
            row->stack = a->stack[i];
        row->bytes += a->block[i];
    }
    for (uint32_t i = 0; i < grouping->count; i++)
        if (out->rows[i].blocks > 0)
            out->rows[kept++] = out->rows[i];
    out->count = kept;
    mv_sort_rows(arena, out->rows, out->count, MV_FALLING(mv_group_row, bytes),
                 MV_RISING(mv_group_row, group));
    return MV_OK;
}
