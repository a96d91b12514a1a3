#include "parse/live/live_follow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/grow.h"
#include "base/sort.h"
#include "parse/live/live_facts.h"
#include "parse/source/source.h"

typedef mv_live_headers headers;

enum {
    HEADERS = sizeof(headers),
    LEAST_RECORD = 2, /* size in bytes of the smallest record that makes an id */
    NEAR_SLOTS = 32,  /* number of slots checked beyond the last chunk at each update. A chunk whose
                       * headers are still being written looks like up to 17 blank slots
                       * (MV_LIVE_MOST_TABLE bytes) */
    FAR_UPDATES = 16, /* one in this many updates checks all slots up to the end of the file */
    MOST_GAPS = 4096,
    PATIENCE = 2 /* number of updates until a number that no thread can be writing is lost */
};

/* Stands for the seal of a chunk that ends with the file, or whose counts are damaged. */
#define CUT 1

/* The state of a source with respect to the heap. */
typedef enum {
    NO_SOURCE, /* unused row */
    IDLE,      /* not in the heap, because all its records were returned; more may follow */
    UNREAD,    /* ordered by the chunk's first number: sealed, and not read yet */
    READY      /* ordered by the source's next record */
} source_state;

/* An EVENTS chunk. The bytes from s.c.span.data were read, but not all of them were decoded. */
typedef struct {
    mv_live_stream s;
    uint64_t at;     /* position of the chunk's header */
    uint64_t end;    /* position of the slot after it */
    int fd;          /* descriptor of the file that contains the chunk */
    uint64_t room;   /* number of bytes of records for which the chunk has space */
    uint64_t read;   /* number of bytes of records read so far */
    uint64_t sealed; /* the chunk's seal; 0: the chunk is open */
    uint8_t *bytes;  /* [capacity] */
    uint64_t capacity;
    source_state state;
    bool is_folded; /* the chunk is in the folded part */
} source;

/* The bytes of a finished chunk, or missing numbers. */
typedef struct {
    uint64_t first, count;
} extent;

/* A NAMES chunk that is not complete yet. */
typedef struct {
    mv_live_chunk chunk; /* the chunk; its `records` are the bytes read so far */
    uint8_t *bytes;      /* [room] */
    uint64_t room;
} names_chunk;

struct mv_live_follow {
    mv_arena arena;
    int fd;
    mv_trace trace;
    mv_build build;
    mv_live_names names;
    mv_live_follow_state status;
    uint64_t seen_bytes; /* size of the file when all slots were last checked */
    uint64_t frontier;   /* position at or after which no chunk has been found */
    uint64_t *blank;     /* [blank_count] slots before the frontier without a chunk */
    uint32_t blank_count, blank_capacity;
    source *sources; /* [source_count] */
    uint32_t source_count, source_capacity;
    uint32_t *heap; /* [heap_count] rows of `sources`, as a heap ordered by their next record */
    uint32_t heap_count, heap_capacity;
    names_chunk *open_names; /* [names_count] */
    uint32_t names_count, names_capacity;
    uint64_t *names_at; /* [names_at_count] positions of all NAMES chunks */
    uint32_t names_at_count, names_at_capacity;
    extent *finished; /* [finished_count] */
    uint32_t finished_count, finished_capacity;
    extent *gaps; /* [gap_count] in ascending order; wrong after a late record */
    uint32_t gap_count, gap_capacity;
    int folded;        /* descriptor of the folded part; -1: none */
    char *folded_path; /* path of the folded part; NULL: the file is not bounded */
    uint8_t *facts;    /* [facts_read] bytes of the FACTS chunk */
    uint64_t facts_read, facts_capacity;
    uint64_t after; /* the last number that is in the folded part */
    uint64_t next;  /* number of the next record expected */
    uint64_t now_us;
    uint32_t updates, nobody; /* nobody: latest updates at which no thread could write `next` */
    bool has_started;
};

/* ---- bytes ------------------------------------------------------------------------------- */

/* Reads up to `length` bytes at `at`, and fewer at the end of the file. Returns their number. */
static uint64_t read_at(mv_live_follow *f, int fd, void *to, uint64_t length, uint64_t at)
{
    uint64_t got = mv_read_at(fd, at, to, length);

    f->status.bytes += got;
    return got;
}

