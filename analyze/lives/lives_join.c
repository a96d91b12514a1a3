#include "analyze/lives/lives_join.h"

#include "analyze/lives/alive.h"
#include "analyze/lives/block_size.h"
#include "base/grow.h"
#include "base/pages.h"
#include "parse/model/build.h"
#include "parse/model/tables.h"

enum { HAS_SMALL = 1, HAS_LARGE = 2 };

/* If more than one in MANY events has values in the columns of kept.of_few, whole columns would not
 * take more pages. */
enum { MANY = 1024, LEAST_FEW = 8192 };

/* A block that is alive at the end of the pieces so far. */
typedef struct {
    uint32_t event, row; /* in the whole trace and in its table */
    uint32_t freed;
    mv_stack_id stack;
    uint32_t freed_by; /* as in mv_lives */
    uint64_t block;
} alive_block;

/* The end of a block, or its size, that a later piece than the block's first one shows. */
typedef struct {
    uint32_t row, freed, completed;
    mv_stack_id stack;
    uint32_t freed_by;
    uint64_t block;
} late_end;

/* A segment that is alive at the end of the pieces so far. */
typedef struct {
    uint32_t event, row;
} alive_segment;

typedef struct {
    alive_block *rows;
    uint32_t count, capacity;
} alive_blocks;

/* Distinct addresses in ascending order. */
typedef struct {
    uint64_t *addr;
    uint32_t count, capacity;
} address_list;

struct mv_lives_join {
    mv_arena scratch; /* the join itself is allocated in it */
    mv_arena *arena;
    const mv_trace *trace;
    uint64_t most_small; /* largest request for the small pool */
    mv_lives lives;      /* the whole table */
    mv_lives_kept kept;
    uint32_t most_few, few_left; /* how many events may have values in the columns of kept.of_few:
                                  * in total, and besides those of the pieces so far */
    bool is_awaited;             /* the next alloc has values in these columns */
    uint32_t written;            /* columns of events in which not all values are zero */
    mv_packed_times *times;      /* NULL: the events have a column of times */
    uint32_t next;               /* number of events placed */
    uint32_t segments;           /* number of segments placed */
    alive_blocks alive, before;
    struct {
        alive_segment *rows;
        uint32_t count, capacity;
    } held;
    struct {
        late_end *rows;
        uint32_t count, capacity;
    } late;
    struct {
        mv_event_row *rows;
        uint32_t count, capacity;
    } marks;
    uint32_t *mark_events;
    uint32_t mark_event_count, mark_event_capacity;
    uint8_t *sizes; /* [segments] */
    uint32_t sizes_capacity;
    address_list addresses, spare; /* those of the pieces so far; memory for the next list */
};

static mv_code needs_whole(mv_err *err)
{
    return mv_fail(err, MV_CORRUPT, MV_NO_OFFSET, "%s", "lives of pieces");
}

static mv_code no_memory(const mv_lives_join *j, mv_err *err)
{
    return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "lives of device %u", j->lives.device);
}

/* ---- begin ------------------------------------------------------------------------------- */

