#include "cli/report/captured.h"

#include "base/sort.h"
#include "cli/report/prose.h"
#include "record/recorded.h"

/* ---- gathering --------------------------------------------------------------------------- */

/* Counts the calls of each library. The result is empty if memory runs out. */
static mv_captured_libraries libraries_of(mv_arena *scratch, const mv_trace *trace)
{
    const mv_api_calls *c = &trace->api_calls;
    uint32_t strings = trace->strings.count, used = 0;
    mv_captured_libraries all = {
        .rows = mv_push_array(scratch, mv_captured_library, (uint64_t)strings + 1)};

    for (uint32_t i = 0; i < c->count; i++)
        all.failed += c->result[i] != 0;
    if (!all.rows)
        return all;
    for (uint32_t i = 0; i < c->count; i++) {
        uint32_t row = c->library[i].row < strings ? c->library[i].row : strings;
        mv_captured_library *l = &all.rows[row];
        l->library = c->library[i];
        l->calls++;
        l->failed += c->result[i] != 0;
        l->bytes += c->result[i] == 0 ? c->size[i] : 0;
    }
    for (uint32_t i = 0; i <= strings; i++)
        if (all.rows[i].calls)
            all.rows[used++] = all.rows[i];
    mv_sort_rows(scratch, all.rows, used, MV_FALLING(mv_captured_library, calls),
                 MV_RISING(mv_captured_library, library.row));
    all.count = used;
    return all;
}

static mv_heaps heaps_of(mv_arena *scratch, const mv_trace *trace)
{
    mv_heaps heaps;
    mv_err err;

    if (mv_heaps_find(scratch, trace, &heaps, &err) != MV_OK)
        heaps.count = 0;
    return heaps;
}

static bool is_loss(const mv_trace *trace, uint32_t fact)
{
    return strncmp(mv_string_text(trace, trace->facts.key[fact]), "lost_", 5) == 0;
}

/* Whether the capture ended in the regular way. Otherwise the last loss counts may be missing. */
static bool has_ended(const mv_trace *trace)
{
    return mv_fact_find(trace, "end_us") != NULL;
}

/* Returns how the recording ended, in words. */
static const char *ending_of(const mv_trace *trace)
{
    if (mv_fact_find(trace, "stopped"))
        return "stopped early";
    return has_ended(trace) ? "normally" : "killed, or still running";
}

/* ---- fields ------------------------------------------------------------------------------ */

mv_captured mv_captured_find(mv_arena *scratch, const mv_trace *trace)
{
    mv_captured captured = {.trace = trace, .is_there = mv_trace_is_captured(trace)};

    if (!captured.is_there)
        return captured;
    captured.records = mv_recorded_count(trace);
    captured.libraries = libraries_of(scratch, trace);
    captured.heaps = heaps_of(scratch, trace);
    return captured;
}

/* Returns the value of a decimal string; null if it is not a number. */
static mv_value number_of(const char *text)
{
    uint64_t number;

    return text && mv_number_read(text, &number) ? mv_value_u64(number)
                                                 : mv_value_of(MV_VALUE_NULL);
}

mv_value mv_captured_text(const mv_trace *trace, const char *key)
{
    return mv_value_text(mv_fact_find(trace, key));
}

mv_value mv_captured_number(const mv_trace *trace, const char *key)
{
    return number_of(mv_fact_find(trace, key));
}

#define LOSS_FIELDS(COLUMN, MEMBER, LIST)                                    \
    MEMBER("what", mv_value_string(trace, trace->facts.key[i]))              \
    MEMBER("count", number_of(mv_string_text(trace, trace->facts.value[i]))) \
    MEMBER("at_least", mv_value_bool(!has_ended(trace)))

static void list_losses(mv_rows *rows)
{
    const mv_trace *trace = ((const mv_captured *)mv_rows_one(rows))->trace;

    for (uint32_t i = 0; i < trace->facts.count; i++)
        if (is_loss(trace, i))
            MV_ROWS_ADD(rows, LOSS_FIELDS);
}

const mv_table mv_captured_loss_table = {MV_TABLE(LOSS_FIELDS, list_losses)};

#define LIBRARY_FIELDS(COLUMN, MEMBER, LIST)                        \
    MEMBER("library", mv_value_string(captured->trace, l->library)) \
    MEMBER("calls", mv_value_u64(l->calls))                         \
    MEMBER("failed", mv_value_u64(l->failed))                       \
    MEMBER("bytes", mv_value_u64(l->bytes))

MV_LIST_ROWS_OF(list_libraries, void, unused, mv_captured, captured, captured->libraries.count,
                const mv_captured_library *l = &captured->libraries.rows[i], LIBRARY_FIELDS)

