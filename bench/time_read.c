/* Reads a file to a complete model once and prints one JSON object, for bench/run: wall-clock
 * seconds, the process's peak resident bytes, and the contents of the file. Each measurement runs
 * in a separate process, so only the page cache is warm. With "again", the file is read a second time,
 * and the seconds are those of the second reading, which decodes only what is new in a live file. */
#include "base/duration.h"
#include "parse/readers.h"

#include <stdio.h>
#include <sys/resource.h>

static uint64_t peak_bytes(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss * 1024; /* Linux counts kibibytes */
}

static uint64_t all_events(const mv_trace *trace)
{
    uint64_t count = trace->host_events.count;

    for (uint32_t i = 0; i < trace->device_count; i++)
        count += trace->devices[i].events.count;
    return count;
}

int main(int argc, char **argv)
{
    mv_budget budget = {.limit = (uint64_t)64 << 30};
    mv_read_opts opts = {0};
    mv_arena arena, first;
    mv_trace trace;
    mv_err err;
    int64_t start;
    double seconds;

    if (argc != 2 && (argc != 3 || strcmp(argv[2], "again") != 0)) {
        fprintf(stderr, "usage: time_read FILE [again]\n");
        return 2;
    }
    mv_arena_init(&arena, &budget);
    mv_arena_init(&first, &budget);
    if (argc == 3) {
        opts.readers = mv_live_readers_open(&budget);
        mv_trace_read(&first, argv[1], &opts, &trace, &err);
    }
    start = mv_now_us();
    if (mv_trace_read(&arena, argv[1], &opts, &trace, &err) != MV_OK) {
        fprintf(stderr, "%s: %s: %s\n", argv[1], mv_code_text(err.code), err.detail);
        return 1;
    }
    seconds = (double)(mv_now_us() - start) * 1e-6;
    printf("{\"seconds\":%.6f,\"peak_bytes\":%llu,\"arena_bytes\":%llu,\"events\":%llu,"
           "\"stacks\":%u}\n",
           seconds, (unsigned long long)peak_bytes(), (unsigned long long)budget.used,
           (unsigned long long)all_events(&trace), trace.stacks.count);
    if (opts.readers) {
        mv_live_readers_return(opts.readers, &first);
        mv_live_readers_return(opts.readers, &arena);
    }
    mv_arena_release(&first);
    mv_arena_release(&arena);
    mv_live_readers_close(opts.readers);
    return 0;
}
