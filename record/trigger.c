#include "record/trigger.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/grow.h"
#include "base/numbers.h"
#include "base/size.h"
#include "parse/live/live_alive.h"
#include "parse/live/live_follow.h"

enum {
    HIGHER_PERCENT = 5, /* how far a new peak must be above the last peak for which a file was
                         * kept */
    PARTS = 8           /* number of sections into which the time of a growth is divided; the
                         * lowest level of each section is kept */
};

/* The state of one condition for one file. */
typedef struct {
    uint64_t due_us;   /* time at which the file is written; 0: the condition was not met */
    uint64_t ready_us; /* time at which the cooldown ends */
    uint32_t number;   /* number of files written */
    char why[MV_TRIGGER_WHY];
} watched;

struct mv_trigger_file {
    mv_arena arena;
    mv_live_follow *head;          /* reader of the newest records; NULL: no condition needs it,
                                    * or it could not be opened */
    mv_map blocks[MV_LIVE_LISTS];  /* sizes of blocks, by address */
    uint64_t all, peak, kept_peak; /* bytes of all accelerators together: present, highest, and
                                    * highest for which a file was kept */
    uint64_t least[PARTS + 1];     /* lowest value of `all` in each section of a growth's time;
                                    * the newest section is last */
    uint64_t part_us;              /* end of the newest section; 0: no section has begun */
    uint32_t parts;                /* number of entries of `least` */
    watched watched[MV_TRIGGER_KINDS];
};

static const char *const names[] = {
#define NAME(id, text) text,
    MV_TRIGGER_LIST(NAME)
#undef NAME
};

const char *mv_trigger_text(mv_trigger_kind kind)
{
    return names[kind];
}

/* ---- the option -------------------------------------------------------------------------- */

static bool take_used(const char *text, mv_trigger_opts *o)
{
    size_t length = strlen(text);
    uint64_t percent;
    char number[32];

    if (length && length < sizeof number && text[length - 1] == '%') {
        snprintf(number, sizeof number, "%.*s", (int)length - 1, text);
        o->used_percent =
            mv_number_read(number, &percent) && percent <= 100 ? (uint32_t)percent : 0;
        return o->used_percent > 0;
    }
    return mv_size_parse(text, &o->used_bytes) && o->used_bytes > 0;
}

static bool take_growth(const char *text, mv_trigger_opts *o)
{
    const char *slash = strchr(text, '/');
    char size[32];

    if (!slash || (size_t)(slash - text) >= sizeof size)
        return false;
    snprintf(size, sizeof size, "%.*s", (int)(slash - text), text);
    return mv_size_parse(size, &o->growth_bytes) && o->growth_bytes > 0 &&
           mv_duration_read(slash + 1, &o->growth_us) && o->growth_us >= PARTS;
}

static bool take_condition(const char *text, mv_trigger_opts *o)
{
    for (uint32_t i = 0; i < MV_TRIGGER_KINDS; i++) {
        size_t length = strlen(names[i]);
        bool has_argument = i == MV_TRIGGER_USED || i == MV_TRIGGER_GROWTH;
        if (strncmp(text, names[i], length) != 0 || text[length] != (has_argument ? '>' : 0))
            continue;
        o->on[i] = true;
        return !has_argument || (i == MV_TRIGGER_USED ? take_used(text + length + 1, o)
                                                      : take_growth(text + length + 1, o));
    }
    return false;
}

const char *mv_trigger_parse(const char *text, mv_trigger_opts *opts)
{
    static char condition[64];

    *opts = (mv_trigger_opts){.cooldown_us = (uint64_t)MV_TRIGGER_COOLDOWN_S * 1000000,
                              .keep = MV_TRIGGER_KEEP};
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        snprintf(condition, sizeof condition, "%.*s", (int)length, at);
        if (length >= sizeof condition || !take_condition(condition, opts))
            return condition;
        at += length;
        if (!*at)
            return NULL;
    }
}

bool mv_triggers_any(const mv_triggers *t)
{
    for (uint32_t i = 0; i < MV_TRIGGER_KINDS; i++)
        if (t->opts.on[i])
            return true;
    return false;
}

/* ---- files ------------------------------------------------------------------------------- */

static bool needs_head(const mv_triggers *t)
{
    return t->opts.on[MV_TRIGGER_OOM] || t->opts.on[MV_TRIGGER_HIGH] ||
           t->opts.on[MV_TRIGGER_GROWTH];
}

