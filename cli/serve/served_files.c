#include "cli/serve/served_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/advice/recording.h"
#include "analyze/advice/triage.h"
#include "base/duration.h"
#include "base/sort.h"
#include "base/thread.h"
#include "cli/input/folder_files.h"
#include "cli/live/followed.h"
#include "cli/serve/container_file.h"
#include "parse/live/live_progress.h"
#include "parse/model/sums.h"

/* ---- the verdict ------------------------------------------------------------------------- */

/* Describes an error as "byte 12: unknown opcode". */
static void explain(const mv_err *err, char *why, size_t size)
{
    char text[MV_ERR_TEXT], place[32] = "";

    if (err->offset != MV_NO_OFFSET)
        snprintf(place, sizeof place, "byte %llu: ", (unsigned long long)err->offset);
    snprintf(why, size, "%s%s", place, mv_err_text(err, text));
}

static void keep_peak(const mv_triage *t, const mv_trace *trace, mv_served_verdict *out)
{
    const mv_triage_device *most = NULL;

    for (uint32_t i = 0; i < t->device_count; i++)
        if (!most || t->devices[i].totals.peak.bytes.allocated > most->totals.peak.bytes.allocated)
            most = &t->devices[i];
    if (!most)
        return;
    out->allocated = most->totals.peak.bytes.allocated;
    if (!mv_trace_is_missing_reserved(trace))
        out->reserved = most->totals.peak.bytes.reserved;
    out->bound = most->totals.audit.peak.allocated;
}

static mv_code keep_verdict(mv_arena *arena, const char *path, const mv_trace *read,
                            const mv_trace *trace, const mv_triage *t, mv_served_verdict *out,
                            mv_err *err)
{
    const mv_triage_row *unknown = mv_triage_unknown(t);
    const char *text;

    out->devices = t->device_count;
    out->problems = mv_triage_problems(t);
    keep_peak(t, trace, out);
    snprintf(out->damaged, sizeof out->damaged, "%s", read->notes[MV_NOTE_DAMAGED].first);
    if (t->device_count == 0) {
        mv_recording_contents contents;
        if (mv_recording_describe(arena, read, path, &contents, err) != MV_OK)
            return err->code;
        text = contents.count ? contents.lines[0] : "no events";
    } else if (out->problems) {
        out->kind = mv_finding_name(t->rows[0].finding->kind);
        text = t->rows[0].text;
    } else {
        text = unknown ? unknown->text : "no problem found";
    }
    snprintf(out->text, sizeof out->text, "%s", text);
    return MV_OK;
}

static mv_code find(mv_arena *arena, const char *path, mv_served_verdict *out, mv_err *err)
{
    mv_read_opts opts = {.files_only = true};
    mv_trace read, trace;
    mv_triage triage;
    mv_code code = mv_trace_read(arena, path, &opts, &read, err);

    if (code == MV_OK)
        code = mv_sums_check(&read, err);
    trace = read;
    if (code == MV_OK)
        code = mv_level_take_named(arena, &trace, "", err);
    if (code == MV_OK)
        code = mv_sums_check(&trace, err);
    if (code != MV_OK)
        return code;
    code = mv_triage_find(arena->budget,
                          (mv_triage_query){.read = &read,
                                            .trace = &trace,
                                            .with_others = true,
                                            .no_whatif = true,
                                            .end = UINT32_MAX},
                          1, &triage, err);
    if (code == MV_OK)
        code = keep_verdict(arena, path, &read, &trace, &triage, out, err);
    mv_triage_release(&triage);
    return code;
}

/* Reads the whole file and runs the reports on this thread. All memory is returned to `budget`. */
static void read_verdict(mv_budget *budget, const char *path, mv_served_verdict *out)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_arena arena;

    *out = (mv_served_verdict){
        .stage = MV_SERVED_READ, .kind = "", .allocated = MV_NO_BYTES, .reserved = MV_NO_BYTES};
    mv_arena_init(&arena, budget);
    if (find(&arena, path, out, &err) != MV_OK) {
        out->stage = MV_SERVED_UNREADABLE;
        explain(&err, out->text, sizeof out->text);
    }
    mv_arena_release(&arena);
}

