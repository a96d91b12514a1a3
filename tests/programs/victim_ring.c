/* A program that allocates and frees for a while, and leaks, all derived from one number: for tests
 * of bounded recordings (scripts/attack/ring).
 *
 *     victim_ring EVENTS_PER_SECOND SECONDS LEAK_EVERY [gaps|ranges|calls]
 *
 * Event i, from 0: an even event allocates a block, and the next odd event frees it, unless the
 * pair is every LEAK_EVERY-th. Sizes count the pairs: 512 x (1 + pair % 65536). Leaked blocks have
 * separate addresses, from LEAKED on. 0 events per second: as fast as possible.
 *
 * On SIGUSR1 it prints the number of leaked blocks, and returns from main. "ranges": each pair is
 * in two nested ranges, one of which has a number, and has a mark with a different text; all ranges
 * have ended when main returns. "calls": a cudaMalloc beside each pair.
 *
 * "gaps": prints every 0.1 s the time (CLOCK_MONOTONIC, in seconds) and the longest time between
 * two events since the last line, without intended sleeps (bench/stop). */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "capture/record/recorder.h"
#include "tests/programs/fixed_stack.h"

#define USED          0x7f0000000000ull
#define LEAKED        0x500000000000ull
#define MOST_BEHIND_S 5 /* earlier missed events are not made up for */

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static volatile sig_atomic_t is_over;

static void end(int signal)
{
    (void)signal;
    is_over = 1;
}

static struct {
    bool is_wanted;
    double last, longest, printed;
} gaps;

static void see_gap(void)
{
    double now = now_s();

    gaps.longest = now - gaps.last > gaps.longest ? now - gaps.last : gaps.longest;
    gaps.last = now;
    if (now - gaps.printed < 0.1)
        return;
    printf("%.6f %.6f\n", now, gaps.longest);
    fflush(stdout);
    gaps.longest = 0;
    gaps.printed = gaps.last = now_s();
}

static void record(uint64_t addr, int64_t size)
{
    mv_rec_visit visit;
    mv_rec_block_event event = {
        .addr = addr, .size = size, .allocated = MV_REC_NO_TOTAL, .device_type = 1, .device = 0};

    if (mv_rec_enter(&visit)) {
        mv_rec_block(&event);
        mv_rec_leave(&visit);
    }
    if (gaps.is_wanted)
        see_gap();
}

static void mark(mv_live_event kind, const char *text, uint64_t number)
{
    mv_rec_visit visit;

    if (mv_rec_enter(&visit)) {
        mv_rec_mark(kind, text, number);
        mv_rec_leave(&visit);
    }
}

static void begin_ranges(uint64_t pair)
{
    char text[32];

    snprintf(text, sizeof text, "pair %llu", (unsigned long long)pair);
    mark(MV_LIVE_EVENT_PUSH, "outer", 0);
    mark(MV_LIVE_EVENT_BEGIN, "numbered", pair + 1);
    mark(MV_LIVE_EVENT_MARK, text, 0);
}

static void end_ranges(uint64_t pair)
{
    mark(MV_LIVE_EVENT_END, "", pair + 1);
    mark(MV_LIVE_EVENT_POP, "", 0);
}

static void call(uint64_t pair)
{
    mv_rec_visit visit;

    if (mv_rec_enter(&visit)) {
        mv_rec_call(&(mv_rec_api){.api = "cudaMalloc",
                                  .action = MV_API_ALLOC,
                                  .addr = (pair + 1) << 21,
                                  .size = 2 << 20});
        mv_rec_leave(&visit);
    }
}

static void record_pair(uint64_t pair, uint64_t leak_every)
{
    int64_t size = (int64_t)(512 * (1 + pair % 65536));
    uint32_t code = (uint32_t)(pair % 7), offset = 2;

    stand_stack_set(1, &code, &offset);
    if (pair % leak_every == 0) {
        record(LEAKED + pair / leak_every * (64ull << 20), size);
        return;
    }
    record(USED + pair % 1000 * (64ull << 20), size);
    record(USED + pair % 1000 * (64ull << 20), -size);
}

int main(int count, char **arguments)
{
    double rate = count > 1 ? strtod(arguments[1], NULL) : 0,
           length = count > 2 ? strtod(arguments[2], NULL) : 1;
    uint64_t leak_every = count > 3 ? strtoull(arguments[3], NULL, 10) : 1000;
    const char *more = count > 4 ? arguments[4] : "";
    bool has_ranges = strcmp(more, "ranges") == 0, has_calls = strcmp(more, "calls") == 0;
    double began = now_s(), late = 0;

    signal(SIGUSR1, end);
    gaps.is_wanted = strcmp(more, "gaps") == 0;
    gaps.last = gaps.printed = began;

    for (uint64_t pair = 0;; pair++) {
        if (is_over)
            return printf("%llu\n", (unsigned long long)((pair + leak_every - 1) / leak_every)) < 0;
        if (pair % 64 == 0) {
            double passed = now_s() - began;
            double ahead = rate ? (double)pair * 2 / rate + late - passed : 0;
            struct timespec pause = {.tv_nsec = (long)(ahead * 1e9)};
            late -= ahead < -MOST_BEHIND_S ? ahead + MOST_BEHIND_S : 0;
            if (passed > length)
                return 0;
            if (ahead > 0.0005) {
                double awake = now_s() + ahead;
                nanosleep(&pause, NULL);
                gaps.last = awake; /* oversleeping counts */
            }
        }
        if (has_ranges)
            begin_ranges(pair);
        if (has_calls)
            call(pair);
        record_pair(pair, leak_every);
        if (has_ranges)
            end_ranges(pair);
    }
}
