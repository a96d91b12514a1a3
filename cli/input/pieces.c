#include "cli/input/pieces.h"

#include <pthread.h>

#include "analyze/thin/thin.h"
#include "base/parallel_for.h"
#include "cli/complain.h"
#include "cli/input/input.h"
#include "parse/pieces.h"

enum {
    MOST_THREADS = 16,
    MOST_ROOM = MOST_THREADS + MOST_THREADS / 2, /* more pieces than threads, so that no thread has
                                                  * to wait for a slow piece */
    /* Memory for one event and its life, including temporary memory. */
    EVENT_BYTES = 128
};

typedef struct {
    mv_arena arena;
    mv_trace trace;
    mv_lives lives;
    mv_err err;
    bool is_found; /* the lives were found, but the piece was not added yet */
} piece;

typedef struct {
    mv_cli *cli;
    const mv_trace *trace;
    uint32_t device, count;
    mv_add_piece_fn *add;
    void *user;
    mv_lives_join *join;   /* instead of `add` */
    const mv_bitmap *kept; /* instead of `add`: events to copy, without lives */
    mv_events *copy;       /* [their number] */
    bool has_joined;       /* the columns of OF_JOINED are copied from the joined lives */
    bool is_ranked;        /* the lives keep the ranks of addresses */
    uint32_t room;         /* how many pieces may be in memory at the same time */
    pthread_mutex_t lock;
    pthread_cond_t added_one;
    uint32_t next, added; /* number of pieces that threads have taken, and that were added in
                           * order */
    bool is_adding;       /* a thread is in `add` */
    piece pieces[MOST_ROOM];
    mv_err err; /* error of the first piece that failed */
} walk;

/* Takes the next piece as soon as there is room for it. Returns NULL if there is none, or if a
 * piece has failed. */
static piece *take(walk *w, uint32_t *nth)
{
    bool is_there;

    pthread_mutex_lock(&w->lock);
    *nth = w->next++;
    while (*nth < w->count && w->err.code == MV_OK && *nth - w->added >= w->room)
        pthread_cond_wait(&w->added_one, &w->lock);
    is_there = *nth < w->count && w->err.code == MV_OK;
    pthread_mutex_unlock(&w->lock);
    return is_there ? &w->pieces[*nth % w->room] : NULL;
}

static void find(walk *w, uint32_t nth, piece *p)
{
    mv_find_lives_fn *find_lives = w->is_ranked ? mv_lives_find_ranked : mv_lives_find;

    mv_arena_init(&p->arena, &w->cli->budget);
    p->err = (mv_err){.offset = MV_NO_OFFSET};
    if (!w->cli->pieces)
        p->trace = *w->trace;
    else if (mv_pieces_read(w->cli->pieces, &p->arena, w->device, nth, &p->trace, &p->err) != MV_OK)
        return;
    if (!w->kept)
        find_lives(&p->arena, &p->trace, w->device, &p->lives, &p->err);
}

/* Adds the pieces that are next in order, unless another thread is already adding. */
static void add_found(walk *w, piece *found)
{
    pthread_mutex_lock(&w->lock);
    found->is_found = true;
    while (!w->is_adding && w->pieces[w->added % w->room].is_found) {
        piece *p = &w->pieces[w->added % w->room];
        bool has_failed = w->err.code != MV_OK;
        w->is_adding = true;
        pthread_mutex_unlock(&w->lock);
        if (!has_failed && p->err.code == MV_OK)
            w->add(w->user, &p->trace, &p->lives, &p->err);
        mv_arena_release(&p->arena);
        pthread_mutex_lock(&w->lock);
        if (!has_failed)
            w->err = p->err;
        p->is_found = w->is_adding = false;
        w->added++;
        pthread_cond_broadcast(&w->added_one);
    }
    pthread_mutex_unlock(&w->lock);
}