static bool read_word(mv_live_follow *f, int fd, uint64_t at, uint64_t *value)
{
    return read_at(f, fd, value, sizeof *value, at) == sizeof *value;
}

/* Reads the seal and the count of a chunk. The seal is read first, because the count is final once
 * the chunk is sealed. */
static bool read_counts(mv_live_follow *f, int fd, uint64_t at, uint64_t *seal, uint64_t *committed)
{
    uint64_t head = at + sizeof(mv_wire_chunk);

    return read_word(f, fd, head + offsetof(mv_live_head, seal), seal) &&
           read_word(f, fd, head + offsetof(mv_live_head, committed), committed);
}

static bool out_of_memory(mv_live_follow *f)
{
    f->build.code = f->build.code == MV_OK ? MV_NOMEM : f->build.code;
    return false;
}

/* ---- the heap ---------------------------------------------------------------------------- */

/* Returns true if source `a` comes before source `b`. If their numbers are equal, the earlier chunk
 * comes first, as in live_events.c. */
static bool is_before(const mv_live_follow *f, uint32_t a, uint32_t b)
{
    const source *x = &f->sources[a], *y = &f->sources[b];

    return x->s.next.sequence != y->s.next.sequence ? x->s.next.sequence < y->s.next.sequence
                                                    : x->at < y->at;
}

static void swap(mv_live_follow *f, uint32_t a, uint32_t b)
{
    uint32_t swapped = f->heap[a];

    f->heap[a] = f->heap[b];
    f->heap[b] = swapped;
}

static void sift_down(mv_live_follow *f)
{
    for (uint32_t at = 0, least = 0;; at = least) {
        for (uint32_t i = 2 * at + 1; i < 2 * at + 3 && i < f->heap_count; i++)
            if (is_before(f, f->heap[i], f->heap[least]))
                least = i;
        if (least == at)
            return;
        swap(f, at, least);
    }
}

static bool push(mv_live_follow *f, uint32_t row, source_state state)
{
    uint32_t at = f->heap_count;

    f->sources[row].state = state;
    if (!mv_append(&f->arena, f->heap, f->heap_count, f->heap_capacity, row))
        return out_of_memory(f);
    for (; at && is_before(f, f->heap[at], f->heap[(at - 1) / 2]); at = (at - 1) / 2)
        swap(f, at, (at - 1) / 2);
    return true;
}

static void pop(mv_live_follow *f)
{
    f->heap[0] = f->heap[--f->heap_count];
    sift_down(f);
}

/* ---- one source -------------------------------------------------------------------------- */

static void drop_bytes(mv_live_follow *f, source *s)
{
    mv_arena_drop(&f->arena, s->bytes);
    s->bytes = NULL;
    s->capacity = 0;
    s->s.at += s->s.c.at;
    s->s.c = mv_cursor_over((mv_span){0});
}

/* Drops a source whose records were all returned. If memory for `finished` runs out, the launcher
 * never removes the chunk. */
static void forget(mv_live_follow *f, source *s)
{
    drop_bytes(f, s);
    if (!s->is_folded)
        mv_append(&f->arena, f->finished, f->finished_count, f->finished_capacity,
                  (extent){s->at, s->end - s->at});
    *s = (source){.state = NO_SOURCE};
}

/* Appends the chunk's bytes up to `committed`. */
static bool read_records(mv_live_follow *f, source *s, uint64_t committed)
{
    uint64_t had = s->s.c.span.length, more = committed - s->read, got;
    bool is_whole = s->read == 0 && s->sealed;

    if (!mv_room_for(&f->arena, s->bytes, had + more, s->capacity))
        return out_of_memory(f);
    got = read_at(f, s->fd, s->bytes + had, more, s->at + HEADERS + s->read);
    s->read += got;
    s->s.c.span = (mv_span){s->bytes, had + got};
    if (got < more || (is_whole && s->sealed != XXH3_64bits(s->bytes, s->s.c.span.length))) {
        f->status.damaged++;
        s->s.c.span.length = got < more ? had + got : 0;
        s->sealed = CUT;
    }
    return true;
}

