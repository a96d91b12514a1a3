/* Parts of a container: a window of events is printed as from the whole file. The slow model reads
 * all of the same file, without digests. */
#include "analyze/lives/digests.h"
#include "parse/writers.h"
#include "tests/fixture/fixture_container.h"
#include "tests/fixture/fixture_program.h"
#include "tests/fixture/in_process.h"

enum { CHUNK = 65536, EVENTS = 5 * CHUNK + 1000, ADDRESSES = 700 };

/* Two devices, whose addresses are used again and again; the second one has a tenth. */
static const mv_trace *make_trace(void)
{
    mvt_trace *t = mvt_new();
    bool used[2][ADDRESSES] = {{false}};
    uint64_t seed = 5;

    for (uint32_t i = 0; i < EVENTS; i++) {
        uint32_t device = i % 11 == 0;
        uint32_t at = (uint32_t)(mvt_random_next(&seed) % ADDRESSES);
        mvt_event_args args = {.device = device,
                               .addr = 0x7f0000000000 + at * 4096,
                               .bytes = 512 + at,
                               .stack = at % 2 ? "step:train.py:7" : "load:data.py:3",
                               .time_us = 1000 + (int64_t)i};
        mvt_event(t, used[device][at] ? MV_ACTION_FREE_COMPLETED : MV_ACTION_ALLOC, args);
        used[device][at] = !used[device][at];
    }
    for (uint32_t i = 1; i < 5; i++)
        mvt_mark(t, "step", 1000 + (int64_t)i * CHUNK);
    mvt_mark(t, "late", 2000 + EVENTS);
    return mvt_done(t);
}

static void write_whole_and_parts(void)
{
    const mv_trace *trace = make_trace();
    mv_write_opts opts = {.digests = mv_digests_make(mvt_memory(), trace, mvt_err())};
    char path[4096];
    mv_span file;
    mv_sink sink;
    mvt_container *c;

    cr_assert_not_null(opts.digests);
    snprintf(path, sizeof path, "%s/parts.bin", mvt_folder_path());
    mvt_ok(mv_sink_open(&sink, path, mvt_err()));
    mvt_ok(mv_snapshot_write(mvt_memory(), trace, &opts, &sink, mvt_err()));
    mvt_ok(mv_sink_commit(&sink, mvt_err()));
    file = mvt_folder_read("parts.bin");
    c = mvt_take_apart(mvt_memory(), file);
    free((void *)file.data);
    cr_assert_neq(mvt_chunk_of(c, MV_WIRE_OPENING)->head.first_row, 0);
    mvt_remove_chunk(c, mvt_chunk_of(c, MV_WIRE_DIGEST));
    mvt_folder_put("whole.bin", mvt_assemble(mvt_memory(), c, MVT_WITH_INDEX));
}

/* JSON contains the name of the file. */
static void take_name_away(char *report)
{
    char *end = strstr(report, ".bin\"");

    if (end)
        memcpy(end - 5, "trace", 5);
}

static void check_window(const char *part, const char *window)
{
    mvt_run whole = mvt_here("$MEMVIZ trace -q %s whole.bin", window);
    mvt_run is = mvt_here("$MEMVIZ trace -q %s %s", window, part);

    cr_expect_eq(whole.status, is.status, "%s", window);
    take_name_away(whole.out);
    take_name_away(is.out);
    mvt_same_text(whole.out, is.out, "%s", window);
}

static uint32_t rows_read(const char *name, mv_read_part part, uint32_t device)
{
    mv_read_opts opts = {.part = &part};
    uint32_t rows = 0;
    char path[4096];
    mv_trace trace;

    snprintf(path, sizeof path, "%s/%s", mvt_folder_path(), name);
    mvt_ok(mv_trace_read(mvt_memory(), path, &opts, &trace, mvt_err()));
    for (uint32_t i = 0; i < trace.devices[device].events.count; i++)
        rows += trace.devices[device].events.addr[i] != 0;
    return rows;
}

LongTest(parts, a_window_is_as_from_the_whole)
{
    static const char *const windows[] = {
        "--from 300000",
        "--from 297000 --json",
        "--to 50",
        "--from 65530 --to 65540",
        "--from 200000 --to 200050",
        "--from 131072 --to 131073",
        "--from 150000 --to 1",
        "--from 9000000",
        "--from 29000 --device 1",
        "--from 200000 --to 200050 --device 0 --json",
        "--from 0 --limit 20",
        "--from 0.2s --to 0.2001s",
        "--from 250000 --to 0.3s",
        "--from 200000 --to 200020 --device 1",
        "--device 1 --limit 30",
        "--from @step#3 --to @step#4",
        "--from @step#2 --to 131100 --json",
        "--from @step#9",
        "--from @late",
        "--to @step",
        "--from 196607us --to 196610us --device 0",
        "--from 0.3s --to 0.2s",
        "--from 290000 --to 0.1s",
        "--from 0.3s --to 70000",
        "--from 9s",
    };
    char random[80];
    uint64_t seed = 9;

    write_whole_and_parts();
    for (unsigned i = 0; i < sizeof windows / sizeof *windows; i++)
        check_window("parts.bin", windows[i]);
    for (unsigned i = 0; i < 8; i++) {
        uint32_t from = (uint32_t)(mvt_random_next(&seed) % EVENTS);
        snprintf(random, sizeof random, "--from %u --to %u", from,
                 from + (uint32_t)(mvt_random_next(&seed) % 300));
        check_window("parts.bin", random);
    }
}

LongTest(parts, only_the_chunks_of_the_window_are_read)
{
    mv_read_part part = {.device = MV_NO_ROW, .first = 200000, .end = 200010};

    write_whole_and_parts();
    cr_expect_gt(rows_read("whole.bin", part, 0), 4 * CHUNK);
    cr_expect_lt(rows_read("parts.bin", part, 0), 4 * CHUNK);
    part.device = 1;
    cr_expect_lt(rows_read("parts.bin", part, 0), 2 * CHUNK + 1);
    part = (mv_read_part){.device = MV_NO_ROW, .from_us = 201000, .end = 200010};
    cr_expect_lt(rows_read("parts.bin", part, 0), 4 * CHUNK);
    part = (mv_read_part){.device = 0, .from_us = 201000, .to_us = 201010};
    cr_expect_lt(rows_read("parts.bin", part, 0), 4 * CHUNK);
    cr_expect_lt(rows_read("parts.bin", part, 1), CHUNK);
}

/* A damaged opening costs the chunks up to it, and a damaged chunk of the window the whole file. */
LongTest(parts, damage_changes_no_answer)
{
    static const uint16_t kinds[] = {MV_WIRE_OPENING, MV_WIRE_EVENTS};

    write_whole_and_parts();
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        mv_span file = mvt_folder_read("parts.bin");
        mvt_container *c = mvt_take_apart(mvt_memory(), file);
        uint64_t at = mvt_chunk_of(c, kinds[i])->at + sizeof(mv_wire_chunk) + 4;

        ((uint8_t *)file.data)[at] ^= 1;
        mvt_folder_put("spoil.bin", file);
        if (kinds[i] == MV_WIRE_EVENTS)
            mvt_folder_put("whole.bin", file);
        check_window("spoil.bin", "--from 140000 --to 140100");
        free((void *)file.data);
    }
}