const mv_table mv_captured_library_table = {MV_TABLE(LIBRARY_FIELDS, list_libraries)};

#define HEAP_FIELDS(COLUMN, MEMBER, LIST)                        \
    MEMBER("name", mv_value_string(captured->trace, heap->name)) \
    MEMBER("allocs", mv_value_u64(heap->allocs))                 \
    MEMBER("frees", mv_value_u64(heap->frees))                   \
    MEMBER("blocks", mv_value_u64(heap->held))                   \
    MEMBER("bytes", mv_value_u64(heap->held_bytes))              \
    MEMBER("peak", mv_value_u64(heap->peak_bytes))               \
    MEMBER("doubts", mv_value_text(mv_heap_doubts(heap, words)))

static void list_heaps(mv_rows *rows)
{
    const mv_captured *captured = mv_rows_one(rows);
    char words[MV_HEAP_WORDS];

    for (uint32_t i = 0; i < captured->heaps.count; i++) {
        const mv_heap_sum *heap = &captured->heaps.sums[i];
        MV_ROWS_ADD(rows, HEAP_FIELDS);
    }
}

const mv_table mv_captured_heap_table = {MV_TABLE(HEAP_FIELDS, list_heaps)};

#define FACT_FIELDS(COLUMN, MEMBER, LIST)                      \
    MEMBER("key", mv_value_string(trace, trace->facts.key[i])) \
    MEMBER("value", mv_value_string(trace, trace->facts.value[i]))

static void list_facts(mv_rows *rows)
{
    const mv_trace *trace = ((const mv_captured *)mv_rows_one(rows))->trace;

    for (uint32_t i = 0; i < trace->facts.count; i++)
        MV_ROWS_ADD(rows, FACT_FIELDS);
}

const mv_table mv_captured_fact_table = {MV_TABLE(FACT_FIELDS, list_facts)};

/* ---- text -------------------------------------------------------------------------------- */

void mv_captured_label(mv_out *out, const char *label)
{
    mv_out_text(out, "  ");
    mv_out_style(out, MV_STYLE_DIM);
    mv_out_format(out, "%-12s", label);
    mv_out_style(out, MV_STYLE_NONE);
    mv_out_text(out, "  ");
}

/* Prints `before` and the value, or nothing if the file does not contain this fact. */
static void put_fact(mv_out *out, const mv_trace *trace, const char *before, const char *key)
{
    const char *value = mv_fact_find(trace, key);

    if (!value)
        return;
    mv_out_text(out, before);
    mv_out_clean_text(out, value);
}

/* Width of the column of labels. */
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
    mv_captured_label(out, "captured");
    mv_prose_put(out, LABEL_COLUMNS, LABEL_COLUMNS, "%s; ended: %s%s%s", text, ending_of(trace),
                 stopped ? ": " : "", stopped ? stopped : "");
}

/* This is the same number as in the last line of `memviz run`. */
static void put_records(mv_out *out, const mv_trace *trace)
{
    mv_captured_label(out, "records");
    mv_prose_put(out, LABEL_COLUMNS, LABEL_COLUMNS,
                 "%llu: blocks, frees, failures, CUDA calls and marks, each once; a free is two "
                 "events, requested and completed",
                 (unsigned long long)mv_recorded_count(trace));
}

static void put_caching(mv_out *out)
{
    mv_captured_label(out, "caching");
    mv_prose_put(out, LABEL_COLUMNS, LABEL_COLUMNS,
                 "off (PYTORCH_NO_CUDA_MEMORY_CACHING): each tensor is a cudaMalloc and has its "
                 "own segment; PyTorch's own counters are 0");
}

static void put_stacks(mv_out *out, const mv_trace *trace)
{
    mv_captured_label(out, "stacks");
    mv_out_clean_text(out,
                      mv_fact_find(trace, "stacks") ? mv_fact_find(trace, "stacks") : "unknown");
    put_fact(out, trace, ", Python ", "python");
    put_fact(out, trace, "; missing: ", "stacks_off");
    put_fact(out, trace, "; files without symbols here: ", "symbols_missing");
    if (mv_fact_find(trace, "symbols_elsewhere"))
        mv_out_text(out, ", because it was recorded on another machine: convert it there, or here "
                         "with --symbols");
    mv_out_char(out, '\n');
}