/* Reads the new records of a source, up to the committed bytes. */
static bool refill(mv_live_follow *f, source *s)
{
    uint64_t seal = 0, committed = 0;

    if (s->sealed && s->read)
        return true;
    if (!read_counts(f, s->fd, s->at, &seal, &committed))
        committed = s->read;
    s->sealed = seal;
    if (committed > s->room) {
        f->status.damaged++;
        s->sealed = CUT;
        committed = s->room;
    }
    return committed <= s->read || read_records(f, s, committed);
}

/* Decodes the next record of a source. Returns false if there is no record at present, in which
 * case the source may have been dropped. */
static bool advance(mv_live_follow *f, source *s)
{
    if (mv_live_stream_next(&s->s, NULL))
        return true;
    if (s->s.c.overrun) {
        f->status.damaged++;
        forget(f, s);
    } else if (s->sealed) {
        forget(f, s);
    } else {
        drop_bytes(f, s);
        s->state = IDLE;
    }
    return false;
}

/* ---- chunks ------------------------------------------------------------------------------ */

/* Reads the headers in one call, because writers store the magic last. */
static bool read_headers(mv_live_follow *f, int fd, uint64_t at, headers *out)
{
    return read_at(f, fd, out, sizeof *out, at) == sizeof *out && mv_live_headers_good(out);
}

static uint64_t slot_after(uint64_t at, const headers *h)
{
    return mv_live_slot_after(at, h ? sizeof h->wire + h->wire.stored_bytes : 1);
}

static bool add_source(mv_live_follow *f, int fd, uint64_t at, const headers *h)
{
    mv_live_chunk chunk = {.at = at,
                           .thread = h->live.thread,
                           .first_sequence = h->live.first_sequence,
                           .first_time_us = h->live.first_time_us};
    source s = {.s = mv_live_stream_begin(&chunk),
                .at = at,
                .end = slot_after(at, h),
                .fd = fd,
                .is_folded = h->wire.kind == MV_LIVE_FOLDED,
                .room = h->wire.stored_bytes - sizeof h->live,
                .state = IDLE};
    uint32_t row = 0;

    while (row < f->source_count && f->sources[row].state != NO_SOURCE)
        row++;
    if (row == f->source_count &&
        !mv_append(&f->arena, f->sources, f->source_count, f->source_capacity, (source){0}))
        return out_of_memory(f);
    if (!read_word(f, fd, at + sizeof h->wire + offsetof(mv_live_head, seal), &s.sealed))
        s.sealed = 0;
    if (s.room > f->status.file_bytes && !s.is_folded)
        s.room = f->status.file_bytes;
    f->sources[row] = s;
    return !s.sealed || push(f, row, UNREAD);
}

static bool add_names(mv_live_follow *f, uint64_t at, const headers *h)
{
    names_chunk row = {.room = h->wire.stored_bytes - sizeof h->live};

    row.chunk.at = at;
    row.chunk.kind = MV_LIVE_NAMES;
    row.chunk.made = mv_live_made_before(&h->wire);
    return (mv_append(&f->arena, f->names_at, f->names_at_count, f->names_at_capacity, at) &&
            mv_append(&f->arena, f->open_names, f->names_count, f->names_capacity, row)) ||
           out_of_memory(f);
}

/* Adds the chunk at a slot, if a chunk has begun there. */
static bool take_chunk(mv_live_follow *f, uint64_t at, uint64_t *after)
{
    headers h;

    *after = 0;
    if (!read_headers(f, f->fd, at, &h))
        return true;
    *after = slot_after(at, &h);
    if (h.wire.stored_bytes < sizeof h.live || *after <= at) {
        f->status.damaged++;
        *after = slot_after(at, NULL);
        return true;
    }
    if (h.wire.kind == MV_LIVE_EVENTS)
        return add_source(f, f->fd, at, &h);
    f->status.is_partial |= h.wire.kind != MV_LIVE_NAMES;
    return h.wire.kind != MV_LIVE_NAMES || add_names(f, at, &h);
}

/* Looks for bytes in a slot without a chunk, which are damaged unless a chunk has begun by now. */
static void check_blank(mv_live_follow *f, uint64_t at)
{
    uint8_t bytes[MV_LIVE_PROBE_BYTES];
    mv_span slot = {bytes, read_at(f, f->fd, bytes, sizeof bytes, at)};
    headers h;

    f->status.is_partial |= !mv_live_is_blank(slot, 0) && !read_headers(f, f->fd, at, &h);
}