enum { MOST_MADE = 256 /* maximum number of containers, because each uses a file descriptor */ };

typedef enum { NOT_MADE, ASKED, MADE, FAILED } stage;

typedef struct {
    char *path; /* [room] */
    size_t room;
    uint64_t hash; /* hash of the path */
    uint32_t next; /* next row + 1 with the same hash in by_path; 0: none */
    uint32_t root; /* index of the first path on the command line that led to this file */
    bool is_named; /* the file itself is named on the command line */
    bool is_there; /* the file existed at the last scan */
    bool is_listed;
    uint64_t bytes, version;
    int64_t modified_ms;
    bool is_live;      /* at the last scan the file was a recording that was still being written */
    uint64_t identity; /* identifies the file, whatever it contains */
    int64_t due_ms;    /* for a live file: the earliest time at which its version may change */
    /* The following members are protected by the lock: */
    stage stage;
    uint64_t asked;              /* value of `clock` when the file was last requested */
    mv_container_file container; /* for MADE: the container */
    char why[MV_ERR_TEXT + 32];  /* for FAILED: the reason */
    mv_served_verdict verdict;
    uint64_t judged; /* version of the file that the verdict is about */
} row;

struct mv_served_files {
    mv_arena *arena;
    mv_budget budget; /* budget for conversions; setting its limit to 0 ends them */
    const char *const *paths;
    uint32_t path_count;
    row *rows; /* [MV_SERVED_MOST] */
    uint32_t count;
    uint32_t by_path[MV_SERVED_MOST]; /* row + 1 of the first entry for a path's hash; 0: none */
    uint32_t left_out;
    uint32_t next_gone; /* this scan has already checked the rows before this one for reuse */
    uint64_t most_kept;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wanted;
    bool ends;           /* protected by the lock, like the next three members */
    bool finds_verdicts; /* a client has requested the list, so the thread may find verdicts */
    bool is_finding;     /* the thread is finding a verdict, which a request for a container
                          * interrupts */
    uint64_t clock;
    _Atomic uint32_t thousandths; /* progress of the running conversion */
    _Atomic uint32_t running;     /* row of the running conversion */
};

/* ---- containers -------------------------------------------------------------------------- */

static void drop(row *r)
{
    if (r->stage == MADE)
        close(r->container.fd);
    r->stage = NOT_MADE;
}

/* Evicts the least recently requested containers until the remaining ones are within the bounds. */
static void keep_bounds(mv_served_files *served, const row *newest)
{
    for (;;) {
        uint64_t bytes = 0, made = 0;
        row *oldest = NULL;
        for (uint32_t i = 0; i < served->count; i++) {
            row *r = &served->rows[i];
            if (r->stage != MADE)
                continue;
            made++;
            bytes += r->container.is_original ? 0 : r->container.bytes;
            if (r != newest && (!oldest || r->asked < oldest->asked))
                oldest = r;
        }
        if (!oldest || (bytes <= served->most_kept && made <= MOST_MADE))
            return;
        drop(oldest);
    }
}

static uint64_t identity_of(const struct stat *st)
{
    return mv_mix((uint64_t)st->st_dev, (uint64_t)st->st_ino);
}

static uint64_t version_of(const struct stat *st)
{
    uint64_t version = identity_of(st);

    version = mv_mix(version, (uint64_t)st->st_size);
    version = mv_mix(version, (uint64_t)st->st_mtim.tv_sec);
    return mv_mix(version, (uint64_t)st->st_mtim.tv_nsec);
}

/* Only the identity of a live file is compared, because the file changes all the time. */
static bool has_version(const row *r, const struct stat *st, uint64_t version)
{
    return r->version == version &&
           (r->is_live ? r->identity == identity_of(st) : version_of(st) == version);
}

/* After a live file was read, its version does not change during ten times the time that reading
 * took. */