/* Returns the largest request that rounds to a block of the small pool. Rounding keeps the order. */
static uint64_t most_small_of(const mv_trace *trace)
{
    mv_block_rules rules = mv_block_rules_of(trace);
    uint64_t low = 0, high = MV_SMALL_REQUEST;

    while (low < high) {
        uint64_t middle = (low + high + 1) / 2;
        if (mv_round_request(&rules, middle) <= MV_SMALL_REQUEST)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static bool make_times(mv_lives_join *j, uint32_t events)
{
    const mv_digest *d = &j->trace->digests[j->lives.device];
    uint64_t us = (uint64_t)d->last_us - (uint64_t)d->first_us;

    if (j->kept.columns & MV_EVENT_time_us)
        return true;
    j->times = mv_push_struct(j->arena, mv_packed_times);
    j->lives.events.packed_times = j->times;
    return j->times && mv_packed_times_begin(j->arena, events, us, j->times);
}

static bool make_columns(mv_lives_join *j, uint64_t events, uint64_t allocs)
{
    const mv_model_table *table = mv_table_find(MV_WIRE_EVENTS);

    for (uint32_t i = 0; i < table->column_count; i++) {
        const mv_table_column *c = &table->columns[i];
        void *values;
        if (!((j->kept.columns | j->kept.of_few) & 1u << i))
            continue;
        values = j->kept.columns & 1u << i
                     ? mv_arena_push(j->arena, events, c->size)
                     : mv_arena_push_sparse(j->arena, events, c->size, j->most_few);
        if (!values)
            return false;
        mv_column_set(&j->lives.events, c, values);
    }
    j->lives.events.count = (uint32_t)events;
    j->lives.alloc_of = mv_push_unset(j->arena, uint32_t, events);
    if ((j->kept.columns | j->kept.of_few) & MV_EVENT_addr || j->trace->tensors.count > 0) {
        j->lives.allocs.addr = mv_push_unset(j->arena, uint64_t, allocs);
        if (!j->lives.allocs.addr)
            return false;
    }
    if (!mv_alloc_lives_push_rest(j->arena, allocs, &j->lives.allocs) || !j->lives.alloc_of)
        return false;
    mv_arena_clear(j->arena, j->lives.allocs.inexact, allocs);
    if (j->kept.columns & MV_LIVES_FREED_BY) {
        j->lives.freed_by = mv_push_array(j->arena, uint32_t, allocs);
        if (!j->lives.freed_by)
            return false;
    }
    return make_times(j, (uint32_t)events);
}

/* Returns how many events may have values in the columns of kept.of_few: two for each segment event,
 * and the first alloc. */
static uint32_t most_few(const mv_digest *digest, uint64_t events)
{
    uint64_t few = 1, most = LEAST_FEW + events / MANY;

    for (unsigned i = 0; i < MV_ACTION_COUNT; i++)
        few += mv_is_segment_action((uint8_t)i) ? 2ull * digest->count[i] : 0;
    return (uint32_t)(few < most ? few : most);
}

mv_lives_join *mv_lives_join_begin(mv_arena *arena, const mv_trace *trace, uint32_t device,
                                   mv_lives_kept kept)
{
    const mv_digest *digest = &trace->digests[device];
    mv_arena scratch;
    mv_lives_join *j;
    uint64_t events = 0;

    mv_arena_init(&scratch, arena->budget);
    j = mv_push_struct(&scratch, mv_lives_join);
    if (!j)
        return NULL;
    *j = (mv_lives_join){.scratch = scratch,
                         .arena = arena,
                         .trace = trace,
                         .most_small = most_small_of(trace),
                         .kept = kept,
                         .is_awaited = true,
                         .lives = {.device = device,
                                   .history = digest->history,
                                   .history_why = digest->history_why,
                                   .ring = digest->ring}};
    for (unsigned i = 0; i < MV_ACTION_COUNT; i++)
        events += digest->count[i];
    j->few_left = j->most_few = most_few(digest, events);
    if (events < MV_NO_ROW && make_columns(j, events, digest->count[MV_ACTION_ALLOC]))
        return j;
    mv_lives_join_end(j, NULL, NULL);
    return NULL;
}

/* ---- look -------------------------------------------------------------------------------- */

/* Returns the number of rows whose births are before row `count` of the events. */
static uint32_t born_before(const uint32_t *birth, uint32_t rows, uint32_t count)
{
    uint32_t old = 0;

    while (old < rows && birth[old] < count)
        old++;
    return old;
}

/* Whether no segment event cut a segment. The rows of segments are then in order of birth. */
static bool are_uncut(const mv_segment_lives *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (s->birth[i] == MV_BEFORE || (i > 0 && s->birth[i] <= s->birth[i - 1]))
            return false;
    return true;
}

/* Lists the blocks alive at the end of the piece. Returns false if a block's size is uncertain. */
static bool list_alive(mv_lives_piece *p)
{
    const mv_alloc_lives *a = &p->lives->allocs;

    for (uint32_t i = 0; i < a->count; i++) {
        if (a->completed[i] == MV_NEVER)
            p->alive[p->alive_count++] = i;
        else if (a->inexact[i] && i >= p->allocs.old)
            return false;
    }
    return true;
}

static void add_mark(mv_lives_piece *p, uint32_t event)
{
    p->marks[p->mark_count++] = event;
}

/* Lists segment events, and the first allocation in each segment. */
static void list_marks(const mv_lives_join *j, mv_lives_piece *p)
{
    const mv_alloc_lives *a = &p->lives->allocs;
    const mv_events *e = p->events;
    uint32_t row = p->allocs.old;

    for (uint32_t i = p->living.count; i < e->count; i++) {
        uint32_t segment;
        if (e->action[i] != MV_ACTION_ALLOC) {
            if (mv_is_segment_action(e->action[i]))
                add_mark(p, i);
            continue;
        }
        segment = a->segment[row];
        if (segment != MV_NO_ROW) {
            if (!p->sizes[segment])
                add_mark(p, i);
            p->sizes[segment] |= a->requested[row] <= j->most_small ? HAS_SMALL : HAS_LARGE;
        }
        row++;
    }
}

/* Lists the events that have values in the columns of kept.of_few. */
static bool list_few(const mv_lives_join *j, mv_arena *arena, mv_lives_piece *p)
{
    const mv_events *e = p->events;
    bool is_awaited = true; /* an alloc; the previous piece may end with a segment event */
    uint32_t capacity = 0;

    for (uint32_t i = p->living.count; i < e->count && p->few_count <= j->most_few; i++) {
        bool is_alloc = e->action[i] == MV_ACTION_ALLOC;
        bool is_segment = mv_is_segment_action(e->action[i]);
        if ((is_segment || (is_alloc && is_awaited)) &&
            !mv_append(arena, p->few, p->few_count, capacity, i))
            return false;
        is_awaited = is_segment || (is_awaited && !is_alloc);
    }
    p->awaits_alloc = is_awaited;
    return true;
}

static uint64_t count_segment_events(const mv_lives_piece *p)
{
    uint64_t count = 0;

    for (uint32_t i = p->living.count; i < p->events->count; i++)
        count += mv_is_segment_action(p->events->action[i]);
    return count;
}

static mv_code pack_times(const mv_lives_join *j, mv_arena *arena, mv_lives_piece *p, mv_err *err)
{
    uint32_t old = p->living.count;
    mv_code code = mv_times_piece_pack(j->times, arena, p->events->time_us + old,
                                       p->events->count - old, &p->times);

    if (code == MV_CORRUPT)
        p->is_certain = false;
    return code == MV_NOMEM ? no_memory(j, err) : MV_OK;
}

mv_code mv_lives_join_look(mv_lives_join *j, mv_arena *arena, const mv_trace *piece,
                           const mv_lives *lives, mv_lives_piece *out, mv_err *err)
{
    const mv_alloc_lives *a = &lives->allocs;
    const mv_segment_lives *s = &lives->segments;

    *out = (mv_lives_piece){.events = &lives->events,
                            .lives = lives,
                            .living = mv_living_of(piece, lives->device),
                            .alive = mv_push_unset(arena, uint32_t, a->count),
                            .sizes = mv_push_array(arena, uint8_t, s->count)};
    out->allocs.old = born_before(a->birth, a->count, out->living.count);
    out->segments.old = born_before(s->birth, s->count, out->living.count);
    out->allocs.row = mv_push_array(arena, uint32_t, out->allocs.old);
    out->segments.row = mv_push_array(arena, uint32_t, out->segments.old);
    out->marks = mv_push_array(arena, uint32_t, count_segment_events(out) + s->count);
    if (!out->alive || !out->sizes || !out->allocs.row || !out->segments.row || !out->marks)
        return no_memory(j, err);
    out->is_certain =
        a->preexisting == 0 && out->living.older == 0 && are_uncut(s) && list_alive(out);
    if (out->is_certain)
        list_marks(j, out);
    if (out->is_certain && j->kept.of_few && !list_few(j, arena, out))
        return no_memory(j, err);
    return j->times ? pack_times(j, arena, out, err) : MV_OK;
}

/* ---- place ------------------------------------------------------------------------------- */

/* Returns the number in the whole trace of an event of a piece that is not a live row. */
static uint32_t number_of(const mv_lives_piece *p, uint32_t event)
{
    return event - p->living.count + p->living.first;
}

static uint32_t end_of(const mv_lives_piece *p, uint32_t event, uint32_t before)
{
    if (event == MV_NEVER)
        return MV_NEVER;
    return event < p->living.count ? before : number_of(p, event);
}

static uint32_t freed_by(const mv_lives_join *j, const mv_lives_piece *p, uint32_t row)
{
    return j->lives.freed_by ? mv_alloc_freeing_stack(p->lives, row).row + 1 : 0;
}

static uint32_t alloc_row(const mv_lives_piece *p, uint32_t row)
{
    return row < p->allocs.old ? p->allocs.row[row] : row - p->allocs.old + p->allocs.first;
}

static uint32_t segment_row(const mv_lives_piece *p, uint32_t row)
{
    return row < p->segments.old ? p->segments.row[row] : row - p->segments.old + p->segments.first;
}

/* Matches the live blocks of a piece with those that earlier pieces left alive. */
static mv_code match_blocks(mv_lives_join *j, mv_lives_piece *p, mv_err *err)
{
    const mv_alloc_lives *a = &p->lives->allocs;

    if (p->allocs.old != j->before.count)
        return needs_whole(err);
    for (uint32_t i = 0; i < p->allocs.old; i++) {
        alive_block *was = &j->before.rows[i];
        uint32_t freed = end_of(p, a->freed[i], was->freed);
        late_end end = {
            was->row,          freed,      end_of(p, a->completed[i], MV_NEVER), a->stack[i],
            freed_by(j, p, i), a->block[i]};
        if (p->living.event[a->birth[i]] != was->event)
            return needs_whole(err);
        p->allocs.row[i] = was->row;
        if ((freed != was->freed || end.completed != MV_NEVER || end.block != was->block ||
             end.stack.row != was->stack.row || end.freed_by != was->freed_by) &&
            !mv_append(&j->scratch, j->late.rows, j->late.count, j->late.capacity, end))
            return no_memory(j, err);
        was->freed = freed;
        was->block = end.block;
        was->stack = end.stack;
        was->freed_by = end.freed_by;
    }
    return MV_OK;
}

/* Lists the blocks that are alive after a piece. */
static bool keep_alive(mv_lives_join *j, const mv_lives_piece *p)
{
    const mv_alloc_lives *a = &p->lives->allocs;

    j->alive.count = 0;
    if (!mv_room_for(&j->scratch, j->alive.rows, (uint64_t)p->alive_count, j->alive.capacity))
        return false;
    for (uint32_t i = 0; i < p->alive_count; i++) {
        uint32_t row = p->alive[i];
        j->alive.rows[j->alive.count++] =
            row < p->allocs.old ? j->before.rows[row]
                                : (alive_block){number_of(p, a->birth[row]),
                                                alloc_row(p, row),
                                                end_of(p, a->freed[row], MV_NEVER),
                                                a->stack[row],
                                                freed_by(j, p, row),
                                                a->inexact[row] ? MV_NO_BYTES : a->block[row]};
    }
    return true;
}

static mv_code match_segments(mv_lives_join *j, mv_lives_piece *p, mv_err *err)
{
    const mv_segment_lives *s = &p->lives->segments;

    if (p->segments.old != j->held.count)
        return needs_whole(err);
    for (uint32_t i = 0; i < p->segments.old; i++) {
        if (p->living.event[s->birth[i]] != j->held.rows[i].event)
            return needs_whole(err);
        p->segments.row[i] = j->held.rows[i].row;
    }
    p->segments.first = j->segments;
    j->segments += s->count - p->segments.old;
    j->held.count = 0;
    if (!mv_room_for(&j->scratch, j->held.rows, (uint64_t)s->count, j->held.capacity) ||
        !mv_room_for(&j->scratch, j->sizes, (uint64_t)j->segments, j->sizes_capacity))
        return no_memory(j, err);
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t row = segment_row(p, i);
        j->sizes[row] |= p->sizes[i];
        if (s->death[i] == MV_NEVER)
            j->held.rows[j->held.count++] = (alive_segment){
                i < p->segments.old ? p->living.event[s->birth[i]] : number_of(p, s->birth[i]),
                row};
    }
    return MV_OK;
}

static bool keep_marks(mv_lives_join *j, const mv_lives_piece *p)
{
    const mv_events *e = p->events;

    for (uint32_t i = 0; i < p->mark_count; i++) {
        uint32_t at = p->marks[i];
        mv_event_row row = {.action = e->action[at],
                            .addr = e->addr[at],
                            .size = e->size[at],
                            .stream = e->stream[at],
                            .time_us = e->time_us[at],
                            .stack = e->stack[at],
                            .call = e->call[at],
                            .tag = e->tag[at]};
        if (!mv_append(&j->scratch, j->marks.rows, j->marks.count, j->marks.capacity, row) ||
            !mv_append(&j->scratch, j->mark_events, j->mark_event_count, j->mark_event_capacity,
                       number_of(p, at)))
            return false;
    }
    return true;
}

/* Returns 1 if the first listed event is an alloc that does not follow a segment event, else 0. */
static uint32_t first_few(const mv_lives_join *j, const mv_lives_piece *p)
{
    return !j->is_awaited && p->few_count > 0 && p->events->action[p->few[0]] == MV_ACTION_ALLOC;
}

/* Copies the values of the listed events. */
static void keep_few(mv_lives_join *j, const mv_lives_piece *p)
{
    const mv_model_table *table = mv_table_find(MV_WIRE_EVENTS);
    uint32_t first = first_few(j, p);

    for (uint32_t i = 0; i < table->column_count; i++) {
        const mv_table_column *c = &table->columns[i];
        char *to = mv_column_of(&j->lives.events, c);
        const char *from = mv_column_of(p->events, c);
        if (j->kept.columns & 1u << i || !(j->kept.of_few & 1u << i))
            continue;
        for (uint32_t k = first; k < p->few_count; k++) {
            char *at = to + (uint64_t)number_of(p, p->few[k]) * c->size;
            mv_arena_show(at, c->size);
            memcpy(at, from + (uint64_t)p->few[k] * c->size, c->size);
        }
    }
    j->few_left -= p->few_count - first;
    j->is_awaited = p->few_count > 0 ? p->awaits_alloc : j->is_awaited;
}

/* Merges the addresses of a piece with those of earlier pieces. */
static bool keep_addresses(mv_lives_join *j, const mv_address_ranks *ranks)
{
    const address_list from = j->addresses;
    address_list to = j->spare;
    uint32_t a = 0, b = 0;

    if (!mv_room_for(&j->scratch, to.addr, (uint64_t)from.count + ranks->count, to.capacity))
        return false;
    for (to.count = 0; a < from.count || b < ranks->count; to.count++) {
        uint64_t x = a < from.count ? from.addr[a] : UINT64_MAX;
        uint64_t y = b < ranks->count ? ranks->addr[b] : UINT64_MAX;
        to.addr[to.count] = x < y ? x : y;
        a += x <= y && a < from.count;
        b += y <= x && b < ranks->count;
    }
    j->addresses = to;
    j->spare = from;
    return true;
}

mv_code mv_lives_join_place(mv_lives_join *j, mv_lives_piece *p, mv_err *err)
{
    mv_lives *whole = &j->lives;
    uint32_t events = p->events->count - p->living.count;
    uint32_t allocs = p->lives->allocs.count - p->allocs.old;
    alive_blocks before = j->alive;
    mv_code code;

    if (!p->is_certain || p->living.first != j->next || events > whole->events.count - j->next ||
        allocs > j->trace->digests[whole->device].count[MV_ACTION_ALLOC] - whole->allocs.count)
        return needs_whole(err);
    j->alive = j->before;
    j->before = before;
    p->allocs.first = whole->allocs.count;
    whole->allocs.count += allocs;
    j->next += events;
    if (match_blocks(j, p, err) != MV_OK || match_segments(j, p, err) != MV_OK)
        return err->code;
    code = j->times ? mv_packed_times_add(j->times, j->arena, p->living.first, &p->times) : MV_OK;
    if (code == MV_NOMEM)
        return no_memory(j, err);
    if (code != MV_OK || p->few_count - first_few(j, p) > j->few_left)
        return needs_whole(err);
    keep_few(j, p);
    return keep_alive(j, p) && keep_marks(j, p) &&
                   (!p->lives->ranks || keep_addresses(j, p->lives->ranks))
               ? MV_OK
               : no_memory(j, err);
}

/* ---- copy -------------------------------------------------------------------------------- */

static bool is_zero(const char *values, uint64_t bytes)
{
    return bytes == 0 || (values[0] == 0 && memcmp(values, values + 1, bytes - 1) == 0);
}

/* Copies rows to a part of a column, whose pages are mapped at once, which is faster than one by
 * one. */
static void copy_rows(void *to, uint64_t first, const void *from, uint64_t old, uint64_t count,
                      uint64_t size)
{
    char *at = (char *)to + first * size;

    mv_pages_take(at, count * size);
    memcpy(at, (const char *)from + old * size, count * size);
}

/* Columns of zeros are not written, so that they take no memory. */
static void copy_events(mv_lives_join *j, const mv_lives_piece *p)
{
    const mv_model_table *table = mv_table_find(MV_WIRE_EVENTS);
    uint64_t count = p->events->count - p->living.count;

    for (uint32_t i = 0; i < table->column_count; i++) {
        const mv_table_column *c = &table->columns[i];
        void *to = mv_column_of(&j->lives.events, c);
        const char *from = mv_column_of(p->events, c);
        uint32_t old = p->living.count;
        if (!(j->kept.columns & 1u << i) ||
            is_zero(from + (uint64_t)old * c->size, count * c->size))
            continue;
        __atomic_fetch_or(&j->written, 1u << i, __ATOMIC_RELAXED);
        copy_rows(to, p->living.first, from, old, count, c->size);
    }
}

static void copy_rows_of_events(mv_lives_join *j, const mv_lives_piece *p)
{
    const uint32_t *from = p->lives->alloc_of + p->living.count;
    const uint8_t *action = p->events->action + p->living.count;
    uint32_t *to = j->lives.alloc_of + p->living.first;
    uint32_t count = p->events->count - p->living.count, old = p->allocs.old;
    uint32_t shift = p->allocs.first - old;

    mv_pages_take(to, count * sizeof *to);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = from[i];
        if (row >= old && row != MV_NO_ROW && !mv_is_segment_action(action[i]))
            to[i] = row + shift;
        else
            to[i] = row == MV_NO_ROW                  ? MV_NO_ROW
                    : mv_is_segment_action(action[i]) ? segment_row(p, row)
                                                      : p->allocs.row[row];
    }
}

