#include "record/ring.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/grow.h"
#include "capture/wire_leb128.h"
#include "record/fold.h"
#include "record/line_history.h"

enum {
    LOOK_US = 300000,      /* time between two searches of the folder */
    MOST_RECORDS = 200000, /* maximum number of records folded in one update, which takes about
                            * 20 ms, during which requests wait */
    WINDOWS = 32,          /* the shim may reserve this fraction of the bound */
    FOLDED_SLOTS = 4 * MV_LIVE_CHUNK_BYTES, /* size of a folded part: its header and three chunks */
    ALIVE_BYTES = 24,                       /* size of most records in a folded part */
    LEAST_HOLES = 2 << 20, /* total size of holes for which a new folded part is worth writing while
                            * there is more to fold */
    PARTS = 8,             /* fraction of a bound that is folded at once */
    SPANS = 64,            /* maximum number of spans of a curve */
    SPAN_US = 1000000,     /* initial length of a span, which is doubled when the curve is full */
    CURVES = 16,           /* maximum number of devices with a curve, because the facts must fit
                            * into one chunk */
    MOST_FACTS = 8 + 3 * CURVES,
    MOST_FACT_BYTES = 60000 /* the facts of a folded part must fit into one chunk */
};

/* The largest number of allocated bytes on a device in each span of time. */
typedef struct {
    uint64_t peak, first_us, span_us;
    uint64_t most[SPANS];
    uint32_t count;
} curve;

typedef struct {
    uint64_t at, bytes;
} hole;

struct mv_ring {
    mv_arena arena;
    char name[NAME_MAX + 1]; /* name of the live file in the folder */
    int fd;
    mv_live_follow *tail; /* reader of the records that were folded or will be folded next */
    mv_live_alive alive;
    curve curves[CURVES];
    mv_line_history lines;
    hole *holes; /* [hole_count] chunks whose records are in `alive` */
    uint32_t hole_count, hole_capacity;
    uint64_t hole_bytes;   /* total size of these chunks */
    uint64_t folded_bytes; /* size of the folded part */
    uint64_t folded_kept;  /* number of records in the folded part */
    uint64_t wanted;       /* bytes of holes that should be made; 0: none */
    uint64_t first_us;     /* times of the first and the last record that was folded; 0: none */
    uint64_t until_us;
    uint64_t since_us; /* time at which the file was found */
    const char *bound; /* bound that was reached most recently */
    bool is_changed;   /* `alive` has records that the folded part does not contain */
    bool is_off;
};

uint64_t mv_ring_window(const mv_ring_bounds *bounds)
{
    return bounds->max_size / WINDOWS & ~(uint64_t)(MV_LIVE_CHUNK_BYTES - 1);
}

static void give_up(mv_rings *r, mv_ring *g, const char *why)
{
    g->is_off = true;
    r->fault = r->fault ? r->fault : why;
}

/* ---- files ------------------------------------------------------------------------------- */

static bool is_known(const mv_rings *r, const char *name)
{
    for (uint32_t i = 0; i < r->count; i++)
        if (strcmp(r->rings[i]->name, name) == 0)
            return true;
    return false;
}

/* Returns true if the file is ours: as in run_names.c, only regular files that belong to us and
 * have a single link are. */
static bool is_ours(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1;
}