static void note_time(row *r, int64_t began_ms)
{
    int64_t now_ms = mv_now_ms();

    r->due_ms = now_ms + (now_ms - began_ms) * 10;
}

static void show_progress(void *user, uint64_t done, uint64_t total)
{
    atomic_store(&((mv_served_files *)user)->thousandths,
                 (uint32_t)(total ? done * 1000 / total : 0));
}

/* Returns the requested row that has waited the longest; NULL: none. */
static row *next_asked(mv_served_files *served)
{
    row *first = NULL;

    for (uint32_t i = 0; i < served->count; i++)
        if (served->rows[i].stage == ASKED && (!first || served->rows[i].asked < first->asked))
            first = &served->rows[i];
    return first;
}

/* Called with the lock held. Releases it during the conversion. */
static void make(mv_served_files *served, row *r)
{
    uint64_t version = r->version;
    int64_t began_ms = mv_now_ms();
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_container_file container;
    struct stat st;
    bool is_same;

    atomic_store(&served->thousandths, 0);
    atomic_store(&served->running, (uint32_t)(r - served->rows));
    pthread_mutex_unlock(&served->lock);
    mv_container_file_make(&served->budget, r->path, show_progress, served, &container, &err);
    is_same = stat(r->path, &st) == 0;
    pthread_mutex_lock(&served->lock);
    atomic_store(&served->running, UINT32_MAX);
    note_time(r, began_ms);
    if (!is_same || !has_version(r, &st, version) || r->stage != ASKED) {
        if (container.fd >= 0)
            close(container.fd);
        drop(r);
    } else if (err.code != MV_OK) {
        r->stage = FAILED;
        explain(&err, r->why, sizeof r->why);
    } else {
        r->stage = MADE;
        r->container = container;
        keep_bounds(served, r);
    }
}

/* Returns the smallest listed file that has no verdict yet; NULL: none. */
static row *next_unread(mv_served_files *served)
{
    row *first = NULL;

    for (uint32_t i = 0; served->finds_verdicts && i < served->count; i++) {
        row *r = &served->rows[i];
        if (r->is_there && r->is_listed && r->judged != r->version &&
            (!first || r->bytes < first->bytes))
            first = r;
    }
    return first;
}

/* Ends the thread's current work by making its next allocation fail. */
static void interrupt(mv_served_files *served)
{
    __atomic_store_n(&served->budget.limit, 0, __ATOMIC_RELAXED); /* the thread reads it */
}

/* Called with the lock held. Releases it while the file is read. */
static void find_verdict(mv_served_files *served, row *r)
{
    uint64_t version = r->version;
    int64_t began_ms = mv_now_ms();
    mv_served_verdict verdict;

    atomic_store(&served->running, (uint32_t)(r - served->rows));
    served->is_finding = true;
    pthread_mutex_unlock(&served->lock);
    read_verdict(&served->budget, r->path, &verdict);
    pthread_mutex_lock(&served->lock);
    served->is_finding = false;
    atomic_store(&served->running, UINT32_MAX);
    if (served->budget.limit == 0) /* the reading was interrupted, so the verdict may be wrong */
        served->budget.limit = served->ends ? 0 : served->arena->budget->limit;
    else if (r->version == version) {
        r->verdict = verdict;
        r->judged = version;
        note_time(r, began_ms);
    }
}

static void *work(void *user)
{
    mv_served_files *served = user;
    row *r;

    pthread_mutex_lock(&served->lock);
    while (!served->ends) {
        if ((r = next_asked(served)))
            make(served, r);
        else if ((r = next_unread(served)))
            find_verdict(served, r);
        else
            pthread_cond_wait(&served->wanted, &served->lock);
    }
    pthread_mutex_unlock(&served->lock);
    return NULL;
}

/* ---- the list ---------------------------------------------------------------------------- */

static uint32_t *place_of(mv_served_files *served, uint64_t hash)
{
    return &served->by_path[hash % MV_SERVED_MOST];
}