static void copy_numbers(const mv_lives_piece *p, uint32_t *column, const uint32_t *from)
{
    uint32_t old = p->allocs.old, count = p->lives->allocs.count - old;
    uint32_t shift = p->living.first - p->living.count;
    uint32_t *to = column + p->allocs.first;

    mv_pages_take(to, count * sizeof *to);
    for (uint32_t i = 0; i < count; i++)
        to[i] = from[old + i] == MV_NEVER ? MV_NEVER : from[old + i] + shift;
}

static void copy_allocs(mv_lives_join *j, const mv_lives_piece *p)
{
    const mv_alloc_lives *from = &p->lives->allocs;
    mv_alloc_lives *to = &j->lives.allocs;
    uint32_t old = p->allocs.old, first = p->allocs.first, count = from->count - old;
    uint32_t *segment = to->segment + first;

    if (to->addr)
        copy_rows(to->addr, first, from->addr, old, count, sizeof *to->addr);
    copy_rows(to->requested, first, from->requested, old, count, sizeof *to->requested);
    copy_rows(to->block, first, from->block, old, count, sizeof *to->block);
    copy_rows(to->stack, first, from->stack, old, count, sizeof *to->stack);
    copy_numbers(p, to->birth, from->birth);
    copy_numbers(p, to->freed, from->freed);
    copy_numbers(p, to->completed, from->completed);
    mv_pages_take(segment, count * sizeof *segment);
    for (uint32_t i = 0; i < count; i++)
        segment[i] = from->segment[old + i] == MV_NO_ROW ? MV_NO_ROW
                                                         : segment_row(p, from->segment[old + i]);
}

