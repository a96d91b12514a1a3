#include "viz/core/tiles.h"

#include <math.h>
#include <sched.h>
#include <semaphore.h>

#include "base/processors.h"
#include "base/thread.h"
#include "viz/core/background.h"
#include "viz/core/tile_maker.h"

enum {
    MOST_TILES = 1024,
    MOST_JOBS = 64, /* maximum number of requests that wait or are in progress */
    MOST_QUADS = 2048,
    MOST_STAND_INS = 32, /* maximum number of tiles at other scales that a view shows in place of
                            missing tiles */
    BASE_ROWS = 512      /* height of the tile that shows everything */
};

#define DEFAULT_BYTES ((uint64_t)64 << 20)

/* Ranks determine the order of work: first the tile that shows everything, then visible tiles, and
 * then the tiles next to these. */
enum { RANK_BASE, RANK_VISIBLE, RANK_BESIDE = 1 << 16 };

typedef enum { TILE_FREE, TILE_WANTED, TILE_READY, TILE_FAILED } tile_state;

typedef struct {
    mv_tile tile;
    tile_state state;
    uint64_t used; /* last turn that showed or requested this tile */
    uint32_t *ids; /* the ids, followed by the spikes */
    uint32_t job;
} entry;

/* States of a job. The user interface owns empty slots, and waiting slots until a worker takes
 * them. The worker then owns the slot until the tile is done. */
enum { JOB_EMPTY, JOB_WAITS, JOB_TAKEN, JOB_DONE, JOB_FAILED };

typedef struct {
    _Atomic int state;
    _Atomic bool stop;
    _Atomic uint32_t rank; /* jobs with a lower rank come first */
    mv_tile_subject subject;
    mv_tile tile;
    uint32_t *ids, *spikes;
    uint64_t epoch;
    uint64_t turn; /* last turn that requested the tile */
    uint32_t entry;
} job;

typedef struct {
    mv_tiles *tiles;
    mv_tile_maker maker;
    pthread_t thread;
} worker;

struct mv_tiles {
    mv_tiles_opts opts;
    mv_budget budget; /* budget for the tiles */
    mv_arena arena;
    uint64_t turn, serial, epoch;
    uint32_t count; /* number of entries that are or were in use */
    entry *entries; /* [MOST_TILES] */
    job jobs[MOST_JOBS];
    mv_pyramid_reader levels;
    mv_tile_maker maker; /* used if there are no threads */
    uint32_t quad_count;
    mv_tile_quad *quads; /* [MOST_QUADS] quads of this turn */
    uint32_t thread_count;
    worker *workers; /* [thread_count] */
    sem_t work;
    _Atomic bool is_closing;
    _Atomic bool is_awake; /* `wake` has been called, and no frame has been requested since */
};

/* ---- workers ------------------------------------------------------------------------------ */

/* Takes the waiting job with the lowest rank; NULL: no job is waiting. */
static job *take_job(mv_tiles *t)
{
    for (;;) {
        job *best = NULL;
        uint32_t rank = UINT32_MAX;
        int waits = JOB_WAITS;
        for (uint32_t i = 0; i < MOST_JOBS; i++) {
            uint32_t its = atomic_load(&t->jobs[i].rank);
            if (atomic_load(&t->jobs[i].state) == JOB_WAITS && (!best || its < rank)) {
                best = &t->jobs[i];
                rank = its;
            }
        }
        if (!best)
            return NULL;
        if (atomic_compare_exchange_strong(&best->state, &waits, JOB_TAKEN))
            return best;
    }
}

static void do_job(mv_tiles *t, mv_tile_maker *maker, job *j)
{
    bool is_visible = atomic_load(&j->rank) < RANK_BESIDE;
    bool done = mv_tile_make(maker, &j->subject, &j->tile, j->epoch, &j->stop, j->ids, j->spikes);

    atomic_store(&j->state, done ? JOB_DONE : JOB_FAILED);
    if (is_visible && t->opts.wake && t->opts.threads && !atomic_exchange(&t->is_awake, true))
        t->opts.wake(t->opts.user);
}