/* Checks again the slots that were blank. */
static bool look_back(mv_live_follow *f)
{
    uint32_t kept = 0;
    uint64_t after, end = 0; /* end of the last chunk, which may have several slots */

    for (uint32_t i = 0; i < f->blank_count; i++) {
        if (f->blank[i] < end)
            continue;
        if (!take_chunk(f, f->blank[i], &after))
            return false;
        end = after;
        if (after)
            continue;
        check_blank(f, f->blank[i]);
        f->blank[kept++] = f->blank[i];
    }
    f->blank_count = kept;
    return true;
}

/* Moves the frontier past a new chunk; the slots before the chunk are blank for now. */
static bool move_frontier(mv_live_follow *f, uint64_t chunk, uint64_t after)
{
    for (; f->frontier < chunk; f->frontier = slot_after(f->frontier, NULL)) {
        check_blank(f, f->frontier);
        if (!mv_append(&f->arena, f->blank, f->blank_count, f->blank_capacity, f->frontier))
            return out_of_memory(f);
    }
    f->frontier = after;
    return true;
}

/* Checks slots after the last chunk, until `most` in a row are blank. */
static bool look_ahead(mv_live_follow *f, uint64_t most)
{
    uint64_t after, blank = 0;

    for (uint64_t at = f->frontier; at < f->status.file_bytes && blank < most;) {
        if (!take_chunk(f, at, &after) || (after && !move_frontier(f, at, after)))
            return false;
        if (!after && f->updates == 0)
            check_blank(f, at);
        blank = after ? 0 : blank + 1;
        at = after ? after : slot_after(at, NULL);
    }
    return true;
}

static bool look(mv_live_follow *f)
{
    bool is_far = f->status.file_bytes != f->seen_bytes || f->status.is_waiting ||
                  f->updates % FAR_UPDATES == 0;

    f->seen_bytes = f->status.file_bytes;
    return look_back(f) && look_ahead(f, is_far ? UINT64_MAX : NEAR_SLOTS);
}

/* ---- facts and names --------------------------------------------------------------------- */

static bool read_facts(mv_live_follow *f)
{
    uint64_t at = sizeof(mv_wire_header), seal, committed;
    uint64_t most = MV_LIVE_CHUNK_BYTES - HEADERS - at;
    mv_span more;
    headers h;

    if (!read_headers(f, f->fd, at, &h) || h.wire.kind != MV_LIVE_FACTS ||
        !read_counts(f, f->fd, at, &seal, &committed))
        return true;
    if (committed > most)
        committed = most;
    if (committed <= f->facts_read)
        return true;
    if (!mv_room_for(&f->arena, f->facts, committed, f->facts_capacity))
        return out_of_memory(f);
    more.data = f->facts + f->facts_read;
    more.length = read_at(f, f->fd, f->facts + f->facts_read, committed - f->facts_read,
                          at + HEADERS + f->facts_read);
    f->status.damaged += !mv_live_facts_read(&f->build, more);
    f->facts_read = committed;
    f->status.has_ended = mv_live_facts_have_end(&f->trace);
    return f->build.code == MV_OK;
}

/* Reads the new records of a NAMES chunk. *is_done is set if no more records will follow. */
static bool read_name_records(mv_live_follow *f, names_chunk *n, bool *is_done)
{
    uint64_t seal = 0, committed = 0, had = n->chunk.records.length, got;
    uint64_t damaged = f->trace.notes[MV_NOTE_DAMAGED].count;

    *is_done = !read_counts(f, f->fd, n->chunk.at, &seal, &committed) || seal;
    if (!n->bytes && n->room > f->status.file_bytes)
        n->room = f->status.file_bytes;
    if (!n->bytes && !(n->bytes = mv_push_array(&f->arena, uint8_t, n->room)))
        return out_of_memory(f);
    if (committed > n->room) {
        f->status.damaged++;
        committed = n->room;
    }
    if (committed < had)
        committed = had;
    got = read_at(f, f->fd, n->bytes + had, committed - had, n->chunk.at + HEADERS + had);
    n->chunk.records = (mv_span){n->bytes, had + got};
    if (got < committed - had || (seal && XXH3_64bits(n->bytes, had + got) != seal))
        f->status.damaged++;
    if (got == 0)
        return true;
    if (!mv_live_names_add(&f->names, &n->chunk, had, f->status.file_bytes / LEAST_RECORD))
        return out_of_memory(f);
    damaged = f->trace.notes[MV_NOTE_DAMAGED].count - damaged;
    f->status.damaged += damaged;
    *is_done = *is_done || damaged;
    return true;
}