/* Rows without a value are not written, like columns of zeros. */
static void copy_freed_by(mv_lives_join *j, const mv_lives_piece *p)
{
    uint32_t *to = j->lives.freed_by + p->allocs.first, old = p->allocs.old;

    for (uint32_t i = old; i < p->lives->allocs.count; i++) {
        uint32_t by = freed_by(j, p, i);
        if (by)
            to[i - old] = by;
    }
}

void mv_lives_join_copy(mv_lives_join *j, const mv_lives_piece *p)
{
    copy_events(j, p);
    copy_rows_of_events(j, p);
    copy_allocs(j, p);
    if (j->lives.freed_by)
        copy_freed_by(j, p);
    if (j->times)
        mv_packed_times_copy(j->times, p->living.first, &p->times);
}

/* ---- end --------------------------------------------------------------------------------- */

/* Whether the size of a block that is alive at the end is uncertain. */
static bool has_unknown_size(const mv_lives_join *j)
{
    for (uint32_t i = 0; i < j->alive.count; i++)
        if (j->alive.rows[i].block == MV_NO_BYTES)
            return true;
    return false;
}

static void settle_late(mv_lives_join *j)
{
    mv_alloc_lives *a = &j->lives.allocs;

    for (uint32_t i = 0; i < j->late.count; i++) {
        const late_end *end = &j->late.rows[i];
        a->freed[end->row] = end->freed;
        a->completed[end->row] = end->completed;
        a->stack[end->row] = end->stack;
        if (j->lives.freed_by)
            j->lives.freed_by[end->row] = end->freed_by;
        a->block[end->row] = end->block;
    }
}

