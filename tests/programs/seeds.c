/* Writes the first files of the fuzz corpora, which are fixture traces in every format, into the
 * folder on the command line, with one subfolder for each fuzz target. */
#include "tests/fixture/fixture_live.h"

#include <sys/stat.h>

#include "analyze/ranks/summary_bytes.h"

static void save(const char *root, const char *target, const char *name, mv_span bytes)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/%s", root, target);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/%s", root, target, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes.data, 1, bytes.length, file) != bytes.length || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

/* Writes a live file's chunks without the zeros between them, as fuzz_live.c reads them. */
static void save_live(const char *root, const char *name, mv_arena *arena, mv_span file)
{
    enum { HEADERS = sizeof(mv_wire_chunk) + sizeof(mv_live_head) };
    uint8_t *out = mv_arena_push(arena, file.length + 1, 1);
    uint64_t length = 1;

    if (!out)
        exit(1);
    out[0] = 'c';
    for (uint64_t at = sizeof(mv_wire_header); at < file.length;
         at = (at / MV_LIVE_CHUNK_BYTES + 1) * MV_LIVE_CHUNK_BYTES) {
        uint64_t committed = mv_load_u64(file.data + at + sizeof(mv_wire_chunk));
        uint32_t bytes = (uint32_t)committed;
        memcpy(out + length, file.data + at, HEADERS);
        memcpy(out + length + HEADERS, &bytes, sizeof bytes);
        memcpy(out + length + HEADERS + sizeof bytes, file.data + at + HEADERS, bytes);
        length += HEADERS + sizeof bytes + bytes;
    }
    save(root, "live", name, (mv_span){out, length});
}

/* Writes each device's summary, all in one file: once unchanged, and once after the 'r' that makes
 * the fuzz target correct the hashes. */
static void save_summaries(const char *root, const char *name, mvt_trace *t)
{
    const mv_trace *trace = mvt_done(t);
    mv_summary made[8];
    const mv_summary *all[8];
    uint32_t count = 0;
    mv_span bytes;
    mv_err err;
    char file[64];

    for (uint32_t i = 0; i < mv_trace_devices(trace) && i < 8; i++)
        if (mv_summary_make(mvt_arena(t), trace, i, MV_ALL_EVENTS, MV_SUMMARY_POINTS, name,
                            &made[count], &err) == MV_OK)
            all[count] = &made[count], count++;
    if (mv_summaries_encode(mvt_arena(t), all, count, &bytes, &err) != MV_OK)
        exit(1);
    save(root, "summary", name, bytes);
    uint8_t *marked = mv_arena_push(mvt_arena(t), bytes.length + 1, 1);
    marked[0] = 'r';
    memcpy(marked + 1, bytes.data, bytes.length);
    snprintf(file, sizeof file, "%s_right", name);
    save(root, "summary", file, (mv_span){marked, bytes.length + 1});
}

static void save_all(const char *root, const char *name, mvt_trace *t)
{
    char file[64];

    snprintf(file, sizeof file, "%s_cpython", name);
    save(root, "pickle", file, mvt_pickle_bytes(t, false));
    snprintf(file, sizeof file, "%s_cpp", name);
    save(root, "pickle", file, mvt_pickle_bytes(t, true));
    save(root, "page", name, mvt_page_bytes(t));
    save(root, "snapshot", name, mvt_snapshot_bytes(t));
    snprintf(file, sizeof file, "%s_plain", name);
    save(root, "msgpack", file, mvt_plain_bytes(t));
    save_live(root, name, mvt_arena(t), mvt_live_of(mvt_done(t)));
    save_summaries(root, name, t);
    mvt_drop(t);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: seeds FOLDER\n");
        return 2;
    }
    save_all(argv[1], "nothing", mvt_new());
    save_all(argv[1], "small", mvt_small());
    save_all(argv[1], "two_devices", mvt_two_devices());
    mvt_trace *t = mvt_new();
    /* Every kind of record. */
    mv_arena *arena = mvt_arena(t);
    mvt_live *l = mvt_live_new();
    uint32_t stack = mvt_live_stack(l, "f:a.py:7;@/lib/libfoo.so+4096;thread autograd");
    uint32_t text = mvt_live_string(l, "step 3"), library = mvt_live_string(l, "libc10_cuda.so");
    mvt_live_block(l, .addr = 0x40000200, .size = 1 << 20, .stack = stack, .device = 1);
    mvt_live_block(l, .cpu = true, .addr = 0x5001, .size = 33, .stack = stack);
    for (mv_api_action action = MV_API_ALLOC; action < MV_API_ACTION_COUNT; action++)
        mvt_live_call(l, .action = action, .addr = 0x40000000 + (uint64_t)action * (2 << 20),
                      .size = 2 << 20, .handle = 7, .text = text, .library = library,
                      .stack = stack, .thread = 2);
    for (mv_heap_action action = MV_HEAP_ALLOC; action < MV_HEAP_ACTION_COUNT; action++)
        mvt_live_heap(l, .heap_action = action, .addr = 0x40000000, .size = 512, .text = text,
                      .library = library, .stack = stack, .thread = 2);
    for (mv_live_event kind = MV_LIVE_EVENT_TOTALS; kind <= MV_LIVE_EVENT_END; kind++)
        if (kind != MV_LIVE_EVENT_CALL)
            mvt_live_event(l, kind,
                           (mvt_live_args){.text = text, .number = 3, .allocated = 512, .size = 9});
    mvt_live_follow(l, 1, 9);
    mvt_live_next_chunk(l, 1, true);
    mvt_live_free(l, .addr = 0x40000200, .size = 1 << 20, .device = 1);
    save_live(argv[1], "records", arena, mvt_live_bytes(l));
    mvt_drop(t);
    return 0;
}
