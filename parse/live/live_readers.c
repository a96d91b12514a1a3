
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "parse/live/live_follow.h"
#include "parse/live/live_rows.h"
#include "parse/readers.h"

/* Facts that change how records are converted. */
typedef struct {
    int64_t to_epoch_us;
    bool is_uncached, is_elsewhere;
} premises;

/* What was decoded from a file. It is kept while the file is open, or a trace shares its events. */
typedef struct decoded decoded;
struct decoded {
    decoded *next;
    mv_arena arena;         /* everything below */
    mv_live_follow *follow; /* NULL: the file is closed */
    mv_live_rows *rows;
    mv_trace trace;
    premises premises;
    uint64_t converted; /* number of records that were converted to rows */
    uint32_t loans;     /* number of traces that share events */
};

typedef struct reader reader;
struct reader {
    reader *next;
    char *path;
    decoded *decoded; /* NULL: the file is not open */
    uint64_t bytes;   /* number of bytes that were read before the file was opened again */
    bool is_given_up; /* the file is always read whole */
};

/* A trace that shares events. */
typedef struct loan loan;
struct loan {
    loan *next;
    const mv_arena *holder; /* the trace's arena; NULL: unused */
    decoded *of;
    mv_events events;
};

struct mv_live_readers {
    mv_arena arena;
    pthread_mutex_t lock; /* protects everything else */
    reader *readers;
    decoded *decoded; /* all, including unused ones */
    loan *loans;      /* all, including unused ones */
    uint64_t records;
    uint32_t replaced;
};

/* ---- one file ---------------------------------------------------------------------------- */

static decoded *begin_decoded(mv_live_readers *all)
{
    decoded *d = all->decoded;

    while (d && (d->follow || d->loans))
        d = d->next;
    if (d) {
        *d = (decoded){.next = d->next};
    } else {
        d = mv_push_struct(&all->arena, decoded);
        if (!d)
            return NULL;
        d->next = all->decoded;
        all->decoded = d;
    }
    mv_arena_init(&d->arena, all->arena.budget);
    return d;
}

static void release_unused(decoded *d)
{
    if (!d->follow && !d->loans)
        mv_arena_release(&d->arena);
}

static void close_file(reader *r)
{
    decoded *d = r->decoded;

    if (!d)
        return;
    if (d->rows)
        mv_live_rows_end(d->rows);
    if (d->follow)
        r->bytes += mv_live_follow_status(d->follow)->bytes;
    mv_live_follow_close(d->follow);
    d->follow = NULL;
    release_unused(d);
    r->decoded = NULL;
}

/* Returns true if a file has the header of a live file, undamaged and of a known version. */
static bool has_header(int fd)
{
    mv_wire_header header;

    return pread(fd, &header, sizeof header, 0) == sizeof header &&
           header.hash == XXH3_64bits(&header, offsetof(mv_wire_header, hash)) &&
           header.version <= MV_WIRE_VERSION && header.features == 0;
}

static bool open_file(mv_live_readers *all, reader *r)
{
    int fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat file;
    decoded *d;
    mv_err err;

    if (fd >= 0 && (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || !has_header(fd))) {
        close(fd);
        return false;
    }
    if (fd < 0 || !(d = r->decoded = begin_decoded(all))) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    d->follow = mv_live_follow_open_fd(&d->arena, fd, &err);
    d->rows = d->follow ? mv_live_rows_begin(&d->arena, &d->arena, &d->trace) : NULL;
    if (d->rows && d->rows->build.code == MV_OK) {
        d->rows->names = mv_live_follow_names(d->follow);
        return true;
    }
    close_file(r);
    return false;
}

/* Returns true if the file is bounded, so that its records are removed and kept in another file. */
static bool is_bounded(const reader *r)
{
    int folded = mv_live_folded_open(r->path);

    if (folded >= 0)
        close(folded);
    return folded >= 0;
}

