#include "parse/live/live_watch.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/sort.h"
#include "parse/live/live_follow.h"
#include "parse/live/read_live.h"

typedef struct {
    bool blocks[MV_LIVE_LISTS];
    bool calls[MV_LIVE_LISTS]; /* whether there are calls which prove that the device exists */
    bool heaps[MV_LIVE_LISTS];
} seen_devices;

/* One of the two readers, with the records of everything that is alive at its position. */
typedef struct {
    mv_arena arena;
    mv_live_follow *follow;
    mv_live_alive alive;
    mv_live_record next; /* a record that was decoded, but is later than `until_us` */
    bool has_next;
    bool has_any;            /* at least one record was taken */
    uint64_t sequence;       /* highest number of a record taken */
    uint64_t records, bytes; /* number of records and bytes read so far, including those of closed
                              * followers */
    seen_devices used;
} reader;

struct mv_live_watch {
    mv_budget *budget;
    char *path;
    reader now, before;
    uint64_t now_us, since_us;
};

/* ---- the readers ------------------------------------------------------------------------- */

static uint64_t bytes_of(const reader *r)
{
    return r->bytes + (r->follow ? mv_live_follow_status(r->follow)->bytes : 0);
}

static void close_reader(reader *r)
{
    mv_live_follow_close(r->follow);
    mv_arena_release(&r->arena);
}

static bool open_reader(mv_live_watch *w, reader *r, mv_err *err)
{
    *r = (reader){.records = r->records, .bytes = bytes_of(r)};
    mv_arena_init(&r->arena, w->budget);
    mv_live_alive_init(&r->arena, &r->alive);
    r->follow = mv_live_follow_open(&r->arena, w->path, err);
    return r->follow != NULL;
}

static bool open_again(mv_live_watch *w, reader *r, mv_err *err)
{
    reader old = *r;

    if (!open_reader(w, r, err)) {
        close_reader(&old);
        return false;
    }
    close_reader(&old);
    return true;
}

/* Reads the file again from its beginning if another file has its name now, or if it was not a
 * recording before. */
static bool is_current(mv_live_watch *w, reader *r, mv_err *err)
{
    return (r->follow && !mv_live_follow_is_replaced(r->follow, w->path)) || open_again(w, r, err);
}

static void note_device(seen_devices *used, const mv_live_record *r)
{
    enum { OUT_OF_MEMORY = 2 }; /* as in read_live.c */
    uint32_t list = mv_live_alive_list(r);
    uint64_t device = r->device > 0 ? (uint64_t)r->device : 0;

    if (r->kind == MV_LIVE_EVENT_BLOCK || r->kind == MV_LIVE_EVENT_FREE ||
        r->kind == MV_LIVE_EVENT_OOM) {
        if (list != MV_NO_ROW)
            used->blocks[list] = true;
    } else if (r->kind == MV_LIVE_EVENT_CALL && r->device >= 0 && device < MV_LIVE_CPU &&
               r->action != MV_API_ALLOC_ASYNC) {
        used->calls[device] |= r->result == 0 || r->result == OUT_OF_MEMORY;
    } else if (r->kind == MV_LIVE_EVENT_HEAP && device < MV_LIVE_CPU) {
        used->heaps[device] = true;
    }
}

/* Takes the records up to a given time. Returns false when out of memory. */
static bool take_records(reader *r, uint64_t until_us)
{
    for (;; r->has_next = false) {
        if (!r->has_next && !mv_live_follow_next(r->follow, &r->next))
            return true;
        r->has_next = true;
        if (r->next.time_us > until_us)
            return true;
        r->records++;
        r->has_any = true;
        r->sequence = r->next.sequence > r->sequence ? r->next.sequence : r->sequence;
        note_device(&r->used, &r->next);
        if (!mv_live_alive_add(&r->alive, &r->next))
            return false;
    }
}

static mv_code update(mv_live_watch *w, reader *r, uint64_t now_us, uint64_t until_us, mv_err *err)
{
    seen_devices used = r->used;

    for (bool is_again = false;; is_again = true) {
        if (mv_live_follow_update(r->follow, now_us, err) != MV_OK)
            return err->code;
        if (!mv_live_follow_status(r->follow)->overtaken || is_again)
            break;
        if (!open_again(w, r, err))
            return err->code;
        r->used = used;
    }
    if (!take_records(r, until_us))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "live blocks");
    return MV_OK;
}

mv_code mv_live_watch_update(mv_live_watch *w, uint64_t now_us, uint64_t span_us, mv_err *err)
{
    struct stat now;
    uint64_t newest;

    if (stat(w->path, &now) != 0)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "%s", strerror(errno));
    if (!is_current(w, &w->now, err) || !is_current(w, &w->before, err))
        return err->code;
    if (update(w, &w->now, now_us, UINT64_MAX, err) != MV_OK)
        return err->code;
    newest = mv_live_follow_status(w->now.follow)->time_us;
    w->now_us = now_us > newest ? now_us : newest;
    w->since_us = w->now_us > span_us ? w->now_us - span_us : 0;
    return update(w, &w->before, now_us, w->since_us, err);
}

mv_live_watch *mv_live_watch_open(mv_arena *arena, const char *path, mv_err *err)
{
    mv_live_watch *w = mv_push_struct(arena, mv_live_watch);

    if (!w || !(w->path = mv_arena_text(arena, path, strlen(path)))) {
        mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
        return NULL;
    }
    w->budget = arena->budget;
    if (open_reader(w, &w->now, err) && open_reader(w, &w->before, err))
        return w;
    mv_live_watch_close(w);
    return NULL;
}