static void *work(void *arg)
{
    worker *w = arg;

    mv_background_begin();
    for (;;) {
        job *j;
        while (sem_wait(&w->tiles->work) != 0)
            ; /* a signal */
        if (atomic_load(&w->tiles->is_closing))
            return NULL;
        j = take_job(w->tiles);
        if (j)
            do_job(w->tiles, &w->maker, j);
    }
}

/* ---- opening and closing ------------------------------------------------------------------ */

uint32_t mv_tiles_threads(void)
{
    uint32_t processors = mv_processors();

    return processors > 2 ? processors - 1 : 1;
}

static bool start_threads(mv_arena *arena, mv_tiles *t)
{
    if (t->opts.threads == MV_COOPERATIVE)
        return true;
    t->workers = mv_push_array(arena, worker, t->opts.threads);
    if (!t->workers)
        return false;
    for (; t->thread_count < t->opts.threads; t->thread_count++) {
        worker *w = &t->workers[t->thread_count];
        w->tiles = t;
        mv_tile_maker_init(&w->maker, t->opts.scratch);
        if (!mv_thread_start(&w->thread, work, w))
            break;
    }
    return t->thread_count > 0 || t->opts.threads == 0;
}

mv_tiles *mv_tiles_open(mv_arena *arena, const mv_tiles_opts *opts)
{
    mv_tiles *t = mv_push_struct(arena, mv_tiles);
    uint64_t bytes = opts->bytes ? opts->bytes : DEFAULT_BYTES;

    if (!t)
        return NULL;
    t->opts = *opts;
    t->opts.bytes = bytes;
    if (!t->opts.scratch)
        t->opts.scratch = MV_TILES_SCRATCH;
    t->budget.limit = bytes;
    mv_arena_init(&t->arena, &t->budget);
    mv_tile_maker_init(&t->maker, t->opts.scratch);
    t->entries = mv_push_array(arena, entry, MOST_TILES);
    t->quads = mv_push_array(arena, mv_tile_quad, MOST_QUADS);
    if (!t->entries || !t->quads || sem_init(&t->work, 0, 0) != 0)
        return NULL;
    if (!start_threads(arena, t)) {
        mv_tiles_close(t);
        return NULL;
    }
    return t;
}

void mv_tiles_close(mv_tiles *t)
{
    if (!t)
        return;
    atomic_store(&t->is_closing, true);
    for (uint32_t i = 0; i < MOST_JOBS; i++)
        atomic_store(&t->jobs[i].stop, true);
    for (uint32_t i = 0; i < t->thread_count; i++)
        sem_post(&t->work);
    for (uint32_t i = 0; i < t->thread_count; i++) {
        pthread_join(t->workers[i].thread, NULL);
        mv_tile_maker_release(&t->workers[i].maker);
    }
    mv_tile_maker_release(&t->maker);
    mv_arena_release(&t->arena);
    sem_destroy(&t->work);
}

/* ---- the cache ---------------------------------------------------------------------------- */

static void drop(mv_tiles *t, entry *e)
{
    mv_arena_drop(&t->arena, e->ids);
    *e = (entry){.state = TILE_FREE};
}

static bool is_same(const mv_tile *a, const mv_tile *b)
{
    return a->subject == b->subject && a->dx == b->dx && a->dy == b->dy && a->kx == b->kx &&
           a->ky == b->ky;
}

static entry *find(mv_tiles *t, const mv_tile *tile)
{
    for (uint32_t i = 0; i < t->count; i++)
        if (t->entries[i].state != TILE_FREE && is_same(&t->entries[i].tile, tile))
            return &t->entries[i];
    return NULL;
}

/* Drops the tile that has been unused the longest. Returns false if all are in use. */
static bool drop_oldest(mv_tiles *t)
{
    entry *oldest = NULL;

    for (uint32_t i = 0; i < t->count; i++) {
        entry *e = &t->entries[i];
        if ((e->state == TILE_READY || e->state == TILE_FAILED) && e->used < t->turn &&
            (!oldest || e->used < oldest->used))
            oldest = e;
    }
    if (oldest)
        drop(t, oldest);
    return oldest;
}

static entry *find_free(mv_tiles *t)
{
    for (;;) {
        for (uint32_t i = 0; i < t->count; i++)
            if (t->entries[i].state == TILE_FREE)
                return &t->entries[i];
        if (t->count < MOST_TILES)
            return &t->entries[t->count++];
        if (!drop_oldest(t))
            return NULL;
    }
}

