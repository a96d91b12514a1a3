#include "analyze/replay/replay_edit.h"

#include "base/grow.h"

typedef struct {
    mv_arena *arena;
    const mv_edit *edit;
    uint32_t known; /* ids below this number are rows of lives->allocs */
    uint32_t op_count, capacity;
    mv_replay_op *ops; /* operations that the edit produced */
    mv_replay_script *out;
    bool out_of_memory;
} edit_state;

static void add(edit_state *e, mv_replay_op op)
{
    if (!mv_append(e->arena, e->ops, e->op_count, e->capacity, op))
        e->out_of_memory = true;
}

static void add_of(edit_state *e, const mv_replay_op *op, mv_replay_op_kind kind, uint32_t id)
{
    mv_replay_op made = *op;

    made.kind = kind;
    made.id = id;
    add(e, made);
}

static bool has_id(const mv_replay_op *op)
{
    return op->kind <= MV_OP_COMPLETE;
}

static bool is_about(const edit_state *e, const mv_replay_op *op)
{
    return has_id(op) && op->id < e->known && e->edit->rows[op->id];
}

/* Copies the requested bytes of blocks from before the first event, so that they can be changed. */
static uint64_t *start_bytes(edit_state *e)
{
    mv_replay_script *s = e->out;
    uint32_t count = s->lives->allocs.preexisting;
    uint64_t *bytes = mv_push_array(e->arena, uint64_t, count);

    for (uint32_t i = 0; bytes && i < count; i++)
        bytes[i] = s->start_bytes ? s->start_bytes[i] : s->lives->allocs.requested[i];
    e->out_of_memory = e->out_of_memory || !bytes;
    return s->start_bytes = bytes;
}

static bool is_about_start(const edit_state *e)
{
    for (uint32_t i = 0; i < e->out->lives->allocs.preexisting; i++)
        if (e->edit->rows[i])
            return true;
    return false;
}

/* ---- sizes, pools ------------------------------------------------------------------------ */

static uint64_t scaled(const mv_edit *edit, uint64_t bytes)
{
    uint64_t whole = bytes / edit->denominator, rest = bytes % edit->denominator;

    if (edit->numerator && whole > MV_MOST_REQUEST / edit->numerator)
        return MV_MOST_REQUEST;
    return whole * edit->numerator +
           (rest * edit->numerator + edit->denominator - 1) / edit->denominator;
}

static void scale(edit_state *e)
{
    const mv_replay_script *s = e->out;
    uint64_t *bytes = is_about_start(e) ? start_bytes(e) : NULL;

    for (uint32_t i = 0; bytes && i < s->lives->allocs.preexisting; i++)
        if (e->edit->rows[i])
            bytes[i] = scaled(e->edit, bytes[i]);
    for (uint32_t i = 0; i < s->op_count; i++) {
        mv_replay_op op = s->ops[i];
        if (is_about(e, &op) && e->edit->numerator == 0)
            continue;
        if (is_about(e, &op) && op.kind == MV_OP_ALLOC)
            op.bytes = scaled(e->edit, op.bytes);
        add(e, op);
    }
}

/* Sets the requested bytes. Blocks from before the trace keep their sizes. */
static void resize(edit_state *e)
{
    for (uint32_t i = 0; i < e->out->op_count; i++) {
        mv_replay_op op = e->out->ops[i];
        if (op.kind == MV_OP_ALLOC && op.id < e->known)
            op.bytes = e->edit->sizes[op.id];
        add(e, op);
    }
}

static void set_apart(edit_state *e)
{
    for (uint32_t i = 0; i < e->out->op_count; i++) {
        mv_replay_op op = e->out->ops[i];
        if (is_about(e, &op))
            op.pool = e->out->trace->pools.count;
        add(e, op);
    }
}

/* ---- buffers ----------------------------------------------------------------------------- */

/* Returns the size of a section of a buffer. Like blocks, sections begin at multiples of 512
 * bytes. */
static uint64_t part_of(uint64_t bytes)
{
    return (bytes + MV_MIN_BLOCK - 1) / MV_MIN_BLOCK * MV_MIN_BLOCK;
}