/* Joins a piece after all earlier ones have their places. Several threads copy at the same time. */
static void join_found(walk *w, uint32_t nth, piece *p)
{
    mv_lives_piece found;
    bool has_failed;

    if (p->err.code == MV_OK)
        mv_lives_join_look(w->join, &p->arena, &p->trace, &p->lives, &found, &p->err);
    pthread_mutex_lock(&w->lock);
    while (w->added != nth && w->err.code == MV_OK)
        pthread_cond_wait(&w->added_one, &w->lock);
    has_failed = w->err.code != MV_OK;
    if (!has_failed && p->err.code == MV_OK)
        mv_lives_join_place(w->join, &found, &p->err);
    if (!has_failed)
        w->err = p->err;
    has_failed = w->err.code != MV_OK;
    w->added++;
    pthread_cond_broadcast(&w->added_one);
    pthread_mutex_unlock(&w->lock);
    if (!has_failed)
        mv_lives_join_copy(w->join, &found);
    mv_arena_release(&p->arena);
}

/* The columns that the joined lives have, or show, for events with a row. */
enum {
    OF_JOINED = MV_EVENT_action | MV_EVENT_stream | MV_EVENT_tag | MV_EVENT_time_us | MV_EVENT_addr
};

/* Whether all kept events have a row. */
static bool have_rows(const mv_lives *lives, const mv_bitmap *kept)
{
    uint32_t event = mv_bitmap_next(kept, 0, kept->count);

    while (event < kept->count && lives->alloc_of[event] != MV_NO_ROW)
        event = mv_bitmap_next(kept, event + 1, kept->count);
    return event >= kept->count;
}

/* Copies the columns of OF_JOINED from the joined lives, which takes less time than reading them
 * again. */
static void copy_joined(const walk *w, uint32_t first, uint32_t end)
{
    const mv_lives *lives = w->cli->joined;
    const mv_events *from = &lives->events;
    uint32_t as = mv_bitmap_below(w->kept, first);

    for (uint32_t i = mv_bitmap_next(w->kept, first, end); i < end;
         i = mv_bitmap_next(w->kept, i + 1, end), as++) {
        w->copy->action[as] = from->action[i];
        w->copy->stream[as] = from->stream[i];
        w->copy->tag[as] = from->tag[i];
        w->copy->time_us[as] = mv_event_time(from, i);
        w->copy->addr[as] = mv_is_segment_action(from->action[i])
                                ? from->addr[i]
                                : lives->allocs.addr[lives->alloc_of[i]];
    }
}

/* Copies the events of a piece that are kept. */
static void copy_found(walk *w, piece *p)
{
    mv_events events = mv_trace_events(&p->trace, w->device);
    mv_living l = mv_living_of(&p->trace, w->device);
    uint32_t end = l.first + (events.count - l.count);

    if (p->err.code == MV_OK)
        mv_kept_events_copy(w->kept, l.first, end, &events, l.count, w->copy);
    if (p->err.code == MV_OK && w->has_joined)
        copy_joined(w, l.first, end);
    pthread_mutex_lock(&w->lock);
    if (w->err.code == MV_OK)
        w->err = p->err;
    w->added++;
    pthread_cond_broadcast(&w->added_one);
    pthread_mutex_unlock(&w->lock);
    mv_arena_release(&p->arena);
}

static void work(void *user, uint32_t thread)
{
    walk *w = user;
    uint32_t nth;
    piece *p;

    while ((p = take(w, &nth)) != NULL) {
        if (!w->add)
            p = &w->pieces[thread]; /* a piece is still in use after later ones have their places */
        find(w, nth, p);
        if (w->join)
            join_found(w, nth, p);
        else if (w->kept)
            copy_found(w, p);
        else
            add_found(w, p);
    }
}

static uint64_t piece_bytes(const mv_cli *cli, uint32_t device)
{
    return cli->pieces ? mv_pieces_most(cli->pieces, device) * (uint64_t)EVENT_BYTES : 0;
}

/* Returns how many pieces fit into the remaining memory at the same time; at most `room`. */
static uint32_t room_for(const mv_cli *cli, uint32_t device, uint32_t room)
{
    uint64_t left = cli->budget.limit - cli->budget.used, bytes = piece_bytes(cli, device);

    while (room > 1 && room * bytes > left / 2)
        room--;
    return room;
}