static bool read_names(mv_live_follow *f)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < f->names_count; i++) {
        bool is_done;
        if (!read_name_records(f, &f->open_names[i], &is_done))
            return false;
        if (!is_done)
            f->open_names[kept++] = f->open_names[i];
    }
    f->names_count = kept;
    return true;
}

/* ---- the folded part --------------------------------------------------------------------- */

/* Reads the headers of the folded part, and the last number folded into it. */
static bool read_folded(mv_live_follow *f, int fd, uint64_t *through, headers *folded)
{
    return read_headers(f, fd, 2 * MV_LIVE_CHUNK_BYTES, folded) &&
           folded->wire.kind == MV_LIVE_FOLDED && (*through = folded->wire.first_row, true);
}

/* Returns true if any records were folded after the file was opened but before this reader returned
 * them. */
static bool is_overtaken(mv_live_follow *f)
{
    headers folded;
    uint64_t through;
    int fd = f->folded_path ? open(f->folded_path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : -1;
    bool is_behind = fd >= 0 && read_folded(f, fd, &through, &folded) && through > f->after &&
                     (!f->has_started || through >= f->next);

    if (fd >= 0)
        close(fd);
    return is_behind;
}

/* ---- updates ----------------------------------------------------------------------------- */

/* Returns true if a thread may have taken the number `next` without having written its record. */
static bool may_write_next(const source *s, uint64_t next)
{
    return s->state == IDLE && !s->sealed && s->s.next.sequence < next;
}

static bool read_sources(mv_live_follow *f)
{
    bool can_come = false;

    for (uint32_t i = 0; i < f->source_count; i++) {
        source *s = &f->sources[i];
        if (s->state == NO_SOURCE || s->state == UNREAD)
            continue;
        if (!refill(f, s))
            return false;
        if (s->state == IDLE && advance(f, s) && !push(f, i, READY))
            return false;
        can_come = can_come || may_write_next(s, f->next);
    }
    f->nobody = can_come || !f->status.is_waiting ? 0 : f->nobody + 1;
    return true;
}

bool mv_live_follow_is_replaced(mv_live_follow *f, const char *path)
{
    uint8_t facts[MV_LIVE_CHUNK_BYTES] = {0};
    struct stat now, was;

    read_at(f, f->fd, facts, f->facts_read, sizeof(mv_wire_header) + HEADERS);
    return stat(path, &now) != 0 || fstat(f->fd, &was) != 0 || now.st_dev != was.st_dev ||
           now.st_ino != was.st_ino || (uint64_t)now.st_size < f->status.file_bytes ||
           (f->facts_read && memcmp(facts, f->facts, f->facts_read) != 0);
}

mv_code mv_live_follow_update(mv_live_follow *f, uint64_t now_us, mv_err *err)
{
    struct stat st;

    if (fstat(f->fd, &st) != 0)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "%s", strerror(errno));
    f->status.file_bytes = (uint64_t)st.st_size;
    f->now_us = now_us;
    /* Names are committed before the records that use them, so names are read after records. */
    if (!read_facts(f) || !look(f) || !read_sources(f) || !look_back(f) ||
        !look_ahead(f, NEAR_SLOTS) || !read_names(f) || f->build.code != MV_OK)
        return mv_fail(err, f->build.code == MV_OK ? MV_NOMEM : f->build.code, MV_NO_OFFSET,
                       "%llu events", (unsigned long long)f->status.events);
    f->status.overtaken = f->status.overtaken || is_overtaken(f);
    f->status.has_ended = f->status.has_ended || now_us == MV_LIVE_FOLLOW_ENDED;
    f->updates++;
    return MV_OK;
}

/* ---- records ----------------------------------------------------------------------------- */

