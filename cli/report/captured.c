#include "cli/report/captured.h"

#include <stdlib.h>

#include "base/size.h"
#include "cli/report/prose.h"
#include "record/finalise.h"

/* The calls of one library. */
typedef struct {
    mv_string_id library;
    uint32_t calls, failed;
    uint64_t bytes; /* requested successfully */
} library;

typedef struct {
    uint32_t count, failed;
    library *rows; /* [count] most calls first */
} libraries;

/* ---- gathering --------------------------------------------------------------------------- */

static int by_calls(const void *a, const void *b)
{
    const library *x = a, *y = b;

    if (x->calls != y->calls)
        return x->calls > y->calls ? -1 : 1;
    return (x->library.row > y->library.row) - (x->library.row < y->library.row);
}

/* Has no rows when memory runs out. */
static libraries libraries_of(mv_arena *scratch, const mv_trace *trace)
{
    const mv_api_calls *c = &trace->api_calls;
    uint32_t strings = trace->strings.count, used = 0;
    libraries all = {.rows = mv_push_array(scratch, library, (uint64_t)strings + 1)};

    for (uint32_t i = 0; i < c->count; i++)
        all.failed += c->result[i] != 0;
    if (!all.rows)
        return all;
    for (uint32_t i = 0; i < c->count; i++) {
        uint32_t row = c->library[i].row < strings ? c->library[i].row : strings;
        library *l = &all.rows[row];
        l->library = c->library[i];
        l->calls++;
        l->failed += c->result[i] != 0;
        l->bytes += c->result[i] == 0 ? c->size[i] : 0;
    }
    for (uint32_t i = 0; i <= strings; i++)
        if (all.rows[i].calls)
            all.rows[used++] = all.rows[i];
    qsort(all.rows, used, sizeof *all.rows, by_calls);
    all.count = used;
    return all;
}

static bool is_loss(const mv_trace *trace, uint32_t fact)
{
    return strncmp(mv_string_text(trace, trace->facts.key[fact]), "lost_", 5) == 0;
}

/* How the recording ended, in words. */
static const char *ending_of(const mv_trace *trace)
{
    if (mv_fact_find(trace, "stopped"))
        return "stopped early";
    return mv_fact_find(trace, "end_us") ? "in order" : "killed, or still running";
}

/* ---- JSON -------------------------------------------------------------------------------- */

static cJSON *text_or_null(mv_report *r, const char *text)
{
    if (!text)
        return cJSON_CreateNull();
    return mv_json_span(r, (mv_span){(const uint8_t *)text, strlen(text)});
}

static cJSON *number_or_null(const char *text)
{
    char *end;
    unsigned long long value = text ? strtoull(text, &end, 10) : 0;

    return text && *text && !*end ? mv_json_u64(value) : cJSON_CreateNull();
}

static void add_facts(mv_report *r, cJSON *object, const mv_trace *trace)
{
    cJSON *facts = mv_json_array(r, object, "facts");

    for (uint32_t i = 0; i < trace->facts.count; i++) {
        cJSON *fact = mv_json_object(r, facts, NULL);
        mv_json_add(r, fact, "key", mv_json_string(r, trace, trace->facts.key[i]));
        mv_json_add(r, fact, "value", mv_json_string(r, trace, trace->facts.value[i]));
    }
}

static void add_losses(mv_report *r, cJSON *object, const mv_trace *trace)
{
    cJSON *lost = mv_json_array(r, object, "lost");

    for (uint32_t i = 0; i < trace->facts.count; i++) {
        cJSON *row;
        if (!is_loss(trace, i))
            continue;
        row = mv_json_object(r, lost, NULL);
        mv_json_add(r, row, "what", mv_json_string(r, trace, trace->facts.key[i]));
        mv_json_add(r, row, "count", number_or_null(mv_string_text(trace, trace->facts.value[i])));
    }
}