/* Returns an entry with memory for a tile; NULL: everything is in use. */
static entry *add_entry(mv_tiles *t, const mv_tile *tile)
{
    uint64_t words = (uint64_t)MV_TILE_COLUMNS * tile->rows + MV_TILE_COLUMNS;
    entry *e = find_free(t);
    uint32_t *ids;

    if (!e)
        return NULL;
    while (!(ids = mv_arena_grow(&t->arena, NULL, words * sizeof *ids)))
        if (!drop_oldest(t))
            return NULL;
    *e = (entry){.tile = *tile, .state = TILE_WANTED, .ids = ids};
    e->tile.ids = ids;
    e->tile.spikes = ids + (uint64_t)MV_TILE_COLUMNS * tile->rows;
    e->tile.serial = ++t->serial;
    e->job = MV_NO_ROW;
    return e;
}

/* Collects the tiles that workers have finished since the last call. */
static void collect(mv_tiles *t)
{
    for (uint32_t i = 0; i < MOST_JOBS; i++) {
        job *j = &t->jobs[i];
        int state = atomic_load(&j->state);
        entry *e = &t->entries[j->entry];
        if (state != JOB_DONE && state != JOB_FAILED)
            continue;
        e->state = state == JOB_DONE ? TILE_READY : TILE_FAILED;
        e->job = MV_NO_ROW;
        atomic_store(&j->state, JOB_EMPTY);
    }
}

/* Cancels a request unless a worker has taken it. */
static void cancel(mv_tiles *t, job *j)
{
    int waits = JOB_WAITS;

    if (atomic_compare_exchange_strong(&j->state, &waits, JOB_EMPTY))
        drop(t, &t->entries[j->entry]);
}

static void begin_turn(mv_tiles *t, uint64_t turn)
{
    if (t->turn != turn)
        t->quad_count = 0;
    t->turn = turn;
    for (uint32_t i = 0; i < MOST_JOBS; i++)
        if (t->jobs[i].turn + 1 < turn)
            cancel(t, &t->jobs[i]);
}

static void request(mv_tiles *t, const mv_tile_subject *s, entry *e, uint32_t rank)
{
    job *j = NULL;

    for (uint32_t i = 0; i < MOST_JOBS && !j; i++)
        if (atomic_load(&t->jobs[i].state) == JOB_EMPTY)
            j = &t->jobs[i];
    if (!j) {
        drop(t, e); /* another frame may request the tile again */
        return;
    }
    j->subject = *s;
    j->tile = e->tile;
    j->ids = e->ids;
    j->spikes = e->ids + (uint64_t)MV_TILE_COLUMNS * e->tile.rows;
    j->epoch = t->epoch;
    j->turn = t->turn;
    j->entry = (uint32_t)(e - t->entries);
    e->job = (uint32_t)(j - t->jobs);
    atomic_store(&j->stop, false);
    atomic_store(&j->rank, rank);
    if (t->opts.threads) {
        atomic_store(&j->state, JOB_WAITS);
        sem_post(&t->work);
    } else {
        do_job(t, &t->maker, j);
        collect(t);
    }
}

/* Makes an empty tile, which needs no worker. */
static void set_empty(entry *e)
{
    for (uint32_t i = 0; i < MV_TILE_COLUMNS; i++)
        e->ids[i] = MV_NO_ROW; /* there are no ids, so the spikes come first */
    e->state = TILE_READY;
}

/* Returns the tile if it exists or has failed; otherwise requests it. */
static entry *want(mv_tiles *t, const mv_tile_subject *s, mv_tile *tile, uint32_t rank)
{
    entry *e = find(t, tile);

    if (e && e->state == TILE_WANTED) {
        atomic_store(&t->jobs[e->job].rank, rank);
        t->jobs[e->job].turn = t->turn;
    }
    if (!e) {
        tile->rows = mv_tile_rows(&t->levels, s, tile);
        e = add_entry(t, tile);
        if (e && tile->rows > 0)
            request(t, s, e, rank);
        else if (e)
            set_empty(e);
    }
    if (e)
        e->used = t->turn;
    return e && (e->state == TILE_READY || e->state == TILE_FAILED) ? e : NULL;
}