static bool add_file(mv_triggers *t, uint32_t ring)
{
    mv_trigger_file *f = mv_push_struct(&t->arena, mv_trigger_file);
    mv_err err;
    int fd;

    if (!f || !mv_append(&t->arena, t->files, t->count, t->capacity, f))
        return false;
    mv_arena_init(&f->arena, t->arena.budget);
    for (uint32_t i = 0; i < MV_LIVE_LISTS; i++)
        f->blocks[i].arena = &f->arena;
    if (!needs_head(t))
        return true;
    fd = openat(t->rings->names->folder, mv_ring_name(t->rings, ring),
                O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    f->head = fd < 0 ? NULL : mv_live_follow_open_fd(&f->arena, fd, &err);
    return true;
}

/* Notes that the condition is met. Has no effect while a file of this condition is due, or during
 * its cooldown. */
static void meet(const mv_triggers *t, mv_trigger_file *f, mv_trigger_kind kind, const char *why)
{
    watched *w = &f->watched[kind];

    if (!t->opts.on[kind] || w->due_us || (uint64_t)mv_now_us() < w->ready_us)
        return;
    w->due_us = (uint64_t)mv_now_us() + t->opts.after_us;
    snprintf(w->why, sizeof w->why, "%s", why);
}

/* ---- allocated bytes --------------------------------------------------------------------- */

/* Counts a block that was allocated or freed. The size of a freed block is in the record of the
 * free. */
static void count_block(mv_trigger_file *f, const mv_live_record *r)
{
    uint32_t list = mv_live_alive_list(r);

    if (list >= MV_LIVE_CPU)
        return;
    if (r->kind == MV_LIVE_EVENT_BLOCK && mv_map_put(&f->blocks[list], r->addr, 1))
        f->all += r->size;
    else if (r->kind == MV_LIVE_EVENT_FREE &&
             mv_map_take(&f->blocks[list], r->addr) != MV_NOT_IN_MAP)
        f->all -= r->size < f->all ? r->size : f->all;
    f->peak = f->all > f->peak ? f->all : f->peak;
    if (f->parts && f->all < f->least[f->parts - 1])
        f->least[f->parts - 1] = f->all;
}

static void see_oom(const mv_triggers *t, mv_trigger_file *f, const mv_live_record *r)
{
    char size[MV_SIZE_TEXT], all[MV_SIZE_TEXT], why[MV_TRIGGER_WHY];

    snprintf(why, sizeof why, "out of memory: %s requested, %s allocated",
             mv_size_text(size, r->size), mv_size_text(all, f->all));
    meet(t, f, MV_TRIGGER_OOM, why);
}

static void read_head(const mv_triggers *t, mv_trigger_file *f)
{
    mv_live_record r;
    mv_err err;

    if (!f->head || mv_live_follow_update(f->head, (uint64_t)mv_now_us(), &err) != MV_OK)
        return;
    while (mv_live_follow_next(f->head, &r))
        if (r.kind == MV_LIVE_EVENT_BLOCK || r.kind == MV_LIVE_EVENT_FREE)
            count_block(f, &r);
        else if (r.kind == MV_LIVE_EVENT_OOM)
            see_oom(t, f, &r);
}

/* ---- conditions -------------------------------------------------------------------------- */

static void check_high(const mv_triggers *t, mv_trigger_file *f)
{
    char peak[MV_SIZE_TEXT], before[MV_SIZE_TEXT], why[MV_TRIGGER_WHY];

    if (f->peak == 0 || f->peak < f->kept_peak + f->kept_peak / 100 * HIGHER_PERCENT ||
        f->peak == f->kept_peak)
        return;
    snprintf(why, sizeof why, "a new peak: %s allocated, %s at the last one",
             mv_size_text(peak, f->peak), mv_size_text(before, f->kept_peak));
    meet(t, f, MV_TRIGGER_HIGH, why);
}

/* Checks for growth. Compares the lowest level of each section of time, so that only memory that
 * remains allocated counts, not the rise and fall within each step. */
static void check_growth(const mv_triggers *t, mv_trigger_file *f)
{
    uint64_t now = (uint64_t)mv_now_us(), part = t->opts.growth_us / PARTS;
    char grown[MV_SIZE_TEXT], span[MV_DURATION_TEXT], why[MV_TRIGGER_WHY];

    if (!t->opts.on[MV_TRIGGER_GROWTH] || now < f->part_us)
        return;
    if (f->parts == PARTS + 1 && f->least[PARTS] > f->least[0] + t->opts.growth_bytes) {
        snprintf(why, sizeof why, "%s more stayed allocated than %s before",
                 mv_size_text(grown, f->least[PARTS] - f->least[0]),
                 mv_duration_text(span, (int64_t)t->opts.growth_us));
        meet(t, f, MV_TRIGGER_GROWTH, why);
    }
    if (f->parts == PARTS + 1)
        memmove(f->least, f->least + 1, PARTS * sizeof *f->least);
    else
        f->parts++;
    f->least[f->parts - 1] = f->all;
    f->part_us = now + part;
}

static void check_used(const mv_triggers *t, mv_trigger_file *f)
{
    char used[MV_SIZE_TEXT], total[MV_SIZE_TEXT], why[MV_TRIGGER_WHY];

    for (uint32_t i = 0; t->nvml->calls && i < t->nvml->series_count; i++) {
        const mv_nvml_series *s = &t->nvml->series[i];
        uint64_t all = t->nvml->devices[s->device].total, now;
        if (s->pid || !s->count)
            continue;
        now = s->points[s->count - 1].bytes;
        if (t->opts.used_percent ? now <= all / 100 * t->opts.used_percent
                                 : now <= t->opts.used_bytes)
            continue;
        snprintf(why, sizeof why, "%s of %s are used on GPU %u", mv_size_text(used, now),
                 mv_size_text(total, all), s->device);
        meet(t, f, MV_TRIGGER_USED, why);
    }
}

/* ---- writing ----------------------------------------------------------------------------- */

static void await_writers(mv_triggers *t, int how)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < t->writers; i++) {
        int status = MV_TRIGGER_NOT_WRITTEN;
        if (waitpid(t->writer[i], &status, how) == 0)
            t->writer[left++] = t->writer[i];
        else if (WIFEXITED(status))
            t->kept += WEXITSTATUS(status) == MV_TRIGGER_ADDED;
    }
    t->writers = left;
}