static void add_libraries(mv_report *r, cJSON *object, const mv_trace *trace)
{
    libraries all = libraries_of(r->scratch, trace);
    cJSON *array = mv_json_array(r, object, "libraries");

    mv_json_add_u64(r, object, "api_calls", trace->api_calls.count);
    mv_json_add_u64(r, object, "api_calls_failed", all.failed);
    for (uint32_t i = 0; i < all.count; i++) {
        cJSON *row = mv_json_object(r, array, NULL);
        mv_json_add(r, row, "library", mv_json_string(r, trace, all.rows[i].library));
        mv_json_add_u64(r, row, "calls", all.rows[i].calls);
        mv_json_add_u64(r, row, "failed", all.rows[i].failed);
        mv_json_add_u64(r, row, "bytes", all.rows[i].bytes);
    }
}

cJSON *mv_captured_json(mv_report *r, const mv_trace *trace)
{
    static const char *const texts[] = {"command",    "host",   "stacks",
                                        "stacks_off", "python", "stopped"};
    static const char *const numbers[] = {"pid",        "parent",     "rank",
                                          "local_rank", "world_size", "cpu_device"};
    cJSON *object = mv_json_object(r, NULL, NULL);

    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
        mv_json_add(r, object, texts[i], text_or_null(r, mv_fact_find(trace, texts[i])));
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        mv_json_add(r, object, numbers[i], number_or_null(mv_fact_find(trace, numbers[i])));
    mv_json_add_bool(r, object, "ended", mv_fact_find(trace, "end_us") != NULL);
    mv_json_add_u64(r, object, "records", mv_recorded_count(trace));
    mv_json_add_u64(r, object, "lost_events", trace->notes[MV_NOTE_LOST].count);
    mv_json_add_u64(r, object, "samples", trace->samples.count);
    add_losses(r, object, trace);
    add_libraries(r, object, trace);
    add_facts(r, object, trace);
    return object;
}

/* ---- text -------------------------------------------------------------------------------- */

static void put_label(mv_out *out, const char *label)
{
    mv_out_text(out, "  ");
    mv_out_style(out, MV_STYLE_DIM);
    mv_out_format(out, "%-12s", label);
    mv_out_style(out, MV_STYLE_NONE);
    mv_out_text(out, "  ");
}

static void put_clean(mv_out *out, const char *text)
{
    mv_out_clean(out, (mv_span){(const uint8_t *)text, strlen(text)});
}

/* Prints `before` and the value; nothing when the file has no such fact. */
static void put_fact(mv_out *out, const mv_trace *trace, const char *before, const char *key)
{
    const char *value = mv_fact_find(trace, key);

    if (!value)
        return;
    mv_out_text(out, before);
    put_clean(out, value);
}

/* The column after a label. */
#define LABEL_COLUMNS 16

static void put_process(mv_out *out, const mv_trace *trace)
{
    static const struct {
        const char *before, *key;
    } facts[] = {{", pid ", "pid"}, {" on ", "host"}, {", rank ", "rank"}, {" of ", "world_size"}};
    const char *command = mv_fact_find(trace, "command"), *stopped = mv_fact_find(trace, "stopped");
    char text[1024] = "";

    mv_prose_add(text, sizeof text, "%.700s", command ? command : "a process");
    for (unsigned i = 0; i < sizeof facts / sizeof *facts; i++) {
        const char *value = mv_fact_find(trace, facts[i].key);
        if (value)
            mv_prose_add(text, sizeof text, "%s%.40s", facts[i].before, value);
    }
    put_label(out, "captured");
    mv_prose_put(out, LABEL_COLUMNS, LABEL_COLUMNS, "%s; ended: %s%s%s", text, ending_of(trace),
                 stopped ? ": " : "", stopped ? stopped : "");
}