/* Returns the most bytes that the rows occupy at once. */
static uint64_t most_at_once(edit_state *e)
{
    const mv_replay_script *s = e->out;
    uint64_t *bytes = mv_push_array(e->arena, uint64_t, e->known), now = 0, most;

    e->out_of_memory = e->out_of_memory || !bytes;
    for (uint32_t i = 0; bytes && i < s->lives->allocs.preexisting; i++)
        if (e->edit->rows[i])
            now += bytes[i] =
                part_of(s->start_bytes ? s->start_bytes[i] : s->lives->allocs.requested[i]);
    most = now;
    for (uint32_t i = 0; bytes && i < s->op_count; i++) {
        const mv_replay_op *op = &s->ops[i];
        if (!is_about(e, op))
            continue;
        if (op->kind == MV_OP_ALLOC)
            now += bytes[op->id] = part_of(op->bytes);
        if (op->kind == MV_OP_COMPLETE) {
            now -= bytes[op->id];
            bytes[op->id] = 0;
        }
        most = now > most ? now : most;
    }
    return most;
}

static void prealloc(edit_state *e)
{
    const mv_replay_script *s = e->out;
    uint64_t most = most_at_once(e);
    uint64_t *bytes = is_about_start(e) ? start_bytes(e) : NULL;
    bool is_made = false;

    for (uint32_t i = 0; bytes && i < s->lives->allocs.preexisting; i++)
        if (e->edit->rows[i]) {
            bytes[i] = is_made ? 0 : most;
            is_made = true;
        }
    for (uint32_t i = 0; i < s->op_count; i++) {
        mv_replay_op op = s->ops[i];
        if (!is_about(e, &op)) {
            add(e, op);
        } else if (op.kind == MV_OP_ALLOC && !is_made) {
            op.bytes = most;
            add_of(e, &op, MV_OP_ALLOC, e->out->ids++);
            is_made = true;
        }
    }
}

static void reserve(edit_state *e)
{
    const mv_replay_script *s = e->out;
    mv_replay_op op = {.bytes = e->edit->bytes, .stream = {MV_NO_ROW}};

    for (uint32_t i = 0; i < s->op_count; i++)
        if (s->ops[i].kind == MV_OP_ALLOC && s->ops[i].pool == MV_DEFAULT_POOL.row) {
            op.stream = s->ops[i].stream;
            break;
        }
    add_of(e, &op, MV_OP_ALLOC, e->out->ids);
    add_of(e, &op, MV_OP_COMPLETE, e->out->ids++);
    for (uint32_t i = 0; i < s->op_count; i++)
        add(e, s->ops[i]);
}

/* ---- streams, cache ---------------------------------------------------------------------- */

static void complete_early(edit_state *e, bool all)
{
    for (uint32_t i = 0; i < e->out->op_count; i++) {
        mv_replay_op op = e->out->ops[i];
        if (op.kind == MV_OP_FREE && (all || is_about(e, &op)))
            op.kind = MV_OP_COMPLETE;
        add(e, op);
    }
}

static void free_early(edit_state *e)
{
    complete_early(e, false);
}

static void join_streams(edit_state *e)
{
    complete_early(e, true);
    e->out->is_one_stream = true;
    if (e->out->lives->allocs.preexisting && e->out->trace->streams.count > 1)
        start_bytes(e);
}

static void empty_cache(edit_state *e)
{
    const mv_edit *edit = e->edit;
    uint32_t next = 0;

    for (uint32_t i = 0; i < e->out->op_count; i++) {
        for (; next < edit->at_count && edit->at[next] <= e->out->ops[i].event; next++)
            add(e, (mv_replay_op){.kind = MV_OP_EMPTY, .event = edit->at[next]});
        add(e, e->out->ops[i]);
    }
}

/* ---- blocks that leave and come back ----------------------------------------------------- */

/* Operations to insert, as a linked list for each position. */
typedef struct {
    uint32_t next; /* next insertion at this position; MV_NO_ROW: this is the last one */
    mv_replay_op op;
} late_op;

typedef struct {
    uint32_t count, capacity;
    late_op *rows;
    uint32_t *first, *last; /* [op_count + 1] */
} late_ops;

static void init_late(edit_state *e, late_ops *late)
{
    uint64_t count = (uint64_t)e->out->op_count + 1;

    *late = (late_ops){.first = mv_push_array(e->arena, uint32_t, count),
                       .last = mv_push_array(e->arena, uint32_t, count)};
    e->out_of_memory = e->out_of_memory || !late->first || !late->last;
    for (uint64_t i = 0; !e->out_of_memory && i < count; i++)
        late->first[i] = late->last[i] = MV_NO_ROW;
}