/* Adds a live file. A file that has no header yet is added in a later search. */
static void add_ring(mv_rings *r, const char *name)
{
    int fd = openat(r->names->folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    mv_ring *g = fd >= 0 && is_ours(fd) ? mv_push_struct(&r->arena, mv_ring) : NULL;
    mv_err err;
    int again;

    if (!g || (again = fcntl(fd, F_DUPFD_CLOEXEC, 0)) < 0) {
        if (fd >= 0)
            close(fd);
        return;
    }
    g->fd = fd;
    g->since_us = (uint64_t)mv_now_us();
    snprintf(g->name, sizeof g->name, "%s", name);
    mv_arena_init(&g->arena, r->arena.budget);
    mv_live_alive_init(&g->arena, &g->alive);
    g->lines.arena = &g->arena;
    g->tail = mv_live_follow_open_fd(&g->arena, again, &err);
    if (!g->tail || !mv_append(&r->arena, r->rings, r->count, r->capacity, g)) {
        mv_live_follow_close(g->tail);
        close(fd);
        mv_arena_release(&g->arena);
    }
}

static void look_for_files(mv_rings *r)
{
    int again = openat(r->names->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = again < 0 ? NULL : fdopendir(again);
    struct dirent *entry;
    uint32_t pid, image;

    if (!folder && again >= 0)
        close(again);
    while (folder && (entry = readdir(folder)))
        if (mv_run_names_is_live(r->names, entry->d_name, &pid, &image) &&
            !is_known(r, entry->d_name))
            add_ring(r, entry->d_name);
    if (folder)
        closedir(folder);
}

/* ---- folding ----------------------------------------------------------------------------- */

static void halve(curve *c)
{
    for (uint32_t i = 0; i < SPANS / 2; i++)
        c->most[i] = c->most[2 * i] > c->most[2 * i + 1] ? c->most[2 * i] : c->most[2 * i + 1];
    memset(&c->most[SPANS / 2], 0, sizeof c->most / 2);
    c->count = SPANS / 2;
    c->span_us *= 2;
}

static void add_point(curve *c, uint64_t time_us, uint64_t bytes)
{
    uint64_t span;

    if (!c->span_us)
        *c = (curve){.first_us = time_us, .span_us = SPAN_US};
    while ((span = time_us > c->first_us ? (time_us - c->first_us) / c->span_us : 0) >= SPANS)
        halve(c);
    /* A span in which nothing happened receives the level with which the previous span ended, which
     * is at most that span's highest level. */
    for (; c->count <= span; c->count++)
        c->most[c->count] = c->count ? c->most[c->count - 1] : 0;
    c->most[span] = bytes > c->most[span] ? bytes : c->most[span];
    c->peak = bytes > c->peak ? bytes : c->peak;
}

static bool is_text(const mv_ring *g, const mv_live_record *r, const char *text)
{
    mv_span is = mv_live_names_text(mv_live_follow_names(g->tail), r->text);

    return is.length == strlen(text) && memcmp(is.data, text, is.length) == 0;
}

/* Keeps the mark of a pause, because the pause may end long after its mark was folded. */
static void pin_pauses(mv_ring *g, const mv_live_record *r)
{
    if (is_text(g, r, MV_MARK_PAUSE))
        g->alive.pinned[0] = r->text;
    else if (is_text(g, r, MV_MARK_RESUME))
        g->alive.pinned[1] = r->text;
}

static bool fold_record(mv_ring *g, const mv_live_record *r)
{
    uint32_t list;

    if (r->kind == MV_LIVE_EVENT_MARK)
        pin_pauses(g, r);
    if (!mv_line_history_add(&g->lines, &g->alive, r) || !mv_live_alive_add(&g->alive, r))
        return false;
    g->first_us = g->first_us ? g->first_us : r->time_us;
    if (r->kind == MV_LIVE_EVENT_BLOCK && (list = mv_live_alive_list(r)) < CURVES)
        add_point(&g->curves[list], r->time_us, g->alive.allocated[list]);
    if (r->time_us > g->until_us)
        g->until_us = r->time_us;
    g->is_changed = true;
    return true;
}

static bool take_finished(mv_ring *g)
{
    hole h;

    while (mv_live_follow_finished(g->tail, &h.at, &h.bytes)) {
        if (!mv_append(&g->arena, g->holes, g->hole_count, g->hole_capacity, h))
            return false;
        g->hole_bytes += h.bytes;
    }
    return true;
}

/* Returns the bytes on disk of the live file and of two folded parts, because two of them exist
 * while one replaces the other. */
static uint64_t disk_used(const mv_ring *g)
{
    struct stat st;

    return fstat(g->fd, &st) == 0 ? (uint64_t)st.st_blocks * 512 + 2 * g->folded_bytes : 0;
}

/* Returns the number of bytes by which the next folded part may be larger than the present one. The
 * shim may fill all but two windows (capture/record/overrun.c) while the folded part is written. */
static uint64_t bytes_left(const mv_rings *r, const mv_ring *g)
{
    uint64_t most = r->bounds.max_size, used = disk_used(g);
    uint64_t shim = mv_ring_window(&r->bounds) * (WINDOWS - 2);

    used = used > shim ? used : shim;
    return !most ? UINT64_MAX : used < most ? most - used : 0;
}

/* Folds records until enough chunks are finished, including all chunks before `cutoff`, but no more
 * records than fit into the next folded part. *more is set if there is more to fold at the next
 * update. */
static bool fold_records(mv_ring *g, uint64_t cutoff, uint64_t most_kept, bool *more)
{
    mv_live_record r;

    *more = false;
    for (uint32_t i = 0; g->hole_bytes < g->wanted || g->until_us < cutoff; i++) {
        *more = i == MOST_RECORDS || g->alive.kept > most_kept;
        if (*more || !mv_live_follow_next(g->tail, &r))
            return true;
        if (!fold_record(g, &r) || !take_finished(g))
            return false;
    }
    return true;
}

/* ---- the folded part --------------------------------------------------------------------- */

typedef struct {
    mv_arena *arena;
    mv_live_fact rows[MOST_FACTS];
    uint32_t count;
    uint64_t bytes;
} fact_list;

static void add_text(fact_list *f, const char *key, const char *value)
{
    mv_live_fact row = {mv_arena_text(f->arena, key, strlen(key)),
                        mv_arena_text(f->arena, value, strlen(value))};

    f->bytes += strlen(key) + strlen(value) + 2 * MV_LEB128_BYTES;
    if (row.key && row.value && f->count < MOST_FACTS && f->bytes <= MOST_FACT_BYTES)
        f->rows[f->count++] = row;
}

static void add_number(fact_list *f, const char *key, uint64_t value)
{
    char text[32];

    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    add_text(f, key, text);
}

static void add_curve(fact_list *f, const curve *c, uint32_t device)
{
    char key[32], text[SPANS * 44];
    size_t at = 0;

    snprintf(key, sizeof key, "folded_peak_%u", device);
    add_number(f, key, c->peak);
    for (uint32_t i = 0; i < c->count; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%llu:%llu", i ? " " : "",
                               (unsigned long long)(c->first_us + (i + 1) * c->span_us),
                               (unsigned long long)c->most[i]);
    snprintf(key, sizeof key, "folded_curve_%u", device);
    add_text(f, key, text);
}

/* Adds the lines of each device to the facts. All devices share the maximum number of rows. */
static void add_lines(mv_ring *g, fact_list *f)
{
    uint32_t devices = 0;

    for (uint32_t i = 0; i < CURVES; i++)
        devices += g->curves[i].span_us > 0;
    for (uint32_t i = 0; i < CURVES; i++) {
        const char *text =
            g->curves[i].span_us
                ? mv_line_history_text(f->arena, &g->lines, &g->alive, i, MV_HISTORY_ROWS / devices)
                : NULL;
        char key[32];
        snprintf(key, sizeof key, MV_FACT_FOLDED_LINES "%u", i);
        if (text)
            add_text(f, key, text);
    }
}

static void add_facts(const mv_rings *r, mv_ring *g, fact_list *f)
{
    add_number(f, "folded_events", g->alive.seen - g->alive.kept);
    add_number(f, MV_FACT_FOLDED_SINCE, g->first_us);
    add_number(f, MV_FACT_FOLDED_UNTIL, g->until_us);
    add_text(f, "folded_bound", g->bound);
    if (r->bounds.max_size)
        add_number(f, "folded_max_size", r->bounds.max_size);
    if (r->bounds.max_age_us)
        add_number(f, "folded_max_age_us", r->bounds.max_age_us);
    if (mv_live_follow_status(g->tail)->lost)
        add_number(f, "lost_folded", mv_live_follow_status(g->tail)->lost);
    for (uint32_t i = 0; i < CURVES; i++)
        if (g->curves[i].span_us)
            add_curve(f, &g->curves[i], i);
    add_lines(g, f);
}

static bool write_all(int fd, mv_span bytes)
{
    for (uint64_t done = 0; done < bytes.length;) {
        ssize_t wrote = write(fd, bytes.data + done, bytes.length - done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        done += (uint64_t)wrote;
    }
    return true;
}

/* Replaces the folded part with a new one, in one step. */
static bool put_folded(const mv_rings *r, const mv_ring *g, mv_span bytes)
{
    char made[NAME_MAX + 32], name[NAME_MAX + 16];
    int fd;
    bool fine;

    snprintf(name, sizeof name, "%s%s", g->name, MV_FOLDED_SUFFIX);
    snprintf(made, sizeof made, "%s.new", name);
    unlinkat(r->names->folder, made, 0);
    fd = openat(r->names->folder, made, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    fine = write_all(fd, bytes);
    fine = close(fd) == 0 && fine && renameat(r->names->folder, made, r->names->folder, name) == 0;
    if (!fine)
        unlinkat(r->names->folder, made, 0);
    return fine;
}

/* Writes the folded part. Returns NULL, or the reason of a failure. */
static const char *write_folded(mv_rings *r, mv_ring *g)
{
    mv_arena scratch;
    fact_list facts = {.arena = &scratch};
    mv_fold fold = {.alive = &g->alive,
                    .through = mv_live_follow_status(g->tail)->sequence,
                    .facts = facts.rows};
    const char *why = NULL;
    mv_span bytes;

    mv_arena_init(&scratch, r->arena.budget);
    add_facts(r, g, &facts);
    fold.fact_count = facts.count;
    fold.places = mv_live_follow_places(g->tail, &scratch, &fold.place_count, &fold.start);
    if (!fold.places || !mv_fold_bytes(&scratch, &fold, &bytes))
        why = "there is not enough memory for the folded part";
    else if (bytes.length > g->folded_bytes && bytes.length - g->folded_bytes > bytes_left(r, g))
        why = "what is alive needs more than --max-size";
    else if (!put_folded(r, g, bytes))
        why = "the folded part could not be written";
    if (!why) {
        g->folded_bytes = bytes.length;
        g->folded_kept = g->alive.kept;
    }
    mv_arena_release(&scratch);
    return why;
}

/* Removes the folded records from the live file. At this point these records are in both files, so
 * those in the live file are no longer needed. */
static void make_holes(mv_rings *r, mv_ring *g)
{
    for (uint32_t i = 0; i < g->hole_count; i++)
        if (fallocate(g->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)g->holes[i].at,
                      (off_t)g->holes[i].bytes) != 0)
            give_up(r, g, "the file system cannot remove parts of a file");
    g->hole_count = 0;
    g->hole_bytes = 0;
    g->wanted = 0;
    g->is_changed = false;
}

/* ---- the bounds -------------------------------------------------------------------------- */

/* Returns the number of bytes to remove so that the files stay within the bound until the next
 * update. */
static uint64_t bytes_over(const mv_rings *r, const mv_ring *g)
{
    uint64_t most = r->bounds.max_size, part = most / PARTS, used = disk_used(g) + part;

    return most && used > most ? used - most + part : 0;
}

static void update_ring(mv_rings *r, mv_ring *g)
{
    uint64_t now = (uint64_t)mv_now_us(), age = r->bounds.max_age_us, over, cutoff = 0;
    uint64_t oldest = g->until_us ? g->until_us : g->since_us;
    uint64_t left = bytes_left(r, g), most_kept = g->folded_kept;
    const char *why;
    mv_err err;
    bool more;

    if (mv_live_follow_update(g->tail, now, &err) != MV_OK) {
        give_up(r, g, "there is not enough memory to follow the recording");
        return;
    }
    over = bytes_over(r, g);
    if (over > g->wanted) {
        g->wanted = over;
        g->bound = "size";
    }
    if (age && now > oldest + age + age / PARTS) {
        cutoff = now - age;
        g->bound = g->wanted ? g->bound : "age";
    }
    if (!g->wanted && !cutoff && !g->is_changed)
        return;
    most_kept += left > FOLDED_SLOTS ? (left - FOLDED_SLOTS) / ALIVE_BYTES : 0;
    if (!fold_records(g, cutoff, most_kept, &more))
        give_up(r, g, "there is not enough memory to keep what is alive");
    else if (g->is_changed &&
             (!more || g->hole_bytes >= LEAST_HOLES || g->alive.kept > most_kept)) {
        why = write_folded(r, g);
        if (why)
            give_up(r, g, why);
        else
            make_holes(r, g);
    }
    r->is_behind = r->is_behind || (more && !g->is_off);
}

const char *mv_ring_name(const mv_rings *r, uint32_t ring)
{
    return r->rings[ring]->name;
}

void mv_rings_open(mv_rings *r, mv_budget *budget, const mv_run_names *names,
                   const mv_ring_bounds *bounds)
{
    *r = (mv_rings){.names = names, .bounds = *bounds};
    mv_arena_init(&r->arena, budget);
}

void mv_rings_update(mv_rings *r)
{
    bool is_bounded = r->bounds.max_size || r->bounds.max_age_us;

    if (!is_bounded && !r->is_watched)
        return;
    if ((uint64_t)mv_now_us() >= r->look_us) {
        look_for_files(r);
        r->look_us = (uint64_t)mv_now_us() + LOOK_US;
    }
    r->is_behind = false;
    for (uint32_t i = 0; is_bounded && i < r->count; i++)
        if (!r->rings[i]->is_off)
            update_ring(r, r->rings[i]);
}

void mv_rings_end(mv_rings *r)
{
    r->look_us = 0;
    mv_rings_update(r);
}

void mv_rings_close(mv_rings *r)
{
    for (uint32_t i = 0; i < r->count; i++) {
        mv_live_follow_close(r->rings[i]->tail);
        close(r->rings[i]->fd);
        mv_arena_release(&r->rings[i]->arena);
    }
    mv_arena_release(&r->arena);
}
