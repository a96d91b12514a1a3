#include "analyze/join/join.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/sort.h"
#include "parse/model/digest.h"
#include "parse/tools/block_log.h"

/* The event that allocated a block. */
typedef struct {
    uint64_t addr;
    int64_t time_us;
    uint64_t bytes;
    uint32_t event;
    uint32_t pair; /* in rows of the snapshot: the matching event in the trace */
} birth;

typedef struct {
    uint32_t count;
    birth *rows;               /* births sorted by address, then by event */
    int64_t first_us, last_us; /* times of the device's first and last event */
} births;

typedef struct {
    births snapshot, profile;
} device_births;

typedef struct {
    mv_arena *scratch;
    mv_trace *trace;
    const mv_trace *profile;
    uint32_t count; /* devices */
    device_births *devices;
    int64_t *differences; /* differences between the times of each pair */
    uint64_t pairs;
    mv_join *out;
} joining;

/* ---- allocations --------------------------------------------------------------------------- */

static bool find_births(mv_arena *scratch, const mv_events *e, births *out)
{
    out->rows = mv_push_array(scratch, birth, e->count);
    out->first_us = INT64_MAX;
    out->last_us = INT64_MIN;
    for (uint32_t i = 0; out->rows && i < e->count; i++) {
        if (e->time_us[i] == MV_NO_TIME)
            continue;
        out->first_us = e->time_us[i] < out->first_us ? e->time_us[i] : out->first_us;
        out->last_us = e->time_us[i] > out->last_us ? e->time_us[i] : out->last_us;
        /* The reader invents addresses for blocks that are missing from the profiler's trace. */
        if (e->action[i] == MV_ACTION_ALLOC && e->addr[i] < MV_BLOCK_LOG_ADDRESS)
            out->rows[out->count++] = (birth){e->addr[i], e->time_us[i], e->size[i], i, MV_NO_ROW};
    }
    if (out->rows)
        mv_sort_rows(scratch, out->rows, out->count, MV_RISING(birth, addr),
                     MV_RISING(birth, event));
    return out->rows != NULL;
}

/* Finds the devices that both files have. The CPU is left out, because its blocks are in no
 * snapshot. */
static bool find_devices(joining *j)
{
    const char *cpu = mv_fact_find(j->profile, MV_FACT_CPU_DEVICE);
    uint32_t count = j->profile->device_count;

    if (cpu && strtoull(cpu, NULL, 10) < count)
        count = (uint32_t)strtoull(cpu, NULL, 10);
    j->count = count < j->trace->device_count ? count : j->trace->device_count;
    j->devices = mv_push_array(j->scratch, device_births, j->count);
    for (uint32_t i = 0; j->devices && i < j->count; i++) {
        device_births *d = &j->devices[i];
        if (!find_births(j->scratch, &j->trace->devices[i].events, &d->snapshot) ||
            !find_births(j->scratch, &j->profile->devices[i].events, &d->profile))
            return false;
    }
    return j->devices != NULL;
}

/* ---- pairs --------------------------------------------------------------------------------- */

