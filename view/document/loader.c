#include <pthread.h>
#include <string.h>

#include "base/thread.h"
#include "view/document/document.h"
#include "viz/core/background.h"

enum { MOST_DOCUMENTS = 8192 };

/* What to do next. */
typedef struct {
    enum { NOTHING, READ, SHOW, JUDGE } what;
    mv_document *document;
    uint32_t device_row;
} task;

struct mv_loader {
    mv_arena *arena;
    mv_budget *budget;
    mv_live_readers *readers;
    void (*wake)(void *user);
    void *user;
    bool is_threaded, is_cooperative;
    pthread_t thread;
    pthread_mutex_t lock; /* protects everything below */
    pthread_cond_t work;
    bool is_closing;
    bool is_busy;
    uint32_t count;
    mv_document *documents[MOST_DOCUMENTS];
    mv_document *preferred;
    uint32_t preferred_row;
};

static int stage_of(const _Atomic int *stage)
{
    return atomic_load_explicit(stage, memory_order_acquire);
}

static void wake(const mv_loader *l)
{
    if (l->wake)
        l->wake(l->user);
}

/* ---- choosing a task --------------------------------------------------------------------- */

static bool is_wanted(const mv_document *d, uint32_t row, int what)
{
    const mv_document_device *v = &d->devices[row];
    int stage = stage_of(&v->stage);

    if (what == SHOW)
        return stage == MV_DEVICE_WAITING || stage == MV_DEVICE_BUILDING_LIFETIMES;
    return stage == MV_DEVICE_SHOWN &&
           !atomic_load_explicit(&v->is_unevaluated, memory_order_relaxed);
}

/* Returns the device with the most events that has not reached the stage; MV_NO_ROW: there is
 * none. */
static uint32_t largest(const mv_document *d, int what)
{
    uint32_t found = MV_NO_ROW;

    for (uint32_t i = 0; i < d->device_count; i++)
        if (is_wanted(d, i, what) &&
            (found == MV_NO_ROW || d->devices[i].events > d->devices[found].events))
            found = i;
    return found;
}

/* Returns the next task for the preferred device: reading its file, showing it, or making its
 * reports. */
static task preferred_task(const mv_loader *l)
{
    mv_document *d = l->preferred;
    uint32_t row = l->preferred_row;

    if (!d)
        return (task){0};
    for (uint32_t i = 0; d->origin && i < l->count; i++) /* the document that reads the file must be
                                                            prepared first */
        if (l->documents[i] == d->origin && stage_of(&d->origin->stage) == MV_DOCUMENT_WAITING)
            return (task){READ, l->documents[i], 0};
    if (stage_of(&d->stage) == MV_DOCUMENT_WAITING)
        return (task){READ, d, 0};
    if (stage_of(&d->stage) != MV_DOCUMENT_OPENED)
        return (task){0};
    if (row >= d->device_count) {
        row = 0;
        for (uint32_t i = 1; i < d->device_count; i++)
            if (d->devices[i].events > d->devices[row].events)
                row = i;
    }
    for (int what = SHOW; row < d->device_count && what <= JUDGE; what++)
        if (is_wanted(d, row, what))
            return (task){what, d, row};
    return (task){0};
}

static task next_task(const mv_loader *l)
{
    task t = preferred_task(l);

    for (uint32_t i = 0; t.what == NOTHING && i < l->count; i++)
        if (stage_of(&l->documents[i]->stage) == MV_DOCUMENT_WAITING)
            t = (task){READ, l->documents[i], 0};
    for (int what = SHOW; what <= JUDGE; what++)
        for (uint32_t i = 0; t.what == NOTHING && i < l->count; i++) {
            mv_document *d = l->documents[i];
            uint32_t row = stage_of(&d->stage) == MV_DOCUMENT_OPENED ? largest(d, what) : MV_NO_ROW;
            if (row != MV_NO_ROW)
                t = (task){what, d, row};
        }
    return t;
}

/* ---- running a task ---------------------------------------------------------------------- */

typedef struct {
    mv_loader *loader;
    mv_document *document;
} reading;

static void progress(void *user, uint64_t done, uint64_t total)
{
    const reading *r = user;

    atomic_store_explicit(&r->document->bytes_done, done, memory_order_relaxed);
    atomic_store_explicit(&r->document->bytes_all, total, memory_order_relaxed);
    wake(r->loader);
}

static void run(mv_loader *l, task t)
{
    reading r = {l, t.document};

    if (t.what == READ) {
        mv_document_read(t.document, l->budget,
                         (mv_read_opts){.progress = progress, .user = &r, .readers = l->readers});
    } else {
        while (t.what == SHOW ? mv_document_show(t.document, t.device_row, l->budget)
                              : mv_document_run_reports(t.document, t.device_row))
            if (l->is_cooperative)
                return;
    }
    wake(l);
    if (t.what != READ)
        mv_document_file(t.document, t.device_row, MV_LONG_EVENTS);
}