static void put_libraries(mv_out *out, mv_arena *scratch, const mv_trace *trace)
{
    enum { SHOWN = 6 };
    mv_captured_libraries all = libraries_of(scratch, trace);
    char size[MV_SIZE_TEXT];

    mv_captured_label(out, "API calls");
    mv_out_format(out, "%u, %u failed\n", trace->api_calls.count, all.failed);
    for (uint32_t i = 0; i < all.count && i < SHOWN; i++) {
        const mv_captured_library *l = &all.rows[i];
        const char *path = mv_string_text(trace, l->library), *slash = strrchr(path, '/');
        char failed[32] = "";
        mv_captured_label(out, "");
        if (l->failed)
            snprintf(failed, sizeof failed, ", %u failed", l->failed);
        mv_prose_put(out, 16, 18, "%s: %u for %s%s",
                     l->library.row == MV_NO_ROW ? "unknown library"
                     : slash                     ? slash + 1
                                                 : path,
                     l->calls, mv_size_text(size, l->bytes), failed);
    }
    if (all.count > SHOWN) {
        mv_captured_label(out, "");
        mv_out_format(out, "and %u more %s (see --json)\n", all.count - SHOWN,
                      all.count - SHOWN == 1 ? "library" : "libraries");
    }
}

static void put_heaps(mv_out *out, mv_arena *scratch, const mv_trace *trace)
{
    mv_heaps heaps = heaps_of(scratch, trace);
    char held[MV_SIZE_TEXT], peak[MV_SIZE_TEXT], doubts[MV_HEAP_WORDS];

    for (uint32_t i = 0; i < heaps.count; i++) {
        const mv_heap_sum *heap = &heaps.sums[i];
        mv_captured_label(out, i ? "" : "heaps");
        mv_out_clean_text(out, mv_string_text(trace, heap->name));
        mv_out_format(out, ": %llu %s, %s held, %s at the peak\n", (unsigned long long)heap->allocs,
                      heap->allocs == 1 ? "allocation" : "allocations",
                      mv_size_text(held, heap->held_bytes), mv_size_text(peak, heap->peak_bytes));
        if (!*mv_heap_doubts(heap, doubts))
            continue;
        mv_captured_label(out, "");
        mv_out_style(out, MV_STYLE_YELLOW);
        mv_prose_put(out, LABEL_COLUMNS, LABEL_COLUMNS, "%s", doubts);
        mv_out_style(out, MV_STYLE_NONE);
    }
    if (heaps.lone_frees) {
        mv_captured_label(out, heaps.count ? "" : "heaps");
        mv_out_format(out, "%llu %s outside all heaps\n", (unsigned long long)heaps.lone_frees,
                      heaps.lone_frees == 1 ? "free of an address" : "frees of addresses");
    }
}

/* Prints the losses that the shim counted. Events that are missing according to their numbers are
 * reported as a note instead. */
static void put_losses(mv_out *out, const mv_trace *trace)
{
    bool first = true;

    for (uint32_t i = 0; i < trace->facts.count; i++) {
        const char *value = mv_string_text(trace, trace->facts.value[i]);
        if (!is_loss(trace, i) || strcmp(value, "0") == 0)
            continue;
        mv_captured_label(out, first ? "lost" : "");
        mv_out_style(out, MV_STYLE_YELLOW);
        mv_out_text(out, has_ended(trace) ? "" : "at least ");
        mv_out_clean_text(out, value);
        mv_out_style(out, MV_STYLE_NONE);
        mv_out_char(out, ' ');
        mv_out_clean_text(out, mv_string_text(trace, trace->facts.key[i]) + strlen("lost_"));
        mv_out_char(out, '\n');
        first = false;
    }
}

void mv_captured_put_idle(mv_out *out, const mv_trace *trace, uint32_t device)
{
    mv_prose_put(out, 0, 2, "device %u: no events, no memory%s", device,
                 trace->api_calls.count
                     ? " in PyTorch's caching allocator; memviz ledger shows requests to CUDA"
                     : "");
}

void mv_captured_print(mv_out *out, mv_arena *scratch, const mv_trace *trace)
{
    const char *cpu = mv_fact_find(trace, MV_FACT_CPU_DEVICE);

    put_process(out, trace);
    put_records(out, trace);
    put_stacks(out, trace);
    if (cpu) {
        mv_captured_label(out, "CPU");
        mv_out_text(out, "device ");
        mv_out_clean_text(out, cpu);
        mv_out_text(out, " is the CPU\n");
    }
    if (mv_fact_find(trace, MV_FACT_NO_CACHING))
        put_caching(out);
    if (trace->api_calls.count)
        put_libraries(out, scratch, trace);
    put_heaps(out, scratch, trace);
    if (trace->samples.count) {
        mv_captured_label(out, "samples");
        mv_prose_put(out, LABEL_COLUMNS, LABEL_COLUMNS, "%u (device memory in use)",
                     trace->samples.count);
    }
    put_losses(out, trace);
}