static void unlink_row(mv_served_files *served, const row *r)
{
    uint32_t number = (uint32_t)(r - served->rows) + 1;

    for (uint32_t *at = place_of(served, r->hash); *at; at = &served->rows[*at - 1].next)
        if (*at == number) {
            *at = r->next;
            return;
        }
}

/* Whether another file may use the row, because the row's file is gone and the thread does not need
 * it. */
static bool is_free(mv_served_files *served, const row *r)
{
    struct stat st;

    return !r->is_there && !r->is_named && r->stage != ASKED &&
           atomic_load(&served->running) != (uint32_t)(r - served->rows) &&
           (stat(r->path, &st) != 0 || !S_ISREG(st.st_mode));
}

/* Returns a row for another file: a new row, or else that of a deleted file. NULL: none. */
static row *next_row(mv_served_files *served)
{
    if (served->count < MV_SERVED_MOST)
        return &served->rows[served->count];
    while (served->next_gone < served->count) {
        row *r = &served->rows[served->next_gone++];
        if (is_free(served, r))
            return r;
    }
    return NULL;
}

/* Reuses the string's memory, so that changing names do not use more and more memory. */
static bool set_path(mv_served_files *served, row *r, const char *path)
{
    size_t length = strlen(path), room = 64;
    char *text;

    while (room <= length)
        room *= 2;
    if (r->room < room) {
        text = mv_push_array(served->arena, char, room);
        if (!text)
            return false;
        r->path = text;
        r->room = room;
    }
    memcpy(r->path, path, length + 1);
    return true;
}

static row *add_row(mv_served_files *served, const char *path, uint64_t hash)
{
    row *r = next_row(served);
    uint32_t *place = place_of(served, hash);

    if (!r || !set_path(served, r, path))
        return NULL;
    if (r == &served->rows[served->count])
        served->count++;
    else
        unlink_row(served, r);
    drop(r);
    r->version = r->judged = 0;
    r->is_live = false;
    r->hash = hash;
    r->next = *place;
    *place = (uint32_t)(r - served->rows) + 1;
    return r;
}

static row *find_row(mv_served_files *served, const char *path, uint32_t root)
{
    uint64_t hash = 0;
    row *r;

    for (const char *c = path; *c; c++)
        hash = mv_mix(hash, (uint8_t)*c);
    for (uint32_t at = *place_of(served, hash); at; at = served->rows[at - 1].next) {
        r = &served->rows[at - 1];
        if (r->hash == hash && strcmp(r->path, path) == 0) {
            if (root < r->root)
                r->root = root;
            return r;
        }
    }
    r = add_row(served, path, hash);
    if (r)
        r->root = root;
    return r;
}

/* Returns a file's version as of this scan. A live file's version stays the same while the file is
 * being read. */
static uint64_t version_now(row *r, const char *path, const struct stat *st)
{
    uint64_t version = version_of(st);
    mv_live_progress progress;

    if (r->is_live && r->identity == identity_of(st) &&
        (r->stage == ASKED || mv_now_ms() < r->due_ms))
        return r->version;
    if (!r->is_live && r->version == version)
        return version;
    r->identity = identity_of(st);
    r->is_live = mv_live_progress_find(path, &progress) && !progress.has_ended;
    return r->is_live ? progress.mark : version;
}

/* Scans one regular file. Called with the lock held. */
static void look_at(mv_served_files *served, const char *path, uint32_t root, bool is_named)
{
    uint64_t version;
    bool was_live;
    struct stat st;
    row *r;

    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return;
    r = find_row(served, path, root);
    if (!r) {
        served->left_out++;
        return;
    }
    r->is_named |= is_named;
    was_live = r->is_live;
    version = version_now(r, path, &st);
    if (r->version != version) {
        r->version = version;
        r->bytes = (uint64_t)st.st_size;
        r->modified_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
        r->is_listed = is_named || mv_is_named_as_snapshot(path, false) ||
                       mv_is_snapshot_file(served->arena->budget, path, false);
        if (!was_live) /* a live file keeps its last verdict until a new one is found */
            r->verdict.stage = MV_SERVED_NOT_READ;
        drop(r);
    }
    r->is_there = true;
}