static void walk_all(walk *w)
{
    uint32_t threads =
        mv_parallel_for_threads(w->count < MOST_THREADS ? w->count : MOST_THREADS, 0);
    mv_budget *budget = &w->cli->budget;
    mv_page_pool pool;

    /* a thread releases a piece that it joins or copies before it takes the next */
    w->room = room_for(w->cli, w->device, w->add ? threads + threads / 2 : threads);
    threads = threads < w->room ? threads : w->room;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->added_one, NULL);
    if (w->count > 1)
        mv_page_pool_begin(&pool, budget, w->room * piece_bytes(w->cli, w->device));
    mv_parallel_for_whole(threads, threads, work, w);
    for (uint32_t i = 0; i < w->room; i++) /* pieces that were not added because of a failure */
        if (w->pieces[i].is_found)
            mv_arena_release(&w->pieces[i].arena);
    if (w->count > 1)
        mv_page_pool_end(&pool, budget);
    pthread_cond_destroy(&w->added_one);
    pthread_mutex_destroy(&w->lock);
}

static walk *begin_walk(mv_cli *cli, const mv_trace *trace, uint32_t device, mv_err *err)
{
    walk *w = mv_push_struct(&cli->arena, walk);

    if (!w) {
        mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "pieces");
        return NULL;
    }
    *w = (walk){.cli = cli, .trace = trace, .device = device};
    w->err.offset = MV_NO_OFFSET;
    w->count = cli->pieces ? mv_pieces_count(cli->pieces, device) : 1;
    return w;
}

mv_code mv_input_each_piece(mv_cli *cli, const mv_trace *trace, uint32_t device,
                            mv_add_piece_fn *add_piece, void *user, mv_err *err)
{
    walk *w = begin_walk(cli, trace, device, err);

    if (!w)
        return err->code;
    w->add = add_piece;
    w->user = user;
    walk_all(w);
    if (w->err.code == MV_CORRUPT && cli->pieces)
        return mv_input_needs_whole(cli, err);
    if (w->err.code != MV_OK)
        *err = w->err;
    return w->err.code;
}

mv_code mv_input_join_pieces(mv_cli *cli, const mv_trace *trace, uint32_t device,
                             mv_lives_kept kept, mv_lives *out, mv_err *err)
{
    walk *w = begin_walk(cli, trace, device, err);

    if (!w)
        return err->code;
    mv_pieces_need(cli->pieces, kept.columns | kept.of_few | MV_LIVES_COLUMNS | MV_EVENT_time_us);
    w->is_ranked = kept.of_few;
    w->join = mv_lives_join_begin(mv_pieces_arena(cli->pieces), trace, device, kept);
    if (!w->join)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "lives of device %u", device);
    walk_all(w);
    mv_lives_join_end(w->join, w->err.code == MV_OK ? out : NULL, &w->err);
    if (w->err.code != MV_OK)
        *err = w->err;
    return w->err.code;
}

mv_code mv_input_read_kept(void *user, mv_arena *arena, uint32_t device, const mv_bitmap *kept,
                           mv_events *out, mv_err *err)
{
    mv_cli *cli = user;
    walk *w = begin_walk(cli, NULL, device, err);

    if (!w)
        return err->code;
    if (!mv_kept_events_push(arena, kept, out))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "pieces");
    w->has_joined = have_rows(cli->joined, kept);
    mv_pieces_need(cli->pieces, w->has_joined ? ~(uint32_t)OF_JOINED : ~0u);
    w->kept = kept;
    w->copy = out;
    walk_all(w);
    if (w->err.code == MV_CORRUPT)
        return mv_input_needs_whole(cli, err);
    if (w->err.code != MV_OK)
        *err = w->err;
    return w->err.code;
}

mv_code mv_input_needs_whole(mv_cli *cli, mv_err *err)
{
    cli->reads_whole = true;
    return mv_fail(err, MV_CORRUPT, MV_NO_OFFSET, "%s", "pieces");
}

int mv_input_failed(const mv_cli *cli, const mv_err *err)
{
    return cli->reads_whole ? MV_EXIT_FAILED : mv_complain(mv_input_name(cli), err);
}