void mv_live_watch_close(mv_live_watch *w)
{
    if (!w)
        return;
    close_reader(&w->now);
    close_reader(&w->before);
}

/* ---- the trace --------------------------------------------------------------------------- */

typedef enum { MADE, MADE_BEFORE, ENDED } place_kind;

/* A record of the trace, and its position there. */
typedef struct {
    uint64_t part;  /* part of the trace: 0: up to `since`; 1: ends of blocks after `since`; 2:
                     * blocks made after `since` */
    uint64_t order; /* order within the part: the record's number; in part 1 its complement, so that
                     * the newest end comes first */
    uint32_t row;   /* row of the record in w->now for MADE, else in w->before */
    place_kind kind;
} place;

/* Returns the used rows of a reader, sorted by number. */
static place *sort_rows(mv_arena *arena, const reader *r, place_kind kind, uint64_t *count)
{
    place *rows = mv_push_array(arena, place, r->alive.kept + 1);

    *count = 0;
    for (uint32_t i = 0; rows && i < r->alive.count; i++)
        if (r->alive.rows[i].is_used)
            rows[(*count)++] = (place){0, r->alive.rows[i].sequence, i, kind};
    if (rows)
        mv_sort_rows(arena, rows, *count, MV_RISING(place, order));
    return rows;
}

/* Returns all records of the trace, in order; NULL when out of memory. */
static place *find_places(const mv_live_watch *w, mv_arena *arena, uint64_t *count)
{
    uint64_t now_count, before_count, k = 0;
    place *now = sort_rows(arena, &w->now, MADE, &now_count);
    place *before = sort_rows(arena, &w->before, MADE_BEFORE, &before_count);
    place *places = mv_push_array(arena, place, now_count + 2 * before_count + 1);
    mv_live_record end;

    *count = 0;
    if (!now || !before || !places)
        return NULL;
    for (uint64_t i = 0; i < before_count; i++) {
        while (k < now_count && now[k].order < before[i].order)
            k++;
        if ((k < now_count && now[k].order == before[i].order) ||
            !mv_live_alive_ending(&w->before.alive.rows[before[i].row].record, &end))
            continue;
        places[(*count)++] = before[i];
        places[(*count)++] = (place){1, UINT64_MAX - before[i].order, before[i].row, ENDED};
    }
    for (uint64_t i = 0; i < now_count; i++) {
        now[i].part = w->before.has_any && now[i].order <= w->before.sequence ? 0 : 2;
        places[(*count)++] = now[i];
    }
    mv_sort_rows(arena, places, *count, MV_RISING(place, part), MV_RISING(place, order));
    return places;
}

static mv_live_alive_row row_at(const mv_live_watch *w, const place *p)
{
    mv_live_alive_row row = (p->kind == MADE ? &w->now : &w->before)->alive.rows[p->row];

    if (p->kind == ENDED) {
        mv_live_alive_ending(&row.record, &row.record);
        row.record.time_us = w->since_us + 1;
    }
    return row;
}

/* Returns the number of accelerators, which is above all ordinals in the records. */
static uint32_t count_devices(const reader *r)
{
    uint32_t devices = 0;

    for (uint32_t i = 0; i < MV_LIVE_CPU; i++)
        if (r->used.blocks[i] || r->used.calls[i])
            devices = i + 1;
    return devices;
}

mv_code mv_live_watch_trace(mv_live_watch *w, mv_arena *arena, mv_trace *out, mv_err *err)
{
    mv_live_kept kept = {.gpus = count_devices(&w->now),
                         .has_cpu = w->now.used.blocks[MV_LIVE_CPU]};
    mv_live_alive_row *rows;
    mv_arena scratch;
    place *places;
    mv_code code;

    mv_arena_init(&scratch, arena->budget);
    places = find_places(w, &scratch, &kept.count);
    rows = places ? mv_push_array(&scratch, mv_live_alive_row, kept.count + 1) : NULL;
    for (uint64_t i = 0; rows && i < kept.count; i++)
        rows[i] = row_at(w, &places[i]);
    kept.rows = rows;
    code = rows ? mv_live_convert(arena, mv_live_follow_names(w->now.follow), &kept, out, err)
                : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "live blocks");
    mv_arena_release(&scratch);
    return code;
}

/* Makes the sets of devices. The bit for CPU tensors comes after those of the accelerators. */
static mv_live_used bits_of(const reader *r, uint32_t gpus)
{
    mv_live_used bits = {0};

    for (uint32_t i = 0; i < gpus && i < 64; i++) {
        bits.blocks |= (uint64_t)r->used.blocks[i] << i;
        bits.calls |= (uint64_t)r->used.calls[i] << i;
        bits.heaps |= (uint64_t)r->used.heaps[i] << i;
    }
    bits.heaps |= r->used.heaps[0];
    if (gpus < 64)
        bits.blocks |= (uint64_t)r->used.blocks[MV_LIVE_CPU] << gpus;
    return bits;
}

mv_live_watch_state mv_live_watch_status(const mv_live_watch *w)
{
    uint32_t gpus = count_devices(&w->now);

    return (mv_live_watch_state){.records = w->now.records + w->before.records,
                                 .bytes = bytes_of(&w->now) + bytes_of(&w->before),
                                 .found = w->now.records,
                                 .now_us = w->now_us,
                                 .used = bits_of(&w->now, gpus),
                                 .before = bits_of(&w->before, gpus),
                                 .has_ended = mv_live_follow_status(w->now.follow)->has_ended};
}