/* Makes the trace of the segment events and of the first allocation in each segment. */
static bool make_marks(mv_lives_join *j, mv_trace *out)
{
    const mv_model_table *table = mv_table_find(MV_WIRE_EVENTS);
    mv_events *events;

    *out = *j->trace;
    out->digests = NULL;
    out->living = NULL;
    out->devices = mv_push_array(&j->scratch, mv_device, out->device_count);
    if (!out->devices)
        return false;
    events = &out->devices[j->lives.device].events;
    events->count = j->marks.count;
    for (uint32_t i = 0; i < table->column_count; i++) {
        const mv_table_column *c = &table->columns[i];
        char *values = mv_arena_push(&j->scratch, j->marks.count + 1ull, c->size);
        if (!values)
            return false;
        mv_column_set(events, c, values);
        for (uint32_t k = 0; k < j->marks.count; k++)
            memcpy(values + (uint64_t)k * c->size, (const char *)&j->marks.rows[k] + c->row_at,
                   c->size);
    }
    return true;
}

/* Whether the sizes of blocks in a segment depend on which of them came first. Pieces do not show
 * this if the first one is gone. */
static bool depends_on_first(const mv_lives_join *j, uint32_t segment, uint32_t mark)
{
    return j->sizes[segment] == (HAS_SMALL | HAS_LARGE) &&
           j->marks.rows[mark].action != MV_ACTION_SEGMENT_MAP;
}