/* ---- scales ------------------------------------------------------------------------------- */

/* Keeps 18 bits after the binary point. The error is a twentieth of a pixel over the widest screen,
 * and the result is the same number again after a window was panned and rounded. */
static double rounded(double scale)
{
    int exponent;
    double mantissa = frexp(scale, &exponent);

    return ldexp(nearbyint(ldexp(mantissa, 18)), exponent - 18);
}

/* Returns the nearest of `steps` scales in each octave. */
static double stepped(double scale, double steps)
{
    return exp2(nearbyint(log2(scale) * steps) / steps);
}

/* The range of grid cells that a view covers along one axis. Cells are `cell` pixels wide. */
typedef struct {
    double scale;        /* scale of the tiles */
    uint64_t first, end; /* cells */
    double at;           /* pixel where `first` begins, which is a whole pixel at rest */
    double cell;         /* pixels */
} span;

static span span_of(double from, double scale, double exact, uint32_t pixels, double most,
                    uint32_t cell)
{
    double size = exact * cell, first = floor(from / size);
    double last = ceil((from + scale * pixels) / size), limit = ceil(most / size);
    span s = {.scale = exact, .cell = size / scale};

    if (first < 0)
        first = 0;
    if (last > limit)
        last = limit;
    if (first > limit)
        first = limit;
    s.first = (uint64_t)first;
    s.end = last > first ? (uint64_t)last : s.first;
    s.at = (first * size - from) / scale;
    return s;
}

static void rest(span *s, uint32_t cell)
{
    s->at = nearbyint(s->at);
    s->cell = cell;
}

/* The columns and rows of tiles that a view needs. */
typedef struct {
    span x, y;
} grid;

static double highest(const mv_tile_subject *s)
{
    const mv_pyramid *p = s->pyramid;
    const mv_levels *most = p->levels ? &p->extent[p->levels - 1][0].most : &p->before;
    uint64_t bytes = mv_timescale_height(s->scale, most);
    uint64_t before = mv_timescale_height(s->scale, &p->before);

    return (double)(bytes > before ? bytes : before);
}

static grid grid_of(const mv_tile_view *v)
{
    double dx = v->is_zooming ? stepped(v->dx, 1) : rounded(v->dx);
    double dy = v->is_zooming ? stepped(v->dy, 4) : rounded(v->dy);
    grid g;

    g.x = span_of(v->x, v->dx, dx, v->width, v->subject.scale->length, MV_TILE_COLUMNS);
    g.y = span_of(v->y, v->dy, dy, v->height, highest(&v->subject), MV_TILE_ROWS);
    if (!v->is_zooming) {
        rest(&g.x, MV_TILE_COLUMNS);
        rest(&g.y, MV_TILE_ROWS);
    }
    return g;
}

/* ---- a frame ------------------------------------------------------------------------------ */

/* Clips [at, at + length) to [0, limit), and clips the source to the matching part. */
static bool clip(double *at, double *length, double *from, double *part, double limit)
{
    double ratio = *part / *length, cut = *at < 0 ? -*at : 0;

    *at += cut;
    *from += cut * ratio;
    *length -= cut;
    if (*length > limit - *at)
        *length = limit - *at;
    *part = *length * ratio;
    return *length > 0 && *part > 0;
}

/* Places a tile by its lower left corner, in pixels from the lower left corner of the view. */
static void put(mv_tiles *t, const mv_tile_view *v, const mv_tile *tile, double left, double bottom,
                double w, double pixel_h, bool is_exact)
{
    double h = pixel_h * tile->rows, x = left, y = v->height - bottom - h;
    double from_x = 0, from_y = 0, from_w = MV_TILE_COLUMNS, from_h = tile->rows;

    if (t->quad_count == MOST_QUADS || tile->rows == 0 || w <= 0 || h <= 0)
        return;
    if (!clip(&x, &w, &from_x, &from_w, v->width) || !clip(&y, &h, &from_y, &from_h, v->height))
        return;
    t->quads[t->quad_count++] =
        (mv_tile_quad){tile,     (float)from_x, (float)from_y, (float)from_w, (float)from_h,
                       (float)x, (float)y,      (float)w,      (float)h,      is_exact};
}