/* Starts a separate process that writes the file, so that neither the program nor the launcher
 * waits. */
static void shoot(mv_triggers *t, uint32_t file, mv_trigger_kind kind)
{
    mv_trigger_file *f = t->files[file];
    watched *w = &f->watched[kind];
    mv_trigger_shot shot = {mv_ring_name(t->rings, file), kind, ++w->number, ""};
    pid_t child;

    w->due_us = 0;
    w->ready_us = kind == MV_TRIGGER_SIGUSR2 ? 0 : (uint64_t)mv_now_us() + t->opts.cooldown_us;
    f->kept_peak = f->peak;
    snprintf(shot.why, sizeof shot.why, "%s", w->why);
    child = fork();
    if (child == 0)
        _exit(t->write(t->user, &shot));
    if (child > 0)
        t->writer[t->writers++] = child;
}

static void shoot_due(mv_triggers *t, uint64_t now)
{
    for (uint32_t i = 0; i < t->count; i++)
        for (uint32_t k = 0; k < MV_TRIGGER_KINDS; k++)
            if (t->files[i]->watched[k].due_us && t->files[i]->watched[k].due_us <= now &&
                t->writers < MV_TRIGGER_WRITERS)
                shoot(t, i, (mv_trigger_kind)k);
}

/* ---- all --------------------------------------------------------------------------------- */

void mv_triggers_open(mv_triggers *t, mv_budget *budget)
{
    mv_arena_init(&t->arena, budget);
}

static void check_all(mv_triggers *t)
{
    while (t->count < t->rings->count && add_file(t, t->count))
        ;
    for (uint32_t i = 0; i < t->count; i++) {
        read_head(t, t->files[i]);
        check_high(t, t->files[i]);
        check_growth(t, t->files[i]);
        check_used(t, t->files[i]);
        if (t->is_signalled)
            meet(t, t->files[i], MV_TRIGGER_SIGUSR2, "SIGUSR2");
    }
    t->is_signalled = t->is_signalled && t->count == 0;
}

void mv_triggers_update(mv_triggers *t)
{
    if (!mv_triggers_any(t))
        return;
    check_all(t);
    shoot_due(t, (uint64_t)mv_now_us());
    await_writers(t, WNOHANG);
}

void mv_triggers_signal(mv_triggers *t)
{
    t->is_signalled = true;
}

void mv_triggers_end(mv_triggers *t)
{
    if (mv_triggers_any(t))
        check_all(t);
    for (uint32_t i = 0; i < t->count; i++)
        meet(t, t->files[i], MV_TRIGGER_EXIT, "the program ended");
    shoot_due(t, UINT64_MAX);
    await_writers(t, 0);
    for (uint32_t i = 0; i < t->count; i++) {
        mv_live_follow_close(t->files[i]->head);
        mv_arena_release(&t->files[i]->arena);
    }
    mv_arena_release(&t->arena);
}