static void insert(edit_state *e, late_ops *late, uint32_t at, const mv_replay_op *op,
                   mv_replay_op_kind kind, uint32_t id)
{
    late_op row = {MV_NO_ROW, *op};

    row.op.kind = kind;
    row.op.id = id;
    row.op.event = at < e->out->op_count ? e->out->ops[at].event : op->event;
    if (!mv_append(e->arena, late->rows, late->count, late->capacity, row)) {
        e->out_of_memory = true;
        return;
    }
    if (late->last[at] == MV_NO_ROW)
        late->first[at] = late->count - 1;
    else
        late->rows[late->last[at]].next = late->count - 1;
    late->last[at] = late->count - 1;
}

/* Merges the inserted operations with the existing ones. Frees of a row become frees of
 * `is_now[row]`; if this is MV_NO_ROW, the frees are dropped. */
static void merge(edit_state *e, const late_ops *late, const uint32_t *is_now)
{
    for (uint32_t i = 0; i <= e->out->op_count && !e->out_of_memory; i++) {
        for (uint32_t at = late->first[i]; late->rows && at != MV_NO_ROW; at = late->rows[at].next)
            add(e, late->rows[at].op);
        if (i == e->out->op_count)
            break;
        mv_replay_op op = e->out->ops[i];
        if (op.id < e->known && (op.kind == MV_OP_FREE || op.kind == MV_OP_COMPLETE)) {
            if (is_now[op.id] == MV_NO_ROW)
                continue;
            op.id = is_now[op.id];
        }
        add(e, op);
    }
}

/* Bounds of runs of operations, which make lookups possible in constant time. */
typedef struct {
    uint32_t *start;      /* [op_count] start of the run of each operation; a run consists either
                           * of consecutive allocations or of consecutive other operations */
    uint32_t *next_alloc; /* [op_count] next allocation; op_count: there is none */
    uint32_t *failure;    /* [op_count + 1] failed request since the previous allocation;
                           * MV_NO_ROW: none */
} op_runs;

static void init_runs(edit_state *e, op_runs *runs)
{
    const mv_replay_script *s = e->out;
    uint32_t next = s->op_count;

    *runs = (op_runs){.start = mv_push_array(e->arena, uint32_t, s->op_count),
                      .next_alloc = mv_push_array(e->arena, uint32_t, s->op_count),
                      .failure = mv_push_array(e->arena, uint32_t, (uint64_t)s->op_count + 1)};
    e->out_of_memory = e->out_of_memory || !runs->start || !runs->next_alloc || !runs->failure;
    for (uint32_t i = 0, last = MV_NO_ROW; !e->out_of_memory && i <= s->op_count; i++) {
        runs->failure[i] = last;
        if (i < s->op_count && s->ops[i].kind == MV_OP_ALLOC)
            last = MV_NO_ROW;
        if (i < s->op_count && s->ops[i].kind == MV_OP_TRY)
            last = i;
    }
    for (uint32_t i = 1; !e->out_of_memory && i < s->op_count; i++)
        runs->start[i] = (s->ops[i].kind == MV_OP_ALLOC) == (s->ops[i - 1].kind == MV_OP_ALLOC)
                             ? runs->start[i - 1]
                             : i;
    for (uint32_t i = s->op_count; !e->out_of_memory && i-- > 0;) {
        runs->next_alloc[i] = next;
        next = s->ops[i].kind == MV_OP_ALLOC ? i : next;
    }
}

/* Finds where an operation of the program that frees a block begins. It begins with its
 * allocations, which follow the last free before them. The frees just before this free belong to
 * the same operation. */
static uint32_t begin_of_free(const op_runs *runs, uint32_t at)
{
    return runs->start[at] == 0 ? 0 : runs->start[runs->start[at] - 1];
}

/* Finds the end of a block's use. It is the second allocation after the block, because the first
 * one may have been computed from the block, or the point at which the program drops the block,
 * whichever is later. */