static void look_into(mv_served_files *served, const char *folder, uint32_t root)
{
    size_t length = strlen(folder);
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    char path[4096];

    if (!dir)
        return;
    while (length > 1 && folder[length - 1] == '/')
        length--;
    while ((entry = readdir(dir)))
        if (entry->d_name[0] != '.' && snprintf(path, sizeof path, "%.*s/%s", (int)length, folder,
                                                entry->d_name) < (int)sizeof path)
            look_at(served, path, root, false);
    closedir(dir);
}

/* Removes the directory that all rows have in common from their names. */
static void shorten_names(mv_served_files_list *list)
{
    const char *first = list->count ? list->files[0].name : "";
    size_t common = strlen(first);

    for (uint32_t i = 0; i < list->count; i++) {
        size_t same = 0;
        while (same < common && list->files[i].name[same] == first[same])
            same++;
        common = same;
    }
    while (common > 0 && first[common - 1] != '/')
        common--;
    for (uint32_t i = 0; i < list->count; i++)
        list->files[i].name += common;
}

static int compare(const void *a, const void *b, const void *context)
{
    const mv_served_files *served = context;
    const mv_served_files_file *x = a, *y = b;
    uint32_t of_x = served->rows[x->id].root, of_y = served->rows[y->id].root;

    return of_x != of_y ? (of_x < of_y ? -1 : 1) : strverscmp(x->name, y->name);
}

/* Scans the named files first, because directories may contain too many files. Called with the lock
 * held. */
static void look_everywhere(mv_served_files *served)
{
    struct stat st;

    served->left_out = served->next_gone = 0;
    for (uint32_t i = 0; i < served->count; i++)
        served->rows[i].is_there = false;
    for (uint32_t i = 0; i < served->path_count; i++)
        look_at(served, served->paths[i], i, true);
    for (uint32_t i = 0; i < served->path_count; i++)
        if (stat(served->paths[i], &st) == 0 && S_ISDIR(st.st_mode))
            look_into(served, served->paths[i], i);
}

mv_code mv_served_files_look(mv_served_files *served, mv_arena *arena, mv_served_files_list *out,
                             mv_err *err)
{
    pthread_mutex_lock(&served->lock);
    look_everywhere(served);
    *out =
        (mv_served_files_list){.left_out = served->left_out,
                               .files = mv_push_array(arena, mv_served_files_file, served->count)};
    for (uint32_t i = 0; out->files && i < served->count; i++) {
        const row *r = &served->rows[i];
        if (r->is_there && r->is_listed)
            out->files[out->count++] = (mv_served_files_file){.id = i,
                                                              .name = r->path,
                                                              .bytes = r->bytes,
                                                              .version = r->version,
                                                              .modified_ms = r->modified_ms,
                                                              .is_live = r->is_live,
                                                              .verdict = r->verdict};
    }
    if (served->finds_verdicts)
        pthread_cond_signal(&served->wanted); /* the list may contain new files */
    pthread_mutex_unlock(&served->lock);
    if (!out->files)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "list");
    shorten_names(out);
    mv_sort_by(arena, out->files, out->count, sizeof *out->files, compare, served);
    return MV_OK;
}

/* ---- one file ---------------------------------------------------------------------------- */

/* Returns the file's row if the file still has that version. Otherwise returns NULL, with the
 * reason in `out`. */
static row *find_version(mv_served_files *served, uint32_t id, uint64_t version,
                         mv_served_files_answer *out)
{
    row *r = id < served->count ? &served->rows[id] : NULL;
    struct stat st;

    *out = (mv_served_files_answer){.state = MV_SERVED_FILE_ABSENT, .fd = -1};
    if (!r || !r->is_there || !r->is_listed || stat(r->path, &st) != 0)
        return NULL;
    out->path = r->path;
    out->state = MV_SERVED_FILE_STALE;
    return has_version(r, &st, version) ? r : NULL;
}