/* Makes the first source of the heap ready. Returns false if the heap is empty. */
static bool ready_first(mv_live_follow *f)
{
    while (f->heap_count && f->sources[f->heap[0]].state != READY) {
        source *s = &f->sources[f->heap[0]];
        s->state = IDLE;
        if (!refill(f, s))
            return false;
        if (!advance(f, s)) {
            pop(f);
            continue;
        }
        s->state = READY;
        sift_down(f);
    }
    return f->heap_count > 0;
}

/* A record that is much later than now is of a machine that was started at another time. */
static bool is_given_up(const mv_live_follow *f, const mv_live_record *first)
{
    uint64_t apart =
        f->now_us > first->time_us ? f->now_us - first->time_us : first->time_us - f->now_us;

    return f->status.has_ended || f->nobody >= PATIENCE || apart > MV_LIVE_FOLLOW_LATE_US;
}

static bool add_gap(mv_live_follow *f, extent missing)
{
    f->status.is_partial |= f->gap_count == MOST_GAPS;
    return f->status.is_partial ||
           mv_append(&f->arena, f->gaps, f->gap_count, f->gap_capacity, missing) ||
           out_of_memory(f);
}

/* Returns true if the record need not be held back. Updates the counts of missing numbers. */
static bool count_number(mv_live_follow *f, const mv_live_record *r)
{
    mv_live_follow_state *status = &f->status;

    if (mv_live_is_beside(r->kind))
        return true;
    if (!f->has_started)
        f->next = f->after ? f->after + 1 : r->sequence ? 1 : 0;
    f->has_started = true;
    status->is_waiting = r->sequence > f->next && !is_given_up(f, r);
    if (status->is_waiting)
        return false;
    status->is_late = r->sequence < f->next;
    if (status->is_late) {
        status->late++;
        status->lost -= status->lost > 0;
        return true;
    }
    if (r->sequence > f->next && !add_gap(f, (extent){f->next, r->sequence - f->next}))
        return false;
    status->lost += r->sequence - f->next;
    f->next = r->sequence + 1;
    status->sequence = r->sequence;
    return true;
}

bool mv_live_follow_next(mv_live_follow *f, mv_live_record *out)
{
    while (ready_first(f)) {
        source *s = &f->sources[f->heap[0]];
        bool is_skipped = f->after && !s->is_folded && s->s.next.sequence <= f->after;
        if (!is_skipped && !s->is_folded && !count_number(f, &s->s.next))
            return false;
        *out = s->s.next;
        if (advance(f, s))
            sift_down(f);
        else
            pop(f);
        if (is_skipped)
            continue;
        f->status.events += !mv_live_is_beside(out->kind);
        if (out->time_us > f->status.time_us)
            f->status.time_us = out->time_us;
        return true;
    }
    return false;
}

/* ---- the state --------------------------------------------------------------------------- */

/* Returns the number of open chunks without a record at or after the number `end`. */
static uint64_t count_open(const mv_live_follow *f, uint64_t end)
{
    uint64_t open = 0;

    for (uint32_t i = 0; i < f->source_count && !f->status.has_ended; i++) {
        const source *s = &f->sources[i];
        open += s->state == IDLE && !s->sealed && (s->read == 0 || s->s.next.sequence < end);
    }
    return open;
}

mv_live_missing mv_live_follow_missing(const mv_live_follow *f)
{
    mv_live_missing m = {0};

    for (const extent *gap = f->gaps; gap && gap < f->gaps + f->gap_count; gap++)
        mv_live_missing_add(&m, gap->first, gap->count, count_open(f, gap->first + gap->count));
    return m;
}

mv_live_names *mv_live_follow_names(mv_live_follow *f)
{
    return &f->names;
}

const mv_live_follow_state *mv_live_follow_status(const mv_live_follow *f)
{
    return &f->status;
}

/* ---- finished chunks ---------------------------------------------------------------------- */

bool mv_live_follow_finished(mv_live_follow *f, uint64_t *at, uint64_t *bytes)
{
    if (f->finished_count == 0)
        return false;
    *at = f->finished[--f->finished_count].first;
    *bytes = f->finished[f->finished_count].count;
    return true;
}