static uint32_t end_of_use(const edit_state *e, const op_runs *runs, const uint32_t *born,
                           uint32_t at)
{
    const mv_replay_script *s = e->out;
    uint32_t next = runs->next_alloc[at], gone = 0;

    if (e->edit->gone) {
        uint32_t row = e->edit->gone[s->ops[at].id];
        gone = row == MV_NO_ROW || born[row] == MV_NO_ROW ? s->op_count : born[row];
    }
    next = next < s->op_count ? runs->next_alloc[next] : next;
    return gone > next ? gone : next;
}

/* Returns the positions of the allocations or, with `of_frees`, of their first frees; op_count if a
 * failed request ended the run before the free. */
static uint32_t *positions(edit_state *e, bool of_frees)
{
    uint32_t *at = mv_push_array(e->arena, uint32_t, e->known);

    e->out_of_memory = e->out_of_memory || !at;
    for (uint32_t i = 0; at && i < e->known; i++)
        at[i] = MV_NO_ROW;
    for (uint32_t i = 0; at && i < e->out->op_count; i++) {
        const mv_replay_op *op = &e->out->ops[i];
        if (has_id(op) && op->id < e->known && (op->kind != MV_OP_ALLOC) == of_frees &&
            at[op->id] == MV_NO_ROW)
            at[op->id] = i;
    }
    for (uint32_t i = 0; at && of_frees && e->edit->cut && i < e->known; i++)
        if (e->edit->cut[i] && at[i] == MV_NO_ROW)
            at[i] = e->out->op_count;
    return at;
}

/* Whether an exception freed the block, rather than the operation that would have used it. Then the
 * block would have been needed after the failed request. */
static bool is_unwound(const op_runs *runs, uint32_t born, uint32_t freed)
{
    return freed != MV_NO_ROW && runs->failure[freed] != MV_NO_ROW && born < runs->failure[freed];
}

static void offload(edit_state *e)
{
    const mv_replay_script *s = e->out;
    uint32_t *born = positions(e, false), *freed = positions(e, true);
    uint32_t *is_now = mv_push_array(e->arena, uint32_t, e->known);
    late_ops late;
    op_runs runs;

    init_late(e, &late);
    init_runs(e, &runs);
    e->out_of_memory = e->out_of_memory || !is_now;
    for (uint32_t i = 0; !e->out_of_memory && i < e->known; i++) {
        uint32_t leaves, returns;
        is_now[i] = i;
        if (!e->edit->rows[i] || born[i] == MV_NO_ROW || freed[i] == MV_NO_ROW)
            continue;
        leaves = end_of_use(e, &runs, born, born[i]);
        if (is_unwound(&runs, born[i], freed[i])) {
            if (leaves >= runs.failure[freed[i]])
                continue;
            is_now[i] = MV_NO_ROW;
            e->out->owed += s->ops[born[i]].bytes;
            insert(e, &late, leaves, &s->ops[born[i]], MV_OP_COMPLETE, i);
            continue;
        }
        returns = freed[i] < s->op_count ? begin_of_free(&runs, freed[i]) : 0;
        if (leaves >= returns)
            continue;
        is_now[i] = e->out->ids++;
        insert(e, &late, leaves, &s->ops[born[i]], MV_OP_COMPLETE, i);
        insert(e, &late, returns, &s->ops[born[i]], MV_OP_ALLOC, is_now[i]);
    }
    if (!e->out_of_memory)
        merge(e, &late, is_now);
}

/* One module call. Numbers are positions of operations. Blocks that a call keeps are freed after
 * the end of the call. */
typedef struct {
    uint32_t first, last; /* first and last allocation of the call */
    uint32_t end;         /* next allocation by another call; the frees of this call end before
                           * it */
    uint32_t output;      /* id of the last allocation that the call keeps, which is the input of
                           * other calls */
    uint32_t last_kept;   /* last kept allocation other than the output */
    uint32_t back;        /* first free of a kept block other than the output, or MV_NO_ROW */
} call_span;

typedef struct {
    edit_state *e;
    const uint32_t *of;     /* call of each id */
    uint32_t *born, *freed; /* [known] positions at which each id is allocated and freed */
    uint32_t count;
    call_span *calls;
    op_runs runs;
    uint32_t *lowest, *highest; /* [op_count] for the start of a run of frees: range of the calls
                                 * whose blocks the run frees; highest 0: none */
} call_list;

static const call_span *call_of(const call_list *l, uint32_t id)
{
    return id < l->e->known && l->of[id] != MV_NO_ROW && l->born[id] != MV_NO_ROW
               ? &l->calls[l->of[id]]
               : NULL;
}

