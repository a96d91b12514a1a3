#include "viz/core/pytorch_lives.h"

#include "analyze/lives/address_ranks.h"

enum { BEFORE_BIT = 1u << 31 }; /* a number counts rows from before the first event */

typedef struct {
    mv_arena *arena;
    mv_arena scratch;
    const mv_trace *trace;
    mv_pytorch_view view;
    mv_lives *out;
    mv_address_ranks ranks;
    uint32_t *open;   /* [ranks] the number of the row that is open there, or MV_NO_ROW */
    uint32_t *before; /* for each row from before the first event, in order: the event of its free;
                         or, after `lone`, the place of its block or segment in the trace */
    uint32_t lone;    /* how many entries of `before` have a free */
    uint32_t before_count;
    uint32_t born;
} pairing;

static bool is_begin(const pairing *p, uint8_t action)
{
    return action == (p->view == MV_PYTORCH_SEGMENTS ? MV_ACTION_SEGMENT_ALLOC : MV_ACTION_ALLOC);
}

static bool is_end(const pairing *p, uint8_t action)
{
    return action ==
           (p->view == MV_PYTORCH_SEGMENTS ? MV_ACTION_SEGMENT_FREE : MV_ACTION_FREE_COMPLETED);
}

/* The event at which a free is shown: the first half, when both halves follow each other
 * directly. */
static uint32_t shown_free(const pairing *p, uint32_t event)
{
    const mv_events *ev = &p->out->events;
    bool has_half = event > 0 && ev->action[event] == MV_ACTION_FREE_COMPLETED &&
                    ev->action[event - 1] == MV_ACTION_FREE_REQUESTED;

    return has_half && ev->addr[event - 1] == ev->addr[event] ? event - 1 : event;
}

/* Numbers rows in order of appearance; alloc_of temporarily holds these numbers. */
static void pair_events(pairing *p)
{
    const mv_events *ev = &p->out->events;

    for (uint32_t e = 0; e < ev->count; e++) {
        uint32_t place = p->ranks.of_event[e];
        p->out->alloc_of[e] = MV_NO_ROW;
        if (place == MV_NO_ROW)
            continue;
        if (is_begin(p, ev->action[e])) {
            p->open[place] = p->out->alloc_of[e] = p->born++;
        } else if (is_end(p, ev->action[e])) {
            if (p->open[place] != MV_NO_ROW) {
                p->out->alloc_of[e] = p->open[place];
                p->open[place] = MV_NO_ROW;
            } else {
                p->out->alloc_of[e] = p->lone | BEFORE_BIT;
                p->before[p->lone++] = shown_free(p, e);
            }
        }
    }
    p->before_count = p->lone;
}

static bool is_open(const pairing *p, uint64_t addr)
{
    uint32_t place = mv_address_rank(&p->ranks, addr);
    return place < p->ranks.count && p->ranks.addr[place] == addr && p->open[place] != MV_NO_ROW;
}

/* Adds the blocks of the final heap that no event names. */
static void add_final(pairing *p, uint32_t segment)
{
    const mv_segments *s = &p->trace->segments;
    const mv_blocks *b = &p->trace->blocks;

    if (s->device[segment] != (int64_t)p->out->device)
        return;
    if (p->view == MV_PYTORCH_SEGMENTS) {
        if (!is_open(p, s->address[segment]))
            p->before[p->before_count++] = segment;
        return;
    }
    for (uint32_t i = s->first_block[segment]; i < s->first_block[segment] + s->blocks[segment];
         i++)
        if (b->state[i] == MV_BLOCK_ALLOCATED && !is_open(p, b->address[i]))
            p->before[p->before_count++] = i;
}

static bool make_columns(pairing *p)
{
    mv_alloc_lives *a = &p->out->allocs;
    uint64_t rows = (uint64_t)p->before_count + p->born;

    a->count = (uint32_t)rows;
    a->preexisting = p->before_count;
    a->addr = mv_push_array(p->arena, uint64_t, rows);
    a->requested = mv_push_array(p->arena, uint64_t, rows);
    a->stack = mv_push_array(p->arena, mv_stack_id, rows);
    a->birth = mv_push_array(p->arena, uint32_t, rows);
    a->completed = mv_push_array(p->arena, uint32_t, rows);
    a->segment = mv_push_array(p->arena, uint32_t, rows);
    a->inexact = mv_push_array(p->arena, uint8_t, rows);
    a->block = a->requested;
    a->freed = a->completed;
    for (uint32_t r = 0; a->segment && r < rows; r++)
        a->segment[r] = MV_NO_ROW;
    return a->addr && a->requested && a->stack && a->birth && a->completed && a->segment &&
           a->inexact;
}