static bool make_ranks(mv_lives_join *j)
{
    mv_address_ranks *ranks = mv_push_struct(j->arena, mv_address_ranks);
    uint64_t *addr = mv_push_unset(j->arena, uint64_t, j->addresses.count);

    if (!ranks || !addr)
        return false;
    memcpy(addr, j->addresses.addr, j->addresses.count * sizeof *addr);
    *ranks = (mv_address_ranks){.count = j->addresses.count, .addr = addr};
    j->lives.ranks = ranks;
    return true;
}

static mv_code find_segments(mv_lives_join *j, mv_err *err)
{
    mv_segment_lives *s = &j->lives.segments;
    mv_trace marks;
    mv_lives lives;

    if (!make_marks(j, &marks))
        return no_memory(j, err);
    if (mv_lives_find(&j->scratch, &marks, j->lives.device, &lives, err) != MV_OK)
        return err->code;
    if (lives.segments.count != j->segments)
        return needs_whole(err);
    if (!mv_segment_lives_push(j->arena, j->segments, s))
        return no_memory(j, err);
    s->count = j->segments;
    for (uint32_t i = 0; i < s->count; i++) {
        mv_segment_lives_copy(&lives.segments, i, s, i);
        if (s->birth[i] == MV_BEFORE || depends_on_first(j, i, s->birth[i]))
            return needs_whole(err);
        s->birth[i] = j->mark_events[s->birth[i]];
        if (s->death[i] != MV_NEVER)
            s->death[i] = j->mark_events[s->death[i]];
    }
    return MV_OK;
}

