#include "analyze/ledger/ledger_columns.h"

typedef struct {
    const mv_trace *trace;
    const int64_t *edges;
    mv_ledger_columns *out;
    uint32_t *place_of; /* [strings.count + 1] index of the library in the series + 1 */
    uint64_t *now;      /* [library_count] bytes that each library holds now */
    uint64_t held;
    int64_t time_us; /* time at which the current holdings began */
    uint32_t column; /* the first column that ends after time_us */
    bool has_begun;  /* this column already has a moment */
} filler;

/* ---- libraries --------------------------------------------------------------------------- */

static uint32_t place_of(filler *f, mv_string_id library)
{
    uint32_t strings = f->trace->strings.count;
    uint32_t *slot = &f->place_of[library.row < strings ? library.row : strings];

    if (*slot == 0)
        *slot = 1 + mv_ledger_series_place(&f->out->series, mv_string_text(f->trace, library));
    return *slot - 1;
}

/* ---- columns ----------------------------------------------------------------------------- */

static void take(filler *f, uint32_t c, int64_t time_us)
{
    uint64_t count = f->out->series.library_count;

    f->out->columns[c].time_us = time_us;
    f->out->columns[c].held = f->held;
    if (count)
        memcpy(f->out->by + c * count, f->now, count * sizeof *f->now);
}

/* Adds the holdings of the period [f->time_us, until) to the columns that the period covers. */
static void settle(filler *f, int64_t until)
{
    const int64_t *edges = f->edges;

    while (f->column < f->out->count && edges[f->column] < until) {
        int64_t from = edges[f->column] > f->time_us ? edges[f->column] : f->time_us;
        bool is_in = from < edges[f->column + 1] || from == edges[f->column];
        if (is_in && (!f->has_begun || f->held > f->out->columns[f->column].held))
            take(f, f->column, from);
        f->has_begun = f->has_begun || is_in;
        if (edges[f->column + 1] > until)
            return;
        f->column++;
        f->has_begun = false;
    }
}

static void watch_lot(void *user, const mv_lot *lot, uint32_t at, uint32_t call, bool is_gain)
{
    filler *f = user;
    const mv_api_calls *c = &f->trace->api_calls;
    uint32_t place;

    (void)at;
    if (lot->kind != MV_LOT_DEVICE)
        return;
    if (c->time_us[call] > f->time_us) { /* calls in the same microsecond count as a single
                                          * change */
        settle(f, c->time_us[call]);
        f->time_us = c->time_us[call];
    }
    place = place_of(f, c->library[lot->call]);
    f->now[place] += is_gain ? lot->bytes : -lot->bytes;
    f->held += is_gain ? lot->bytes : -lot->bytes;
}

static void fill_use(filler *f, const mv_device_use *use)
{
    const mv_ledger_series *s = &f->out->series;
    uint32_t sample = 0;

    for (uint32_t c = 0; c < f->out->count; c++) {
        mv_ledger_column *column = &f->out->columns[c];
        uint32_t k = mv_device_use_at(f->trace, use, column->time_us, column->held);
        column->used = column->most_used = k < use->count ? use->used[k] : MV_NO_BYTES;
        if (k < use->count) {
            column->context_estimate = use->context[k];
            column->is_measured = column->held == use->held[k];
            column->unexplained = mv_unexplained(column->used, column->held, use->context[k]);
        }
        while (sample < s->count && s->points[sample].time_us < f->edges[c])
            sample++;
        for (; sample < s->count && s->points[sample].time_us < f->edges[c + 1]; sample++) {
            uint64_t used = s->points[sample].used;
            if (column->samples++ == 0 || used > column->most_used)
                column->most_used = used;
        }
    }
}

static mv_code fill(mv_arena *scratch, filler *f, uint32_t device, mv_err *err)
{
    mv_device_use use;
    mv_holdings h;
    mv_code code;

    mv_device_holdings(&h, scratch, f->trace, device);
    h.watch = watch_lot;
    h.user = f;
    code = mv_device_use_find(scratch, &h, &use, err);
    mv_holdings_drop(&h);
    if (code != MV_OK)
        return code;
    settle(f, INT64_MAX);
    fill_use(f, &use);
    return MV_OK;
}

mv_code mv_ledger_columns_find(mv_arena *arena, const mv_trace *trace, uint32_t device,
                               const int64_t *edges, uint32_t count, mv_ledger_columns *out,
                               mv_err *err)
{
    const mv_lives none = {.device = device}; /* no figures for PyTorch's allocator are needed */
    filler f = {.trace = trace, .edges = edges, .out = out, .time_us = INT64_MIN};
    mv_arena scratch;
    mv_code code = mv_ledger_series_find(arena, trace, &none, &out->series, err);

    if (code != MV_OK)
        return code;
    mv_arena_init(&scratch, arena->budget);
    out->count = count;
    out->columns = mv_push_array(arena, mv_ledger_column, (uint64_t)count + 1);
    out->by = mv_push_array(arena, uint64_t, (uint64_t)count * out->series.library_count + 1);
    f.place_of = mv_push_array(&scratch, uint32_t, (uint64_t)trace->strings.count + 1);
    f.now = mv_push_array(&scratch, uint64_t, (uint64_t)out->series.library_count + 1);
    if (out->columns && out->by && f.place_of && f.now)
        code = fill(&scratch, &f, device, err);
    else
        code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "ledger");
    mv_arena_release(&scratch);
    return code;
}