/* Whether a block is freed after the end of the call that allocated it. */
static bool is_late(const call_list *l, uint32_t id)
{
    return l->freed[id] > call_of(l, id)->end;
}

/* Whether something other than the backward pass frees a block. The backward pass goes from each
 * call to the previous one and allocates in between. So if a block is freed together with blocks of
 * more distant calls, something else frees it. This may be the end of autocast, which drops its
 * casts of weights, or the end of a list of outputs. An exception, however, frees all blocks. */
static bool is_shared(const call_list *l, uint32_t id)
{
    uint32_t at = l->freed[id], run;

    if (at >= l->e->out->op_count || l->runs.failure[at] != MV_NO_ROW)
        return false;
    run = l->runs.start[at];
    return l->highest[run] > l->lowest[run] + 1;
}

/* Whether a block is kept for the backward pass of the call that allocated it. */
static bool is_kept(const call_list *l, uint32_t id)
{
    return is_late(l, id) && !is_shared(l, id);
}

static void find_shared(call_list *l)
{
    edit_state *e = l->e;

    l->lowest = mv_push_array(e->arena, uint32_t, e->out->op_count);
    l->highest = mv_push_array(e->arena, uint32_t, e->out->op_count);
    e->out_of_memory = e->out_of_memory || !l->lowest || !l->highest;
    for (uint32_t i = 0; !e->out_of_memory && i < e->known; i++)
        if (call_of(l, i) && is_late(l, i) && l->freed[i] < e->out->op_count) {
            uint32_t run = l->runs.start[l->freed[i]], call = l->of[i] + 1;
            bool is_first = l->highest[run] == 0;
            l->lowest[run] = is_first || call < l->lowest[run] ? call : l->lowest[run];
            l->highest[run] = call > l->highest[run] ? call : l->highest[run];
        }
}

static void find_calls(call_list *l)
{
    edit_state *e = l->e;

    for (uint32_t i = 0; i < e->known; i++)
        if (l->of[i] != MV_NO_ROW && l->of[i] >= l->count)
            l->count = l->of[i] + 1;
    l->calls = mv_push_array(e->arena, call_span, l->count);
    e->out_of_memory = e->out_of_memory || !l->calls;
    for (uint32_t i = 0; l->calls && i < l->count; i++)
        l->calls[i] = (call_span){MV_NO_ROW, 0, 0, MV_NO_ROW, 0, MV_NO_ROW};
    for (uint32_t i = 0; l->calls && i < e->known; i++) {
        call_span *c = (call_span *)call_of(l, i);
        if (c) {
            c->first = l->born[i] < c->first ? l->born[i] : c->first;
            c->last = l->born[i] > c->last ? l->born[i] : c->last;
        }
    }
    for (uint32_t i = 0; l->calls && i < l->count; i++) {
        call_span *c = &l->calls[i];
        c->end = c->first == MV_NO_ROW ? 0 : l->runs.next_alloc[c->last];
    }
    find_shared(l);
    if (e->out_of_memory)
        return;
    for (uint32_t i = 0; l->calls && i < e->known; i++)
        if (call_of(l, i) && is_kept(l, i))
            l->calls[l->of[i]].output = i;
    for (uint32_t i = 0; l->calls && i < e->known; i++) {
        call_span *c = (call_span *)call_of(l, i);
        if (c && is_kept(l, i) && i != c->output) {
            c->back = l->freed[i] < c->back ? l->freed[i] : c->back;
            c->last_kept = l->born[i] > c->last_kept ? l->born[i] : c->last_kept;
        }
    }
}

/* Whether a failed request ended the run before the call was needed again. */
static bool is_cut(const call_list *l, const call_span *c)
{
    return is_unwound(&l->runs, c->last, c->back);
}

/* Ends the first life of a block that a call keeps. The block is recomputed later. */
static void leave(call_list *l, late_ops *late, uint32_t at)
{
    const mv_replay_op *op = &l->e->out->ops[at];
    const call_span *c = call_of(l, op->id);
    uint32_t leaves = end_of_use(l->e, &l->runs, l->born, at);

    insert(l->e, late, leaves < c->end ? leaves : c->end, op, MV_OP_COMPLETE, op->id);
}

