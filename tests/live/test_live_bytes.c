/* One record of every kind in a live file: its contents, and the exact bytes
 * in docs/internals/snapshot-format.md. */
#include <ctype.h>

#include "tests/fixture/fixture_program.h"
#include "tests/fixture/live_decode.h"

static void drop(void *decoded)
{
    live_decode_drop(decoded);
}

/* The file that victim_example writes, in a shell's folder that is removed before the file is
 * decoded. */
static live_decoded example(const char *environment)
{
    const char *path = mvt_temp_file((mv_span){0});
    live_decoded *d = mv_push_struct(mvt_memory(), live_decoded);
    mvt_run r =
        mvt_sh("%s MEMVIZ_OUT=$PWD/x " MV_VICTIM_EXAMPLE " && cat x.*.live >%s", environment, path);
    cr_assert_eq(r.status, 0, "%s", r.err);
    live_decode(path, d);
    mvt_at_end(drop, d);
    cr_assert_str_empty(d->fault, "%s", d->fault);
    return *d;
}

static void expect_stack(const live_decoded *d, uint64_t stack, const char *want)
{
    char text[256];

    live_decode_stack(d, stack, text, sizeof text);
    cr_assert_str_eq(text, want);
}

static void expect_text(const live_decoded *d, uint64_t string, const char *want)
{
    const live_names *strings = &d->names[MV_LIVE_NAME_STRING];

    cr_assert_lt(string, strings->count);
    cr_assert_eq(strings->rows[string].text_bytes, strlen(want));
    cr_assert_eq(memcmp(strings->rows[string].text, want, strlen(want)), 0, "want %s", want);
}

static void expect_fact(const live_decoded *d, const char *key, const char *want)
{
    const char *got = live_decode_fact(d, key);

    cr_assert_not_null(got, "%s", key);
    cr_assert_str_eq(got, want, "%s is %s", key, got);
}

/* The kind and number of each event. Records that belong to an event have the event's number. */
Test(live_bytes, events_are_in_order)
{
    static const struct {
        mv_live_event kind;
        uint64_t sequence;
    } want[] = {{MV_LIVE_EVENT_BLOCK, 1}, {MV_LIVE_EVENT_TOTALS, 1}, {MV_LIVE_EVENT_BLOCK, 2},
                {MV_LIVE_EVENT_FREE, 3},  {MV_LIVE_EVENT_OOM, 4},    {MV_LIVE_EVENT_CALL, 5},
                {MV_LIVE_EVENT_MARK, 6},  {MV_LIVE_EVENT_PUSH, 7},   {MV_LIVE_EVENT_POP, 8},
                {MV_LIVE_EVENT_BEGIN, 9}, {MV_LIVE_EVENT_END, 10},   {MV_LIVE_EVENT_MARK, 11},
                {MV_LIVE_EVENT_HEAP, 12}};
    live_decoded d = example("");

    cr_assert_eq(d.event_count, sizeof want / sizeof *want);
    for (size_t i = 0; i < d.event_count; i++) {
        cr_assert_eq(d.events[i].kind, want[i].kind, "event %zu", i);
        cr_assert_eq(d.events[i].sequence, want[i].sequence, "event %zu", i);
    }
}

Test(live_bytes, blocks_are_reported_with_device_stack_and_totals)
{
    live_decoded d = example("");
    const live_event *e = d.events;

    cr_assert(e[0].addr == 0x7f0000000000 && e[0].size == 1536);
    cr_assert(e[0].device_type == 1 && e[0].device == 0);
    expect_stack(&d, e[0].stack, "f2:4;f1:300");
    cr_assert(e[1].allocated == 1536 && e[1].reserved == 2 << 20);
    cr_assert(e[2].addr == 0x7f0000000600 && e[2].size == 1000 && e[2].stack == e[0].stack);
    cr_assert(e[3].addr == 0x7f0000000000 && e[3].size == 1536 && e[3].stack == 0);
    cr_assert(e[4].size == 4096 && e[4].allocated == 1000 && e[4].reserved == 2 << 20);
    expect_stack(&d, e[4].stack, "f2:4;f1:300");
}

Test(live_bytes, calls_are_reported_with_name_library_and_result)
{
    live_decoded d = example("");
    const live_event *e = &d.events[5];

    cr_assert(e->addr == 0x7f0000200000 && e->size == 2 << 20 && e->handle == 7);
    cr_assert(e->device == 0 && e->result == 2 && e->action == MV_API_ALLOC);
    expect_text(&d, e->api - 1, "cudaMalloc");
    expect_text(&d, e->library - 1, "/lib/lib3.so");
    expect_stack(&d, e->stack, "/lib/lib3.so:291;/lib/lib4.so:1110;thread victim_example");
}

Test(live_bytes, marks_are_reported_with_texts_and_numbers)
{
    live_decoded d = example("");

    expect_text(&d, d.events[6].text, "step 1");
    expect_text(&d, d.events[7].text, "forward");
    cr_assert_eq(d.events[9].number, 5);
    cr_assert_eq(d.events[9].text, d.events[6].text);
    cr_assert_eq(d.events[10].number, 5);
}