uint64_t *mv_live_follow_places(mv_live_follow *f, mv_arena *arena, uint64_t *count,
                                uint64_t *start)
{
    uint64_t most = (uint64_t)f->names_at_count + f->blank_count + f->source_count, n = 0;
    uint64_t *places = mv_push_array(arena, uint64_t, most + 1);

    for (uint32_t i = 0; places && i < f->names_at_count; i++)
        places[n++] = f->names_at[i];
    for (uint32_t i = 0; places && i < f->blank_count; i++)
        places[n++] = f->blank[i];
    for (uint32_t i = 0; places && i < f->source_count; i++)
        if (f->sources[i].state != NO_SOURCE && !f->sources[i].is_folded)
            places[n++] = f->sources[i].at;
    if (places)
        mv_sort_rows(arena, places, n, MV_RISING_VALUES(uint64_t));
    *count = n;
    *start = f->frontier;
    return places;
}

/* ---- the reader -------------------------------------------------------------------------- */

static bool is_live(mv_live_follow *f)
{
    static const uint8_t blank[MV_WIRE_CHUNK_MAGIC_BYTES];
    mv_wire_header file;
    headers h;

    if (read_at(f, f->fd, &file, sizeof file, 0) != sizeof file ||
        memcmp(file.magic, MV_WIRE_MAGIC, MV_WIRE_MAGIC_BYTES) != 0)
        return false;
    return read_headers(f, f->fd, sizeof file, &h) ? h.wire.kind >= MV_WIRE_LIVE_KINDS
                                                   : memcmp(h.wire.magic, blank, sizeof blank) == 0;
}

mv_live_follow *mv_live_follow_open_fd(mv_arena *arena, int fd, mv_err *err)
{
    mv_live_follow *f = mv_push_struct(arena, mv_live_follow);

    if (!f) {
        close(fd);
        mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
        return NULL;
    }
    f->fd = fd;
    f->folded = -1;
    mv_arena_init(&f->arena, arena->budget);
    mv_build_init(&f->build, &f->arena, &f->trace);
    mv_live_names_init(&f->arena, &f->build, &f->names);
    f->frontier = MV_LIVE_CHUNK_BYTES;
    if (f->build.code == MV_OK && is_live(f))
        return f;
    mv_fail(err, f->build.code == MV_OK ? MV_FORMAT : f->build.code, 0, "%s",
            "only a recording that is still being written can be followed");
    mv_live_follow_close(f);
    return NULL;
}

static bool begin_folded(mv_live_follow *f, int fd)
{
    headers folded, places;
    uint64_t at, place;

    if (!read_folded(f, fd, &f->after, &folded))
        return true;
    at = slot_after(2 * MV_LIVE_CHUNK_BYTES, &folded);
    f->frontier = folded.wire.table_rows;
    if (!add_source(f, fd, 2 * MV_LIVE_CHUNK_BYTES, &folded))
        return false;
    if (!read_headers(f, fd, at, &places) || places.wire.kind != MV_LIVE_PLACES)
        return true;
    for (uint64_t i = 0; i < places.live.committed / sizeof place; i++)
        if (!read_word(f, fd, at + HEADERS + i * sizeof place, &place) ||
            !mv_append(&f->arena, f->blank, f->blank_count, f->blank_capacity, place))
            return out_of_memory(f);
    return true;
}

mv_live_follow *mv_live_follow_open(mv_arena *arena, const char *path, mv_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    mv_live_follow *f;
    size_t size = strlen(path) + sizeof MV_FOLDED_SUFFIX;

    if (fd < 0) {
        mv_fail(err, MV_IO, MV_NO_OFFSET, "%s: %s", path, strerror(errno));
        return NULL;
    }
    f = mv_live_follow_open_fd(arena, fd, err);
    if (!f || !(f->folded_path = mv_arena_push(&f->arena, size, 1)))
        return f;
    snprintf(f->folded_path, size, "%s%s", path, MV_FOLDED_SUFFIX);
    f->folded = open(f->folded_path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (f->folded < 0 || begin_folded(f, f->folded))
        return f;
    mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", f->folded_path);
    mv_live_follow_close(f);
    return NULL;
}

void mv_live_follow_close(mv_live_follow *f)
{
    if (!f)
        return;
    close(f->fd);
    if (f->folded >= 0)
        close(f->folded);
    mv_arena_release(&f->arena);
}