/* Repeats an allocation of a call. The blocks that the call keeps do not exist in between. */
static void make_again(call_list *l, late_ops *late, uint32_t at, uint32_t *is_now)
{
    const mv_replay_op *op = &l->e->out->ops[at];
    const call_span *c = call_of(l, op->id);
    uint32_t again = l->e->out->ids++;

    insert(l->e, late, begin_of_free(&l->runs, c->back), op, MV_OP_ALLOC, again);
    is_now[op->id] = again;
    if (is_kept(l, op->id))
        leave(l, late, at);
    for (uint32_t i = c->first; at == c->last_kept && i <= at; i++) {
        const mv_replay_op *made = &l->e->out->ops[i];
        if (made->kind == MV_OP_ALLOC && call_of(l, made->id) == c && is_late(l, made->id) &&
            is_shared(l, made->id))
            insert(l->e, late, begin_of_free(&l->runs, c->back), made, MV_OP_COMPLETE,
                   is_now[made->id]);
    }
}

/* Repeats calls up to and including the last allocation that the backward pass needs. */
static void recompute(edit_state *e)
{
    const mv_replay_script *s = e->out;
    call_list l = {
        .e = e, .of = e->edit->instance, .born = positions(e, false), .freed = positions(e, true)};
    uint32_t *is_now = mv_push_array(e->arena, uint32_t, e->known);
    late_ops late;

    init_late(e, &late);
    init_runs(e, &l.runs);
    e->out_of_memory = e->out_of_memory || !is_now;
    if (!e->out_of_memory)
        find_calls(&l);
    for (uint32_t i = 0; !e->out_of_memory && i < e->known; i++)
        is_now[i] = i;
    for (uint32_t at = 0; !e->out_of_memory && at < s->op_count; at++) {
        const mv_replay_op *op = &s->ops[at];
        const call_span *c = has_id(op) ? call_of(&l, op->id) : NULL;
        if (!c || c->back == MV_NO_ROW || op->id == c->output || at > c->end)
            continue;
        if (is_cut(&l, c)) {
            if (op->kind == MV_OP_ALLOC && is_kept(&l, op->id)) {
                is_now[op->id] = MV_NO_ROW;
                e->out->owed += op->bytes;
                leave(&l, &late, at);
            }
            continue;
        }
        if (op->kind == MV_OP_ALLOC && at <= c->last_kept)
            make_again(&l, &late, at, is_now);
        else if (op->kind != MV_OP_ALLOC && is_now[op->id] != op->id)
            insert(e, &late, begin_of_free(&l.runs, c->back), op, (mv_replay_op_kind)op->kind,
                   is_now[op->id]);
    }
    for (uint32_t i = 0; !e->out_of_memory && i < e->known; i++)
        if (call_of(&l, i) && !is_kept(&l, i))
            is_now[i] = i; /* frees are those of the first allocation */
    if (!e->out_of_memory)
        merge(e, &late, is_now);
}

/* ---- all edits --------------------------------------------------------------------------- */

static void (*const apply[])(edit_state *e) = {[MV_EDIT_SCALE] = scale,
                                               [MV_EDIT_APART] = set_apart,
                                               [MV_EDIT_PREALLOC] = prealloc,
                                               [MV_EDIT_RESERVE] = reserve,
                                               [MV_EDIT_ONE_STREAM] = join_streams,
                                               [MV_EDIT_EMPTY] = empty_cache,
                                               [MV_EDIT_FREE_EARLY] = free_early,
                                               [MV_EDIT_OFFLOAD] = offload,
                                               [MV_EDIT_RESIZE] = resize,
                                               [MV_EDIT_RECOMPUTE] = recompute};

mv_code mv_edit_apply(mv_arena *arena, const mv_replay_script *from, const mv_edit *edits,
                      uint32_t count, mv_replay_script *out, mv_err *err)
{
    *out = *from;
    for (uint32_t i = 0; i < count; i++) {
        edit_state e = {
            .arena = arena, .edit = &edits[i], .known = from->lives->allocs.count, .out = out};
        e.out_of_memory = !out->is_listed && !mv_replay_script_list(arena, out);
        if (!e.out_of_memory)
            apply[edits[i].kind](&e);
        if (e.out_of_memory)
            return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
        if (out->ops != from->ops)
            mv_arena_drop(arena, out->ops);
        out->ops = e.ops;
        out->op_count = e.op_count;
    }
    return MV_OK;
}