/* Returns how many octaves the scale of a tile differs from that of the view. */
static double unlike(const mv_tile *tile, const grid *g)
{
    return fabs(log2(tile->dx / g->x.scale)) + fabs(log2(tile->dy / g->y.scale));
}

static bool is_in_view(const mv_tile *tile, const mv_tile_view *v)
{
    double w = tile->dx * MV_TILE_COLUMNS, h = tile->dy * MV_TILE_ROWS;
    double x = (double)tile->kx * w, y = (double)tile->ky * h;

    return x < v->x + v->dx * v->width && x + w > v->x && y < v->y + v->dy * v->height &&
           y + h > v->y;
}

/* Places tiles at other scales, with the most similar ones last. */
static void put_stand_ins(mv_tiles *t, const mv_tile_view *v, const grid *g)
{
    const entry *best[MOST_STAND_INS];
    double how[MOST_STAND_INS];
    uint32_t count = 0;

    for (uint32_t i = 0; i < t->count; i++) {
        entry *e = &t->entries[i];
        double its = e->state == TILE_READY ? unlike(&e->tile, g) : 0;
        uint32_t at = count;
        if (e->state != TILE_READY || e->tile.subject != v->subject.id ||
            (e->tile.dx == g->x.scale && e->tile.dy == g->y.scale) || !is_in_view(&e->tile, v))
            continue;
        if (count == MOST_STAND_INS && its >= how[count - 1])
            continue;
        if (count < MOST_STAND_INS)
            count++;
        else
            at--;
        for (; at > 0 && how[at - 1] > its; at--) {
            how[at] = how[at - 1];
            best[at] = best[at - 1];
        }
        how[at] = its;
        best[at] = e;
    }
    while (count-- > 0) {
        const mv_tile *tile = &best[count]->tile;
        double w = tile->dx * MV_TILE_COLUMNS, h = tile->dy * MV_TILE_ROWS;
        t->entries[best[count] - t->entries].used = t->turn;
        put(t, v, tile, ((double)tile->kx * w - v->x) / v->dx,
            ((double)tile->ky * h - v->y) / v->dy, w / v->dx, tile->dy / v->dy, false);
    }
}

/* Requests the cells of a grid, middle cells first, and counts the missing ones. */
static void want_cells(mv_tiles *t, const mv_tile_view *v, const grid *g, uint32_t rank,
                       mv_tile_frame *out)
{
    uint64_t middle = g->x.first + (g->x.end - g->x.first) / 2;

    for (uint64_t ky = g->y.first; ky < g->y.end; ky++)
        for (uint64_t kx = g->x.first; kx < g->x.end; kx++) {
            mv_tile tile = {
                .subject = v->subject.id, .dx = g->x.scale, .dy = g->y.scale, .kx = kx, .ky = ky};
            uint64_t away = kx < middle ? middle - kx : kx - middle;
            const entry *e =
                want(t, &v->subject, &tile, rank + (away < 1000 ? (uint32_t)away : 1000));
            out->missing += !e || e->state == TILE_FAILED;
            out->failed += e && e->state == TILE_FAILED;
        }
}

static void put_cells(mv_tiles *t, const mv_tile_view *v, const grid *g)
{
    for (uint64_t ky = g->y.first; ky < g->y.end; ky++)
        for (uint64_t kx = g->x.first; kx < g->x.end; kx++) {
            mv_tile tile = {
                .subject = v->subject.id, .dx = g->x.scale, .dy = g->y.scale, .kx = kx, .ky = ky};
            const entry *e = find(t, &tile);
            if (e && e->state == TILE_READY)
                put(t, v, &e->tile, g->x.at + g->x.cell * (double)(kx - g->x.first),
                    g->y.at + g->y.cell * (double)(ky - g->y.first), g->x.cell,
                    g->y.cell / MV_TILE_ROWS, !v->is_zooming);
        }
}

/* Requests one tile for the whole trace, so that there is always a tile to stretch. */
static void want_base(mv_tiles *t, const mv_tile_view *v)
{
    const mv_tile_subject *s = &v->subject;
    mv_tile tile = {.subject = s->id};
    double most = highest(s);

    tile.dx = exp2(ceil(log2(s->scale->length / MV_TILE_COLUMNS)));
    tile.dy = exp2(ceil(log2((most > 1 ? most : 1) / BASE_ROWS)));
    want(t, s, &tile, RANK_BASE);
}