void mv_served_files_container(mv_served_files *served, uint32_t id, uint64_t version,
                               mv_served_files_answer *out)
{
    row *r = find_version(served, id, version, out);

    if (!r)
        return;
    pthread_mutex_lock(&served->lock);
    if (r->stage != ASKED)
        r->asked = ++served->clock;
    if (r->stage == NOT_MADE) {
        r->stage = ASKED;
        if (served->is_finding)
            interrupt(served);
        pthread_cond_signal(&served->wanted);
    }
    if (r->stage == ASKED) {
        out->state = MV_SERVED_FILE_MAKING;
        out->progress =
            atomic_load(&served->running) == id ? atomic_load(&served->thousandths) / 1000.0 : 0;
    } else if (r->stage == FAILED) {
        out->state = MV_SERVED_FILE_FAILED;
        memcpy(out->why, r->why, sizeof out->why);
    } else {
        out->bytes = r->container.bytes;
        out->fd = fcntl(r->container.fd, F_DUPFD_CLOEXEC, 0);
        out->state = out->fd < 0 ? MV_SERVED_FILE_FAILED : MV_SERVED_FILE_READY;
        if (out->fd < 0)
            snprintf(out->why, sizeof out->why, "%s", strerror(errno));
    }
    pthread_mutex_unlock(&served->lock);
}

void mv_served_files_find_verdicts(mv_served_files *served)
{
    pthread_mutex_lock(&served->lock);
    served->finds_verdicts = true;
    pthread_cond_signal(&served->wanted);
    pthread_mutex_unlock(&served->lock);
}

void mv_served_files_original(mv_served_files *served, uint32_t id, uint64_t version,
                              mv_served_files_answer *out)
{
    row *r = find_version(served, id, version, out);
    struct stat st;

    if (!r)
        return;
    out->fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (out->fd < 0) {
        out->state = MV_SERVED_FILE_FAILED;
        snprintf(out->why, sizeof out->why, "%s", strerror(errno));
    } else if (fstat(out->fd, &st) != 0 || !has_version(r, &st, version)) {
        close(out->fd);
        out->fd = -1;
    } else {
        out->state = MV_SERVED_FILE_READY;
        out->bytes = r->bytes;
    }
}

/* ---- open and close ---------------------------------------------------------------------- */

mv_code mv_served_files_open(mv_arena *arena, const char *const *paths, uint32_t count,
                             uint64_t most_kept, mv_served_files **out, mv_err *err)
{
    mv_served_files *served = mv_push_struct(arena, mv_served_files);
    struct stat st;

    *out = NULL;
    if (!served || !(served->rows = mv_push_array(arena, row, MV_SERVED_MOST)))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "list");
    served->arena = arena;
    served->budget.limit = arena->budget->limit;
    served->paths = paths;
    served->path_count = count;
    served->most_kept = most_kept;
    atomic_store(&served->running, UINT32_MAX);
    for (uint32_t i = 0; i < count; i++) {
        if (stat(paths[i], &st) != 0)
            return mv_fail(err, MV_IO, MV_NO_OFFSET, "%.120s: %s", paths[i], strerror(errno));
        if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
            return mv_fail(err, MV_IO, MV_NO_OFFSET, "%.120s: not a file or a folder", paths[i]);
    }
    pthread_mutex_init(&served->lock, NULL);
    pthread_cond_init(&served->wanted, NULL);
    if (!mv_thread_start(&served->thread, work, served))
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "%s", strerror(errno));
    *out = served;
    return MV_OK;
}

void mv_served_files_close(mv_served_files *served)
{
    if (!served)
        return;
    pthread_mutex_lock(&served->lock);
    served->ends = true;
    interrupt(served);
    pthread_cond_signal(&served->wanted);
    pthread_mutex_unlock(&served->lock);
    pthread_join(served->thread, NULL);
    for (uint32_t i = 0; i < served->count; i++)
        drop(&served->rows[i]);
    pthread_cond_destroy(&served->wanted);
    pthread_mutex_destroy(&served->lock);
}