static void *work(void *user)
{
    mv_loader *l = user;

    mv_background_begin();
    pthread_mutex_lock(&l->lock);
    while (!l->is_closing) {
        task t = next_task(l);
        l->is_busy = t.what != NOTHING;
        if (!l->is_busy) {
            pthread_cond_wait(&l->work, &l->lock);
            continue;
        }
        pthread_mutex_unlock(&l->lock);
        run(l, t);
        pthread_mutex_lock(&l->lock);
    }
    l->is_busy = false;
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* ---- the interface ------------------------------------------------------------------------ */

mv_loader *mv_loader_open(mv_arena *arena, mv_budget *budget, uint32_t threads,
                          mv_live_readers *readers, void (*wake_fn)(void *), void *user)
{
    mv_loader *l = mv_push_struct(arena, mv_loader);

    if (!l)
        return NULL;
    *l = (mv_loader){
        .arena = arena, .budget = budget, .readers = readers, .wake = wake_fn, .user = user};
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->work, NULL);
    l->is_cooperative = threads == MV_COOPERATIVE;
    l->is_threaded = threads && !l->is_cooperative && mv_thread_start(&l->thread, work, l);
    return l;
}

void mv_loader_close(mv_loader *l)
{
    uint64_t limit;
    bool lacked, is_busy;

    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    l->is_closing = true;
    is_busy = l->is_busy;
    pthread_cond_signal(&l->work);
    pthread_mutex_unlock(&l->lock);
    /* A cancelled read must not count as out of memory, because another view may share the
     * budget. */
    lacked = __atomic_load_n(&l->budget->lacked, __ATOMIC_RELAXED);
    limit = __atomic_load_n(&l->budget->limit, __ATOMIC_RELAXED);
    if (is_busy)
        __atomic_store_n(&l->budget->limit, 0, __ATOMIC_RELAXED);
    if (l->is_threaded)
        pthread_join(l->thread, NULL);
    if (is_busy) {
        __atomic_store_n(&l->budget->limit, limit, __ATOMIC_RELAXED);
        __atomic_store_n(&l->budget->lacked, lacked, __ATOMIC_RELAXED);
    }
    for (uint32_t i = 0; i < l->count; i++)
        mv_document_release(l->documents[i]);
    pthread_cond_destroy(&l->work);
    pthread_mutex_destroy(&l->lock);
}

/* Adds a document. Without a thread, all work is done here. */
static void add(mv_loader *l, mv_document *d)
{
    pthread_mutex_lock(&l->lock);
    l->documents[l->count++] = d;
    pthread_cond_signal(&l->work);
    pthread_mutex_unlock(&l->lock);
    if (!l->is_threaded && !l->is_cooperative)
        for (task t = next_task(l); t.what != NOTHING; t = next_task(l))
            run(l, t);
}

mv_document *mv_loader_add(mv_loader *l, const char *path, const char *level)
{
    mv_document *d = l->count < MOST_DOCUMENTS ? mv_push_struct(l->arena, mv_document) : NULL;
    const char *slash;

    if (!d || !(d->path = mv_arena_text(l->arena, path, strlen(path))) ||
        !(d->level = mv_arena_text(l->arena, level, strlen(level))))
        return NULL;
    slash = strrchr(d->path, '/');
    d->name = slash && slash[1] ? slash + 1 : d->path;
    add(l, d);
    return d;
}

static bool is_of_level(const mv_document *d, const char *level)
{
    const char *shown =
        d->trace.origin.level ? d->trace.origin.level : mv_level_name(MV_LEVEL_PYTORCH);

    return strcmp(d->level, level) == 0 ||
           (stage_of(&d->stage) == MV_DOCUMENT_OPENED && !d->is_missing_level && !*d->level &&
            strcmp(shown, level) == 0);
}

mv_document *mv_loader_level(mv_loader *l, mv_document *document, const char *level)
{
    const mv_document *origin = document->origin ? document->origin : document;
    mv_document *d;

    for (uint32_t i = 0; i < l->count; i++)
        if ((l->documents[i] == origin || l->documents[i]->origin == origin) &&
            is_of_level(l->documents[i], level))
            return l->documents[i];
    d = l->count < MOST_DOCUMENTS ? mv_push_struct(l->arena, mv_document) : NULL;
    if (!d || !(d->level = mv_arena_text(l->arena, level, strlen(level))))
        return NULL;
    d->path = origin->path;
    d->name = origin->name;
    d->origin = origin;
    add(l, d);
    return d;
}

mv_document *mv_loader_borrow(mv_loader *l, const char *name, const mv_trace *trace,
                              const mv_lives *lives)
{
    mv_document *d = l->count < MOST_DOCUMENTS ? mv_push_struct(l->arena, mv_document) : NULL;
    mv_err err;

    if (!d || !(d->name = mv_arena_text(l->arena, name, strlen(name))))
        return NULL;
    d->path = d->name;
    l->documents[l->count++] = d;
    if (mv_document_borrow(d, trace, lives, l->budget, &err) != MV_OK)
        return NULL;
    return mv_document_prepare(d, l->budget) ? d : NULL;
}

void mv_loader_prefer(mv_loader *l, mv_document *document, uint32_t device_row)
{
    pthread_mutex_lock(&l->lock);
    l->preferred = document;
    l->preferred_row = device_row;
    pthread_mutex_unlock(&l->lock);
}

bool mv_loader_run_one_task(mv_loader *l)
{
    task t = l->is_cooperative ? next_task(l) : (task){0};

    if (t.what != NOTHING)
        run(l, t);
    return t.what != NOTHING;
}

bool mv_loader_is_idle(mv_loader *l)
{
    bool is_idle;

    pthread_mutex_lock(&l->lock);
    is_idle = !l->is_busy && next_task(l).what == NOTHING;
    pthread_mutex_unlock(&l->lock);
    return is_idle;
}