/* Requests one screen to the left and one to the right of a complete view. */
static void want_beside(mv_tiles *t, const mv_tile_view *v, const grid *g)
{
    mv_tile_frame ignored = {0};
    uint64_t cells = g->x.end - g->x.first;
    uint64_t limit = (uint64_t)ceil(v->subject.scale->length / (g->x.scale * MV_TILE_COLUMNS));
    grid beside = *g;

    beside.x.first = g->x.end;
    beside.x.end = g->x.end + cells < limit ? g->x.end + cells : limit;
    if (beside.x.first < beside.x.end)
        want_cells(t, v, &beside, RANK_BESIDE, &ignored);
    beside.x.end = g->x.first;
    beside.x.first = g->x.first > cells ? g->x.first - cells : 0;
    want_cells(t, v, &beside, RANK_BESIDE, &ignored);
}

mv_tile_frame mv_tiles_frame(mv_tiles *t, const mv_tile_view *v, uint64_t turn)
{
    mv_tile_frame out = {.quads = t->quads + (turn == t->turn ? t->quad_count : 0)};
    grid g = grid_of(v);
    uint32_t first;

    atomic_store(&t->is_awake, false);
    collect(t);
    begin_turn(t, turn);
    if (t->levels.pyramid != v->subject.pyramid)
        mv_pyramid_reader_init(&t->levels, v->subject.pyramid);
    first = t->quad_count;
    if (t->opts.threads)
        want_base(t, v);
    want_cells(t, v, &g, RANK_VISIBLE, &out);
    if (out.missing > 0)
        put_stand_ins(t, v, &g);
    put_cells(t, v, &g);
    if (out.missing == 0 && t->opts.threads && !v->is_zooming)
        want_beside(t, v, &g);
    out.count = t->quad_count - first;
    return out;
}

bool mv_tiles_run_one_task(mv_tiles *t)
{
    job *j = t->opts.threads == MV_COOPERATIVE ? take_job(t) : NULL;

    if (j)
        do_job(t, &t->maker, j);
    return j;
}

bool mv_tiles_are_idle(const mv_tiles *t)
{
    for (uint32_t i = 0; i < MOST_JOBS; i++) {
        int state = atomic_load(&t->jobs[i].state);
        if (state == JOB_WAITS || state == JOB_TAKEN)
            return false;
    }
    return true;
}

void mv_tiles_forget(mv_tiles *t, uint64_t subject)
{
    for (uint32_t i = 0; i < MOST_JOBS; i++) {
        job *j = &t->jobs[i];
        if (j->subject.id != subject)
            continue;
        cancel(t, j);
        atomic_store(&j->stop, true);
        while (atomic_load(&j->state) == JOB_TAKEN)
            sched_yield();
    }
    collect(t);
    for (uint32_t i = 0; i < t->count; i++)
        if (t->entries[i].state != TILE_FREE && t->entries[i].tile.subject == subject)
            drop(t, &t->entries[i]);
    t->epoch++;
    t->levels.pyramid = NULL;
}

mv_tile_point mv_tile_point_at(const mv_tile_view *view, mv_pyramid_reader *levels, double px,
                               double py)
{
    const mv_timescale *s = view->subject.scale;
    mv_tile_view at_rest = *view;
    mv_tile_point point = {.byte = MV_NO_BYTES};
    double column, row, dx, dy;
    grid g;

    at_rest.is_zooming = false;
    g = grid_of(&at_rest);
    dx = g.x.scale;
    dy = g.y.scale;
    column = (double)g.x.first * MV_TILE_COLUMNS + floor(px) - g.x.at;
    point.instant = mv_timescale_instant(s, levels, column * dx, (column + 1) * dx);
    row = (double)g.y.first * MV_TILE_ROWS + view->height - 1 - floor(py) - g.y.at;
    if (row < 0 || column < 0 || column * dx >= s->length)
        return point;
    point.byte = mv_tile_byte(dy, (uint64_t)row);
    point.low = (uint64_t)fmin(row * dy, 0x1p63);
    point.high = (uint64_t)fmin(ceil((row + 1) * dy), 0x1p63);
    return point;
}