/* The same number as in the last line of `memviz run`. */
static void put_records(mv_out *out, const mv_trace *trace)
{
    put_label(out, "records");
    mv_prose_put(out, LABEL_COLUMNS, LABEL_COLUMNS,
                 "%llu: blocks, frees, failures, CUDA calls and marks, each once; among events a "
                 "free is two, as asked for and as completed",
                 (unsigned long long)mv_recorded_count(trace));
}

static void put_stacks(mv_out *out, const mv_trace *trace)
{
    put_label(out, "stacks");
    put_clean(out, mv_fact_find(trace, "stacks") ? mv_fact_find(trace, "stacks") : "unknown");
    put_fact(out, trace, ", Python ", "python");
    put_fact(out, trace, "; missing: ", "stacks_off");
    put_fact(out, trace, "; files without symbols here: ", "symbols_missing");
    if (mv_fact_find(trace, "symbols_elsewhere"))
        mv_out_text(out, ", since it was recorded on another machine: convert it there, or here "
                         "with --symbols");
    mv_out_char(out, '\n');
}

static void put_libraries(mv_out *out, mv_arena *scratch, const mv_trace *trace)
{
    enum { SHOWN = 6 };
    libraries all = libraries_of(scratch, trace);
    char size[MV_SIZE_TEXT];

    put_label(out, "API calls");
    mv_out_format(out, "%u, of which %u failed\n", trace->api_calls.count, all.failed);
    for (uint32_t i = 0; i < all.count && i < SHOWN; i++) {
        const library *l = &all.rows[i];
        const char *path = mv_string_text(trace, l->library), *slash = strrchr(path, '/');
        put_label(out, "");
        put_clean(out, l->library.row == MV_NO_ROW ? "unknown library" : slash ? slash + 1 : path);
        mv_out_format(out, ": %u for %s", l->calls, mv_size_text(size, l->bytes));
        if (l->failed)
            mv_out_format(out, ", %u failed", l->failed);
        mv_out_char(out, '\n');
    }
    if (all.count > SHOWN) {
        put_label(out, "");
        mv_out_format(out, "and %u more %s (see --json)\n", all.count - SHOWN,
                      all.count - SHOWN == 1 ? "library" : "libraries");
    }
}

/* The losses that the shim counted. Events that are missing by their numbers are a note instead. */
static void put_losses(mv_out *out, const mv_trace *trace)
{
    bool first = true;

    for (uint32_t i = 0; i < trace->facts.count; i++) {
        const char *value = mv_string_text(trace, trace->facts.value[i]);
        if (!is_loss(trace, i) || strcmp(value, "0") == 0)
            continue;
        put_label(out, first ? "lost" : "");
        mv_out_style(out, MV_STYLE_YELLOW);
        put_clean(out, value);
        mv_out_style(out, MV_STYLE_NONE);
        mv_out_char(out, ' ');
        put_clean(out, mv_string_text(trace, trace->facts.key[i]) + strlen("lost_"));
        mv_out_char(out, '\n');
        first = false;
    }
}

void mv_captured_put_idle(mv_out *out, const mv_trace *trace, uint32_t device)
{
    mv_prose_put(
        out, 0, 2, "device %u: no events, no memory%s", device,
        trace->api_calls.count
            ? " of PyTorch's caching allocator; memviz ledger shows what CUDA was asked for"
            : "");
}

void mv_captured_print(mv_out *out, mv_arena *scratch, const mv_trace *trace)
{
    const char *cpu = mv_fact_find(trace, "cpu_device");

    put_process(out, trace);
    put_records(out, trace);
    put_stacks(out, trace);
    if (cpu) {
        put_label(out, "CPU");
        mv_out_text(out, "device ");
        put_clean(out, cpu);
        mv_out_text(out, " is the CPU\n");
    }
    if (trace->api_calls.count)
        put_libraries(out, scratch, trace);
    if (trace->samples.count) {
        put_label(out, "samples");
        mv_out_format(out, "%u of the devices' used memory\n", trace->samples.count);
    }
    put_losses(out, trace);
}
