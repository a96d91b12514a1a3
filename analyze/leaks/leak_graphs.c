#include "analyze/leaks/leak_graphs.h"
#include "base/sort.h"

#include "analyze/leaks/leak_kind.h"

typedef struct {
    const mv_trace *trace;
    const uint8_t *kinds; /* kind of each frame */
} graphs;

/* The frames that all blocks of a graph have in common: the caller of the modules, and the frames
 * outside the caller. For a block that this caller allocated without a module (a loss), the whole
 * stack is common. */
typedef struct {
    const mv_frame_id *frames;
    uint32_t count;
    mv_leak leak;
} graph_part;

static graph_part graph_part_of(const graphs *g, const mv_leak *leak)
{
    uint32_t count, from;
    const mv_frame_id *frames = mv_stack_frames(g->trace, leak->stack, &count);

    from = mv_graph_owner(g->trace, g->kinds, leak->stack);
    if (from == count)
        for (from = 0; from < count && g->kinds[frames[from].row] != MV_FRAME_USER;)
            from++;
    return (graph_part){from < count ? frames + from : NULL, count - from, *leak};
}

static int by_frames(const graph_part *a, const graph_part *b)
{
    uint32_t count = a->count < b->count ? a->count : b->count;

    for (uint32_t i = 0; i < count; i++)
        if (a->frames[i].row != b->frames[i].row)
            return a->frames[i].row < b->frames[i].row ? -1 : 1;
    return (a->count > b->count) - (a->count < b->count);
}

/* Sorts the parts of one graph next to each other. Within a graph, parts with the graph's kind come
 * first, then parts with more bytes. */
static int by_graph(const void *left, const void *right, const void *context)
{
    const graph_part *a = left, *b = right;
    int order = by_frames(a, b);

    (void)context;
    if (order != 0)
        return order;
    if (mv_leak_is_graph(a->leak.kind) != mv_leak_is_graph(b->leak.kind))
        return mv_leak_is_graph(a->leak.kind) ? -1 : 1;
    return mv_leak_order(&a->leak, &b->leak);
}

static void join(mv_leak *graph, const mv_leak *part, uint32_t *joined)
{
    joined[part->found] = graph->found;
    graph->bytes += part->bytes;
    graph->blocks += part->blocks;
    graph->bytes_per_step += part->bytes_per_step;
    graph->lines += part->lines;
    if (part->first_event < graph->first_event)
        graph->first_event = part->first_event;
    if (part->last_event > graph->last_event)
        graph->last_event = part->last_event;
    if (part->confidence > graph->confidence)
        graph->confidence = part->confidence;
}

/* Whether a leak can be part of a graph. A leak with another known cause stays a separate entry. */
static bool joins_graph(const mv_leak *leak)
{
    return mv_leak_is_graph(leak->kind) || leak->kind == MV_LEAK_UNKNOWN ||
           leak->kind == MV_LEAK_LOSS;
}

bool mv_leak_graphs_join(mv_arena *scratch, const mv_trace *trace, const uint8_t *kinds,
                         uint32_t *joined, mv_leaks *out)
{
    const graphs g = {trace, kinds};
    graph_part *parts = mv_push_array(scratch, graph_part, out->count);
    mv_leak *graph = NULL;
    uint32_t count = 0;

    if (!parts)
        return false;
    for (uint32_t k = 0; k < out->count; k++)
        parts[k] = graph_part_of(&g, &out->leaks[k]);
    mv_sort_by(scratch, parts, out->count, sizeof *parts, by_graph, NULL);
    for (uint32_t k = 0; k < out->count; k++) {
        const graph_part *part = &parts[k];

        if (k == 0 || by_frames(part - 1, part) != 0)
            graph = NULL;
        if (graph && joins_graph(&part->leak)) {
            join(graph, &part->leak, joined);
            continue;
        }
        out->leaks[count] = part->leak;
        if (!graph && mv_leak_is_graph(part->leak.kind) && part->count > 0) {
            graph = &out->leaks[count];
            graph->culprit = part->frames[0];
        }
        count++;
    }
    out->count = count;
    return true;
}
