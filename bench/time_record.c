/* Measures the cost of recording one event, without the program around it. Replays a snapshot's
 * allocator events through the recorder, once at full speed to measure the time, and once at the
 * original times to measure the bytes. Prints one JSON object.
 *
 *     MEMVIZ_OUT=/tmp/x MEMVIZ_STACKS=python time_record SNAPSHOT FRAMES
 *
 * Stacks are FRAMES deep, and there are as many distinct stacks as in the snapshot. Walking them is
 * not measured (tests/programs/fixed_stack.c prepares them). */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "capture/record/process.h"
#include "capture/record/recorder.h"
#include "parse/readers.h"
#include "tests/fixture/live_decode.h"
#include "tests/programs/fixed_stack.h"

enum { MOST_FRAMES = 60 };

static uint64_t given_us; /* the time given to the recorder; 0: use the clock */

int __real_clock_gettime(clockid_t which, struct timespec *now);
int __wrap_clock_gettime(clockid_t which, struct timespec *now);

int __wrap_clock_gettime(clockid_t which, struct timespec *now)
{
    if (!given_us)
        return __real_clock_gettime(which, now);
    *now = (struct timespec){(time_t)(given_us / 1000000), (long)(given_us % 1000000 * 1000)};
    return 0;
}

static double nanoseconds(void)
{
    struct timespec now;

    __real_clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now); /* the thread's CPU time, because other
                                                          * programs also use the machine */
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void set_stack(uint32_t stack, uint32_t frames)
{
    uint32_t codes[MOST_FRAMES], offsets[MOST_FRAMES];

    for (uint32_t i = 0; i < frames; i++) {
        codes[i] = i ? i : stack % 100;
        offsets[i] = i == frames - 1 ? stack / 100 : 2 * i;
    }
    stand_stack_set(frames, codes, offsets);
}

static bool is_replayed(const mv_events *events, uint32_t i)
{
    return events->action[i] == MV_ACTION_ALLOC || events->action[i] == MV_ACTION_FREE_COMPLETED;
}

/* Returns the number of replayed events. If `records` is false, does only the surrounding work. */
static uint64_t replay(const mv_events *events, uint32_t frames, bool records, bool has_own_time)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < events->count; i++) {
        bool is_alloc = events->action[i] == MV_ACTION_ALLOC;
        mv_rec_block_event event = {.addr = events->addr[i],
                                    .size = (int64_t)events->size[i] * (is_alloc ? 1 : -1),
                                    .allocated = MV_REC_NO_TOTAL,
                                    .device_type = 1};
        mv_rec_visit visit;

        if (!is_replayed(events, i))
            continue;
        count++;
        if (has_own_time)
            given_us = 1000000 + (uint64_t)(events->time_us[i] - events->time_us[0]);
        if (is_alloc && frames)
            set_stack(events->stack[i].row, frames);
        if (records && mv_rec_enter(&visit)) {
            mv_rec_block(&event);
            mv_rec_leave(&visit);
        }
    }
    given_us = 0;
    return count;
}

static double time_of(const mv_events *events, uint32_t frames, bool records)
{
    double best = 1e300;

    for (int round = 0; round < 9; round++) {
        double start = nanoseconds();
        uint64_t count = replay(events, frames, records, false);
        double took = (nanoseconds() - start) / (double)count;
        best = took < best ? took : best;
    }
    return best;
}

static const mv_events *busiest(const mv_trace *trace)
{
    const mv_events *most = &trace->devices[0].events;

    for (uint32_t i = 1; i < trace->device_count; i++)
        if (trace->devices[i].events.count > most->count)
            most = &trace->devices[i].events;
    return most;
}

int main(int argc, char **argv)
{
    mv_budget budget = {.limit = (uint64_t)64 << 30};
    mv_read_opts opts = {0};
    uint32_t frames = argc == 3 ? (uint32_t)strtoul(argv[2], NULL, 10) : MOST_FRAMES + 1;
    const mv_events *events;
    double bare, recorded;
    live_decoded live;
    uint64_t count;
    mv_arena arena;
    mv_trace trace;
    mv_err err;

    if (frames > MOST_FRAMES) {
        fprintf(stderr, "usage: time_record SNAPSHOT FRAMES\n");
        return 2;
    }
    mv_arena_init(&arena, &budget);
    if (mv_trace_read(&arena, argv[1], &opts, &trace, &err) != MV_OK || !trace.device_count) {
        fprintf(stderr, "%s: cannot be read\n", argv[1]);
        return 1;
    }
    events = busiest(&trace);
    count = replay(events, frames, true, true);
    live_decode(mv_process.file.path, &live);
    bare = time_of(events, frames, false);
    recorded = time_of(events, frames, true);
    printf("{\"events\":%llu,\"nanoseconds\":%.1f,\"around\":%.1f,\"bytes\":%.2f,"
           "\"name_bytes\":%zu}\n",
           (unsigned long long)count, recorded - bare, bare,
           (double)live.event_bytes / (double)count, live.name_bytes);
    live_decode_drop(&live);
    mv_arena_release(&arena);
    return 0;
}