/* Returns true if reading the whole file gives notes that this reader cannot give. */
static bool is_odd(const decoded *d)
{
    const mv_live_follow_state *status = mv_live_follow_status(d->follow);
    const mv_build *names = d->rows->names->build;

    return status->damaged || status->is_partial || names->code != MV_OK ||
           names->trace->facts.count == 0;
}

static bool is_same(const premises *a, const premises *b)
{
    return a->to_epoch_us == b->to_epoch_us && a->is_uncached == b->is_uncached &&
           a->is_elsewhere == b->is_elsewhere;
}

typedef enum {
    CURRENT, /* the rows are those of all records */
    STALE,   /* the file must be opened again */
    ODD      /* the file must be read in another way */
} outcome;

static outcome read_new(decoded *d, uint64_t now_us)
{
    mv_live_rows *rows = d->rows;
    mv_live_record record;
    premises now;
    mv_err err;

    if (mv_live_follow_update(d->follow, now_us, &err) != MV_OK || is_odd(d) ||
        mv_live_rows_know(rows, false, &err) != MV_OK)
        return ODD;
    now = (premises){rows->to_epoch_us, rows->is_uncached, rows->names->is_elsewhere};
    if (d->converted && !is_same(&now, &d->premises))
        return STALE;
    d->premises = now;
    while (mv_live_follow_next(d->follow, &record)) {
        if (mv_live_follow_status(d->follow)->is_late)
            return STALE;
        if (!mv_live_rows_add(rows, &record))
            return ODD;
        d->converted++;
    }
    return is_odd(d) ? ODD : CURRENT;
}

/* Closes the file if it is another one now. */
static bool close_replaced(mv_live_readers *all, reader *r)
{
    if (!r->decoded || !mv_live_follow_is_replaced(r->decoded->follow, r->path))
        return false;
    close_file(r);
    all->replaced++;
    return true;
}

/* Brings the rows up to date. Returns false if the file must be read in another way. */
static bool update(mv_live_readers *all, reader *r, uint64_t now_us)
{
    outcome is = STALE;

    close_replaced(all, r);
    if (is_bounded(r))
        is = ODD;
    for (int times = 0; is == STALE && times < 2; times++) {
        uint64_t converted;
        if (times)
            close_file(r);
        if (!r->decoded && !open_file(all, r)) {
            is = ODD;
            break;
        }
        converted = r->decoded->converted;
        is = read_new(r->decoded, now_us);
        all->records += r->decoded->converted - converted;
        if (close_replaced(all, r))
            is = STALE;
    }
    if (is == CURRENT && is_bounded(r)) /* records may have been removed while they were read */
        is = ODD;
    if (is != CURRENT)
        close_file(r);
    r->is_given_up = is != CURRENT;
    return is == CURRENT;
}

/* Returns an unused loan; NULL when out of memory. */
static loan *find_loan(mv_live_readers *all)
{
    loan *found = all->loans;

    while (found && found->holder)
        found = found->next;
    if (found || !(found = mv_push_struct(&all->arena, loan)))
        return found;
    found->next = all->loans;
    all->loans = found;
    return found;
}

static bool make_trace(mv_live_readers *all, decoded *d, mv_arena *arena, mv_trace *out)
{
    mv_live_missing missing = mv_live_follow_missing(d->follow);
    bool lends = mv_live_rows_can_lend(d->rows);
    loan *made = lends ? find_loan(all) : NULL;
    mv_err err;

    if ((lends && !made) ||
        mv_live_rows_finish_copy(d->rows, &missing, lends, arena, out, &err) != MV_OK)
        return false;
    if (lends) {
        *made = (loan){made->next, arena, d, d->rows->build.events};
        d->rows->is_lent = true;
        d->loans++;
    }
    return true;
}