/* Returns the memory, or disk, of columns that contain only zeros. */
static bool give_back_zeros(mv_lives_join *j)
{
    const mv_model_table *table = mv_table_find(MV_WIRE_EVENTS);
    mv_events *events = &j->lives.events;

    for (uint32_t i = 0; i < table->column_count; i++) {
        const mv_table_column *c = &table->columns[i];
        void *values = mv_column_of(events, c);
        bool is_large = (uint64_t)events->count * c->size >= MV_ARENA_LARGE;
        if (!(j->kept.columns & ~j->written & 1u << i) || !is_large)
            continue;
        mv_arena_drop(j->arena, values);
        values = mv_arena_push_sparse(j->arena, events->count, c->size, 0);
        if (!values)
            return false;
        mv_arena_show(values, (uint64_t)events->count * c->size);
        mv_column_set(events, c, values);
    }
    return true;
}

mv_code mv_lives_join_end(mv_lives_join *j, mv_lives *out, mv_err *err)
{
    mv_arena scratch;
    mv_code code = MV_OK;

    if (!j)
        return MV_OK;
    if (out && (has_unknown_size(j) || j->next != j->lives.events.count ||
                j->lives.allocs.count != j->trace->digests[j->lives.device].count[MV_ACTION_ALLOC]))
        code = needs_whole(err);
    if (out && code == MV_OK)
        code = find_segments(j, err);
    if (out && code == MV_OK && !(give_back_zeros(j) && (!j->kept.of_few || make_ranks(j))))
        code = no_memory(j, err);
    if (out && code == MV_OK) {
        settle_late(j);
        j->lives.ends_are_own = true; /* pieces have no doubts */
        *out = j->lives;
    }
    scratch = j->scratch; /* the join itself is allocated in this arena */
    mv_arena_release(&scratch);
    return code;
}
