#include "cli/input/pieces.h"

#include <pthread.h>

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
    mv_lives_join *join; /* instead of `add` */
    bool is_ranked;      /* the lives keep the ranks of addresses */
    uint32_t room;       /* how many pieces may be in memory at the same time */
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
    p->trace = *w->trace;
    if (!w->cli->pieces ||
        mv_pieces_read(w->cli->pieces, &p->arena, w->device, nth, &p->trace, &p->err) == MV_OK)
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

static void work(void *user, uint32_t thread)
{
    walk *w = user;
    uint32_t nth;
    piece *p;

    while ((p = take(w, &nth)) != NULL) {
        if (w->join)
            p = &w->pieces[thread]; /* a piece is still in use after later ones have their places */
        find(w, nth, p);
        if (w->join)
            join_found(w, nth, p);
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

    /* a thread releases a piece that it joins before it takes the next */
    w->room = room_for(w->cli, w->device, w->join ? threads : threads + threads / 2);
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

mv_code mv_input_needs_whole(mv_cli *cli, mv_err *err)
{
    cli->reads_whole = true;
    return mv_fail(err, MV_CORRUPT, MV_NO_OFFSET, "%s", "pieces");
}

int mv_input_failed(const mv_cli *cli, const mv_err *err)
{
    return cli->reads_whole ? MV_EXIT_FAILED : mv_complain(mv_input_name(cli), err);
}