/* The second thread continues in the first one's chunk. */
Test(live_bytes, events_have_their_thread)
{
    live_decoded d = example("");

    cr_assert_eq(d.event_chunks, 1);
    cr_assert_eq(d.events[0].thread, 1234);
    cr_assert_eq(d.events[10].thread, 1234);
    cr_assert_eq(d.events[11].thread, 1235);
    cr_assert(d.events[11].device_type == 0 && d.events[11].device == 0, "no DEVICE yet");
    expect_text(&d, d.events[11].text, "step 1");
}

Test(live_bytes, stacks_have_the_requested_kind)
{
    live_decoded d = example("MEMVIZ_STACKS=none");

    cr_assert_eq(d.events[0].stack, 0);
    expect_fact(&d, "stacks", "none");
    d = example("MEMVIZ_STACKS=native");
    cr_assert_eq(d.events[0].stack, 0);
    expect_stack(&d, d.events[5].stack, "/lib/lib3.so:291;/lib/lib4.so:1110");
    d = example("MEMVIZ_STACKS=all");
    expect_stack(&d, d.events[0].stack, "f2:4;f1:300");
    expect_stack(&d, d.events[5].stack, "/lib/lib3.so:291;/lib/lib4.so:1110");
}

Test(live_bytes, facts_are_recorded)
{
    live_decoded d =
        example("RANK=3 LOCAL_RANK=1 WORLD_SIZE=8 MEMVIZ_CPU=1 CUDA_VISIBLE_DEVICES=2,3 "
                "CUDA_DEVICE_ORDER=PCI_BUS_ID");

    expect_fact(&d, "rank", "3");
    expect_fact(&d, "local_rank", "1");
    expect_fact(&d, "world_size", "8");
    expect_fact(&d, "cuda_visible_devices", "2,3");
    expect_fact(&d, "cuda_device_order", "PCI_BUS_ID");
    expect_fact(&d, "command", MV_VICTIM_EXAMPLE);
    expect_fact(&d, "executable", MV_VICTIM_EXAMPLE);
    expect_fact(&d, "python", "3.11.2");
    expect_fact(&d, "stacks", "python");
    expect_fact(&d, "cpu", "1");
    expect_fact(&d, "shim", MV_PROGRAM_VERSION);
    cr_assert(live_decode_fact(&d, "pid") && live_decode_fact(&d, "parent"));
    cr_assert(live_decode_fact(&d, "host") && live_decode_fact(&d, "cwd"));
    cr_assert(live_decode_fact(&d, "end_us") && !live_decode_fact(&d, "stopped"));
}

/* A list of no devices differs from the absence of a list. */
Test(live_bytes, an_empty_list_of_visible_devices_is_a_fact)
{
    live_decoded d = example("CUDA_VISIBLE_DEVICES=");

    expect_fact(&d, "cuda_visible_devices", "");
    d = example("env -u CUDA_VISIBLE_DEVICES");
    cr_assert_null(live_decode_fact(&d, "cuda_visible_devices"));
}

Test(live_bytes, file_name_has_process_rank_and_host)
{
    mvt_prints("RANK=a/b MEMVIZ_OUT=$PWD/x-%r-%h-%p%%-%x " MV_VICTIM_EXAMPLE
               "; [ -f x-a_b-$(uname -n)-*%-%x.*.live ] && echo there; "
               "MEMVIZ_OUT=$PWD/y%r " MV_VICTIM_EXAMPLE "; ls y0.*.live | wc -l; "
               "MEMVIZ_OUT=z " MV_VICTIM_EXAMPLE "; ls z* 2>/dev/null | wc -l",
               0, "there\n1\n0\n");
}

Test(live_bytes, the_documented_example_equals_the_output)
{
    FILE *file = fopen(MV_SOURCE_DIR "/docs/internals/snapshot-format.md", "r");
    live_decoded d = example("");
    bool inside = false;
    int lines = 0;
    char line[1024];

    cr_assert_not_null(file);
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, "```", 3) == 0)
            inside = strcmp(line, "```live\n") == 0;
        else if (inside && ++lines) {
            /* Parse "010000  c1 .. 56  what they are": the bytes at an offset, up to two spaces.
             * ".." stands for any byte. */
            char *at;
            size_t offset = strtoull(line, &at, 16), count = 0;
            cr_assert(at == line + 6 && strncmp(at, "  ", 2) == 0, "%s", line);
            for (at++; at[0] == ' ' && at[1] != ' ' && at[1] != '\n' && at[1]; at += 3, count++) {
                cr_assert_lt(offset + count, d.byte_count);
                if (at[1] == '.')
                    continue;
                cr_assert(isxdigit((unsigned char)at[1]) && isxdigit((unsigned char)at[2]), "%s",
                          line);
                cr_assert_eq(strtoul(at + 1, NULL, 16), d.bytes[offset + count], "byte %zu: %s",
                             count, line);
            }
            cr_assert_gt(count, 0, "%s", line);
        }
    }
    fclose(file);
    cr_assert_gt(lines, 40);
}