static uint64_t distance(int64_t a, int64_t b)
{
    return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

/* Visits each allocation of the trace together with the allocation of the snapshot that fits best.
 * This is the nearest allocation in time at the same address, after subtracting the offset.
 * Allocations are visited in order. */
typedef void pair_fn(joining *j, birth *of_snapshot, birth *of_profile);

static void for_each_pair(joining *j, device_births *d, int64_t offset_us, pair_fn *visit)
{
    births *s = &d->snapshot, *p = &d->profile;
    uint32_t at = 0;

    for (uint32_t i = 0; i < p->count; i++) {
        int64_t time_us = p->rows[i].time_us - offset_us;
        while (at < s->count && s->rows[at].addr < p->rows[i].addr)
            at++;
        while (at + 1 < s->count && s->rows[at + 1].addr == p->rows[i].addr &&
               distance(s->rows[at + 1].time_us, time_us) <= distance(s->rows[at].time_us, time_us))
            at++;
        if (at < s->count && s->rows[at].addr == p->rows[i].addr &&
            s->rows[at].bytes <= p->rows[i].bytes)
            visit(j, &s->rows[at], &p->rows[i]);
    }
}

static void keep_difference(joining *j, birth *of_snapshot, birth *of_profile)
{
    j->differences[j->pairs++] = of_profile->time_us - of_snapshot->time_us;
}

static void take_pair(joining *j, birth *of_snapshot, birth *of_profile)
{
    int64_t difference = of_profile->time_us - of_snapshot->time_us;

    if (distance(difference, j->out->offset_us) > MV_JOIN_NEAR_US || of_snapshot->pair != MV_NO_ROW)
        return;
    of_snapshot->pair = of_profile->event;
    of_profile->pair = of_snapshot->event;
    j->differences[j->pairs++] = difference;
    j->out->matched++;
}

static bool find_pairs(joining *j)
{
    uint64_t most = 0;

    for (uint32_t i = 0; i < j->count; i++)
        most += j->devices[i].profile.count;
    j->differences = mv_push_array(j->scratch, int64_t, most);
    if (!j->differences)
        return false;
    for (uint32_t i = 0; i < j->count; i++)
        for_each_pair(j, &j->devices[i], 0, keep_difference);
    if (j->pairs == 0)
        return true;
    mv_sort_rows(j->scratch, j->differences, j->pairs, MV_RISING_VALUES(int64_t));
    j->out->offset_us = j->differences[j->pairs / 2];
    j->pairs = 0;
    for (uint32_t i = 0; i < j->count; i++)
        for_each_pair(j, &j->devices[i], j->out->offset_us, take_pair);
    return true;
}

static void count_events(joining *j)
{
    for (uint32_t i = 0; i < j->count; i++) {
        const births *s = &j->devices[i].snapshot, *p = &j->devices[i].profile;
        if (s->first_us > s->last_us)
            continue;
        j->out->events += p->count;
        for (uint32_t k = 0; k < p->count; k++) {
            int64_t time_us = p->rows[k].time_us - j->out->offset_us;
            /* near the first and last event the two clocks decide, and they do not agree to the
             * microsecond */
            j->out->outside +=
                p->rows[k].pair == MV_NO_ROW &&
                (time_us < s->first_us + MV_JOIN_SAME_US || time_us > s->last_us - MV_JOIN_SAME_US);
        }
    }
}

/* ---- test for the same run ----------------------------------------------------------------- */

/* Returns the time in seconds between the end of one recording and the start of the other, or 0 if
 * they overlap. */
static double seconds_between(const joining *j)
{
    uint64_t least = UINT64_MAX;

    for (uint32_t i = 0; i < j->count; i++) {
        const births *s = &j->devices[i].snapshot, *p = &j->devices[i].profile;
        uint64_t between = 0;
        if (s->first_us > s->last_us || p->first_us > p->last_us)
            continue;
        if (p->first_us > s->last_us)
            between = distance(p->first_us, s->last_us);
        else if (s->first_us > p->last_us)
            between = distance(s->first_us, p->last_us);
        least = between < least ? between : least;
    }
    return least == UINT64_MAX ? 0 : (double)least / 1e6;
}

static uint64_t pairs_in_time(joining *j)
{
    uint64_t near = 0;

    for (uint64_t i = 0; i < j->pairs; i++)
        near += distance(j->differences[i], j->out->offset_us) <= MV_JOIN_SAME_US;
    return near;
}

static mv_code refuse(joining *j, mv_err *err)
{
    const char *ours = mv_fact_find(j->trace, "rank"), *theirs = mv_fact_find(j->profile, "rank");
    mv_join *o = j->out;
    uint64_t within = o->events - o->outside, same = pairs_in_time(j);

    if (!mv_trace_has_times(j->trace))
        return mv_fail(err, MV_ABSENT, MV_NO_OFFSET, "%s",
                       "it cannot be joined: the snapshot has no events with times (PyTorch "
                       "writes them since 2.2)");
    if (o->events == 0)
        return mv_fail(err, MV_FORMAT, MV_NO_OFFSET, "%s",
                       "it contains no memory events of a device in the snapshot");
    if (ours && theirs && strcmp(ours, theirs) != 0)
        return mv_fail(err, MV_FORMAT, MV_NO_OFFSET,
                       "it is from rank %.20s, and the snapshot from rank %.20s", theirs, ours);
    if (seconds_between(j) > 0)
        return mv_fail(err, MV_FORMAT, MV_NO_OFFSET,
                       "it is from another run: %.3f s lie between its events and the snapshot's",
                       seconds_between(j));
    if (within == 0 || o->matched * 100 < within * MV_JOIN_LEAST_MATCHED)
        return mv_fail(err, MV_FORMAT, MV_NO_OFFSET,
                       "it is from another run or rank: of its %" PRIu64 " allocations within the "
                       "snapshot's time %" PRIu64 " are in the snapshot",
                       within, o->matched);
    if (same * 100 < o->matched * MV_JOIN_LEAST_SAME)
        return mv_fail(err, MV_FORMAT, MV_NO_OFFSET,
                       "it is from another run or rank: its allocations are at the snapshot's "
                       "addresses at other times (%" PRIu64 " of %" PRIu64 " within %d us)",
                       same, o->matched, MV_JOIN_SAME_US);
    return MV_OK;
}

/* ---- new tags ------------------------------------------------------------------------------ */

/* An event of the snapshot, with its own tag and the tag of the matching event in the trace. */
typedef struct {
    uint32_t ours, theirs;
    uint32_t device, event;
} retag;

static retag *find_retags(joining *j, uint64_t *count)
{
    retag *rows = mv_push_array(j->scratch, retag, j->out->matched);

    *count = 0;
    for (uint32_t i = 0; rows && i < j->count; i++) {
        const births *s = &j->devices[i].snapshot;
        for (uint32_t k = 0; k < s->count; k++) {
            uint32_t theirs, event = s->rows[k].event;
            if (s->rows[k].pair == MV_NO_ROW)
                continue;
            theirs = j->profile->devices[i].events.tag[s->rows[k].pair].row;
            if (j->profile->tags.op[theirs].row == MV_NO_ROW)
                continue;
            rows[(*count)++] =
                (retag){j->trace->devices[i].events.tag[event].row, theirs, i, event};
        }
    }
    if (rows)
        mv_sort_rows(j->scratch, rows, *count, MV_RISING(retag, ours), MV_RISING(retag, theirs));
    return rows;
}

/* Makes the new table of strings: the snapshot's strings, followed by those strings of the trace
 * that its tags use. */
static bool add_strings(mv_arena *arena, joining *j, uint32_t *of_theirs)
{
    const mv_strings *s = &j->trace->strings, *p = &j->profile->strings;
    uint64_t bytes = s->count ? s->at[s->count] : 0, more = 0;
    mv_strings out = {.count = s->count};

    for (uint32_t i = 0; i < p->count; i++)
        more += of_theirs[i] ? p->at[i + 1] - p->at[i] : 0;
    out.at = mv_push_array(arena, uint64_t, (uint64_t)s->count + p->count + 1);
    out.bytes = mv_push_array(arena, char, bytes + more);
    if (!out.at || !out.bytes)
        return false;
    if (s->count > 0) {
        memcpy(out.at, s->at, ((size_t)s->count + 1) * sizeof *out.at);
        memcpy(out.bytes, s->bytes, bytes);
    }
    for (uint32_t i = 0; i < p->count; i++) {
        uint64_t length = p->at[i + 1] - p->at[i];
        if (!of_theirs[i])
            continue;
        memcpy(out.bytes + bytes, p->bytes + p->at[i], length);
        of_theirs[i] = out.count++;
        bytes += length;
        out.at[out.count] = bytes;
    }
    j->trace->strings = out;
    return true;
}

static mv_string_id moved(const uint32_t *of_theirs, mv_string_id id)
{
    return id.row == MV_NO_ROW ? id : (mv_string_id){of_theirs[id.row]};
}

static bool add_tags(mv_arena *arena, joining *j, const retag *rows, uint64_t count,
                     uint32_t *of_theirs)
{
    const mv_tags *t = &j->profile->tags;
    mv_tags tags;

    for (uint64_t i = 0; i < count; i++) {
        of_theirs[t->op[rows[i].theirs].row] = 1;
        if (t->shapes[rows[i].theirs].row != MV_NO_ROW)
            of_theirs[t->shapes[rows[i].theirs].row] = 1;
    }
    if (!add_strings(arena, j, of_theirs) ||
        !mv_table_copy(arena, mv_table_find(MV_WIRE_TAGS), &j->trace->tags, count, &tags))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        bool is_new =
            i == 0 || rows[i].ours != rows[i - 1].ours || rows[i].theirs != rows[i - 1].theirs;
        if (is_new) {
            for (uint8_t c = 0; c < mv_table_find(MV_WIRE_TAGS)->column_count; c++) {
                uint32_t *values = mv_column_of(&tags, &mv_table_find(MV_WIRE_TAGS)->columns[c]);
                values[tags.count] = values[rows[i].ours];
            }
            tags.op[tags.count] = moved(of_theirs, t->op[rows[i].theirs]);
            tags.shapes[tags.count++] = moved(of_theirs, t->shapes[rows[i].theirs]);
        }
        j->trace->devices[rows[i].device].events.tag[rows[i].event].row = tags.count - 1;
    }
    j->trace->tags = tags;
    return true;
}