static bool read_file(mv_live_readers *all, reader *r, uint64_t now_us, mv_arena *arena,
                      mv_trace *out)
{
    uint64_t bytes;

    if (r->is_given_up || !update(all, r, now_us))
        return false;
    if (!make_trace(all, r->decoded, arena, out)) {
        close_file(r);
        r->is_given_up = true;
        return false;
    }
    bytes = mv_live_follow_status(r->decoded->follow)->file_bytes;
    out->origin = (mv_origin){
        .format = MV_FORMAT_BIN, .file_bytes = bytes, .data_bytes = bytes, .compression = "none"};
    return true;
}

/* Returns true if a trace still uses these columns. */
static bool is_lent(const mv_live_readers *all, const mv_events *events)
{
    for (const loan *each = all->loans; each; each = each->next)
        if (each->holder && each->events.addr == events->addr)
            return true;
    return false;
}

static void take_back(mv_live_readers *all, loan *made)
{
    decoded *d = made->of;

    made->holder = NULL;
    d->loans--;
    if (!d->follow)
        release_unused(d);
    else if (is_lent(all, &made->events))
        return;
    else if (d->rows->build.events.addr == made->events.addr)
        d->rows->is_lent = false;
    else
        mv_build_drop_events(&d->arena, &made->events);
}

/* ---- all files --------------------------------------------------------------------------- */

static reader *find(mv_live_readers *r, const char *path)
{
    reader *found = r->readers;

    while (found && strcmp(found->path, path) != 0)
        found = found->next;
    if (found)
        return found;
    found = mv_push_struct(&r->arena, reader);
    if (!found || !(found->path = mv_arena_text(&r->arena, path, strlen(path))))
        return NULL;
    found->next = r->readers;
    r->readers = found;
    return found;
}

mv_live_readers *mv_live_readers_open(mv_budget *budget)
{
    mv_live_readers *r;
    mv_arena arena;

    mv_arena_init(&arena, budget);
    r = mv_push_struct(&arena, mv_live_readers);
    if (!r)
        return NULL;
    r->arena = arena;
    pthread_mutex_init(&r->lock, NULL);
    return r;
}

void mv_live_readers_close(mv_live_readers *r)
{
    mv_arena arena;

    if (!r)
        return;
    mv_live_readers_drop(r);
    pthread_mutex_destroy(&r->lock);
    arena = r->arena;
    mv_arena_release(&arena);
}

void mv_live_readers_drop(mv_live_readers *r)
{
    pthread_mutex_lock(&r->lock);
    for (reader *each = r->readers; each; each = each->next)
        close_file(each);
    pthread_mutex_unlock(&r->lock);
}

void mv_live_readers_return(mv_live_readers *r, const mv_arena *arena)
{
    pthread_mutex_lock(&r->lock);
    for (loan *each = r->loans; each; each = each->next)
        if (each->holder == arena)
            take_back(r, each);
    pthread_mutex_unlock(&r->lock);
}

void mv_live_readers_file(mv_live_readers *r)
{
    pthread_mutex_lock(&r->lock);
    for (decoded *each = r->decoded; each; each = each->next)
        mv_arena_file(&each->arena);
    pthread_mutex_unlock(&r->lock);
}

bool mv_live_readers_read(mv_live_readers *r, const char *path, uint64_t now_us, mv_arena *arena,
                          mv_trace *out)
{
    reader *found;
    bool is_read;

    pthread_mutex_lock(&r->lock);
    found = find(r, path);
    is_read = found && read_file(r, found, now_us, arena, out);
    pthread_mutex_unlock(&r->lock);
    return is_read;
}

mv_live_readers_state mv_live_readers_status(mv_live_readers *r)
{
    mv_live_readers_state state;

    pthread_mutex_lock(&r->lock);
    state = (mv_live_readers_state){.records = r->records, .replaced = r->replaced};
    for (const reader *each = r->readers; each; each = each->next) {
        const mv_live_follow_state *is =
            each->decoded ? mv_live_follow_status(each->decoded->follow) : NULL;
        state.bytes += each->bytes + (is ? is->bytes : 0);
        state.are_waiting |= is && is->is_waiting;
    }
    pthread_mutex_unlock(&r->lock);
    return state;
}