static void set_row(pairing *p, uint32_t row, uint64_t addr, uint64_t bytes, mv_stack_id stack,
                    uint32_t birth)
{
    mv_alloc_lives *a = &p->out->allocs;

    a->addr[row] = addr;
    a->requested[row] = bytes;
    a->stack[row] = stack;
    a->birth[row] = birth;
    a->completed[row] = MV_NEVER;
}

static void fill_before(pairing *p)
{
    const mv_segments *s = &p->trace->segments;
    const mv_blocks *b = &p->trace->blocks;
    const mv_events *ev = &p->out->events;

    for (uint32_t i = 0; i < p->before_count; i++) {
        uint32_t row = p->before_count - 1 - i, at = p->before[i];
        if (i < p->lone)
            set_row(p, row, ev->addr[at], ev->size[at], MV_NO_STACK, MV_BEFORE);
        else if (p->view == MV_PYTORCH_SEGMENTS)
            set_row(p, row, s->address[at], s->total_size[at], MV_NO_STACK, MV_BEFORE);
        else
            set_row(p, row, b->address[at], mv_block_requested(p->trace, at),
                    mv_block_stack(p->trace, at), MV_BEFORE);
    }
}

/* Writes rows into events, and final numbers into alloc_of. */
static void fill_events(pairing *p)
{
    const mv_events *ev = &p->out->events;

    for (uint32_t e = 0; e < ev->count; e++) {
        uint32_t *row = &p->out->alloc_of[e];
        if (*row == MV_NO_ROW)
            continue;
        if (*row & BEFORE_BIT)
            *row = p->before_count - 1 - (*row & ~BEFORE_BIT);
        else
            *row += p->before_count;
        if (is_begin(p, ev->action[e]))
            set_row(p, *row, ev->addr[e], ev->size[e], ev->stack[e], e);
        else
            p->out->allocs.completed[*row] = e;
    }
}

static mv_code no_memory(mv_err *err)
{
    return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "rows as in PyTorch's viewer");
}

static mv_code build(pairing *p, mv_err *err)
{
    const mv_segments *s = &p->trace->segments;
    uint64_t most = (uint64_t)p->out->events.count + p->trace->blocks.count + s->count;

    if (most >= BEFORE_BIT)
        return mv_fail(err, MV_LIMIT, MV_NO_OFFSET, "%u events", p->out->events.count);
    if (mv_address_ranks_find(&p->scratch, p->trace, p->out->device, &p->ranks, err) != MV_OK)
        return err->code;
    p->open = mv_push_array(&p->scratch, uint32_t, p->ranks.count);
    p->before = mv_push_array(&p->scratch, uint32_t, most);
    p->out->alloc_of = mv_push_array(p->arena, uint32_t, p->out->events.count);
    if (!p->open || !p->before || !p->out->alloc_of)
        return no_memory(err);
    for (uint32_t i = 0; i < p->ranks.count; i++)
        p->open[i] = MV_NO_ROW;
    pair_events(p);
    for (uint32_t i = 0; i < s->count; i++)
        add_final(p, i);
    if (!make_columns(p))
        return no_memory(err);
    fill_before(p);
    fill_events(p);
    return MV_OK;
}

mv_code mv_pytorch_lives(mv_arena *arena, const mv_trace *trace, uint32_t device,
                         mv_pytorch_view view, mv_lives *out, mv_err *err)
{
    pairing p = {.arena = arena, .trace = trace, .view = view, .out = out};
    mv_code code;

    *out = (mv_lives){.device = device,
                      .history_why = "rows as in PyTorch's viewer",
                      .events = mv_trace_events(trace, device)};
    mv_arena_init(&p.scratch, arena->budget);
    code = build(&p, err);
    mv_arena_release(&p.scratch);
    return code;
}