/* Copies the columns that will be changed, because the trace may be shared. */
static bool copy_tags_of_events(mv_arena *arena, mv_trace *trace)
{
    mv_device *devices = mv_push_array(arena, mv_device, trace->device_count);

    for (uint32_t i = 0; devices && i < trace->device_count; i++) {
        mv_events *e = &devices[i].events;
        *e = trace->devices[i].events;
        e->tag = mv_push_array(arena, mv_tag_id, e->count);
        if (!e->tag)
            return false;
        if (e->count > 0)
            memcpy(e->tag, trace->devices[i].events.tag, e->count * sizeof *e->tag);
    }
    trace->devices = devices;
    return devices != NULL;
}

static bool retag_all(mv_arena *arena, joining *j)
{
    uint32_t *of_theirs = mv_push_array(j->scratch, uint32_t, j->profile->strings.count);
    uint64_t count;
    retag *rows = find_retags(j, &count);

    j->out->operators = count;
    return rows && of_theirs && copy_tags_of_events(arena, j->trace) &&
           add_tags(arena, j, rows, count, of_theirs);
}

mv_code mv_join_trace(mv_arena *arena, mv_trace *trace, const mv_trace *profile, mv_join *out,
                      mv_err *err)
{
    mv_arena scratch;
    joining j = {.scratch = &scratch, .trace = trace, .profile = profile, .out = out};
    mv_code code = MV_OK;
    bool is_done;

    *out = (mv_join){0};
    mv_arena_init(&scratch, arena->budget);
    is_done = find_devices(&j) && find_pairs(&j);
    if (is_done) {
        count_events(&j);
        code = refuse(&j, err);
    }
    if (is_done && code == MV_OK)
        is_done = retag_all(arena, &j);
    mv_arena_release(&scratch);
    return is_done ? code : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "joined events");
}
