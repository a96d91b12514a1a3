/* memviz fragmentation: how much memory is reserved but not used, why, and which lines pin it. */

#include "analyze/code/labels.h"
#include "analyze/floor/floor.h"
#include "base/parallel_for.h"
#include "cli/complain.h"
#include "cli/input/idle_devices.h"
#include "cli/input/input.h"
#include "cli/input/moment_option.h"
#include "cli/input/window.h"
#include "cli/report/captured.h"
#include "cli/report/prose.h"
#include "cli/report/rows.h"
#include "cli/report/stack_text.h"

/* Number of rows of each list in text without --limit (for fragmented and for healthy devices), and
 * number of other lines. */
#define TEXT_ROWS   8
#define OK_ROWS     3
#define OTHER_LINES 16

typedef struct {
    mv_cli *cli;
    mv_out *out;
    const mv_trace *trace;
    mv_sites sites;
    uint32_t first, end;     /* range of the reported devices */
    mv_lives *lives;         /* [end - first] */
    const char **floor_line; /* [end - first] */
    mv_fragmentation *found; /* [end - first] plus an entry of zeros */
    uint64_t limit;
} fragmentation_report;

/* Returns the device that represents the file. Fragmented devices come first, then waiting ones.
 * Among those, the device with the most bytes beyond the need wins, then the one with the most
 * reserved bytes. */
static uint32_t worst_device(const fragmentation_report *r)
{
    uint32_t worst = 0;

    for (uint32_t i = 1; i < r->end - r->first; i++) {
        const mv_fragmentation *a = &r->found[i], *b = &r->found[worst];
        bool more =
            a->beyond != b->beyond ? a->beyond > b->beyond : a->bytes.reserved > b->bytes.reserved;
        if (a->fragmented != b->fragmented ? a->fragmented : a->waits != b->waits ? a->waits : more)
            worst = i;
    }
    return worst;
}

/* Returns how many rows of a device's list to show. In text, a healthy device has fewer. */
static uint64_t limit_of(const mv_rows *rows, const fragmentation_report *r,
                         const mv_fragmentation *f)
{
    if (!mv_rows_are_text(rows) || f->fragmented ||
        mv_option_given(&r->cli->options, MV_HAS(LIMIT)))
        return r->limit;
    return r->limit < OK_ROWS ? r->limit : OK_ROWS;
}

/* ---- fields ------------------------------------------------------------------------------ */

#define DOMAIN_FIELDS(MEMBER, kind, pool_row, stream_row)                                       \
    MEMBER("pool", mv_segment_kind_name(kind))                                                  \
    MEMBER("pool_id",                                                                           \
           mv_value_pair(r->trace->pools.a[(pool_row).row], r->trace->pools.b[(pool_row).row])) \
    MEMBER("stream", r->trace->streams.value[(stream_row).row])

/* Lists the lines that pin segments, or only one of them. */
typedef struct {
    const mv_fragmentation *of;
    const mv_pin *pins; /* [count] */
    uint32_t count;
} pin_list;

#define PIN_FIELDS(COLUMN, MEMBER, LIST)                                               \
    COLUMN("bytes", "beside", 2, MV_UNIT_BYTES, 9, pin->bytes)                         \
    COLUMN("blocks", "blocks", 3, MV_UNIT_COUNT | MV_UNIT_SPARE, 0, pin->blocks)       \
    COLUMN("segments", "segments", 4, MV_UNIT_COUNT | MV_UNIT_SPARE, 0, pin->segments) \
    COLUMN("stranded", "stranded", 1, MV_UNIT_BYTES, 9, pin->stranded)                 \
    COLUMN("age_events", "age", 5, MV_UNIT_COUNT | MV_UNIT_SPARE, 0,                   \
           mv_value_u64(mv_pin_age(pin, list->of->at.event)))                          \
    MEMBER("culprit", mv_value_culprit(r->trace, r->sites.kinds, pin->stack))          \
    COLUMN(NULL, "by", 6, MV_UNIT_TEXT, 0,                                             \
           mv_value_label(labels, i, r->trace, r->sites.kinds, pin->stack))            \
    MEMBER("frames", mv_value_frames(r->trace, pin->stack))

static void list_pins(mv_rows *rows)
{
    const fragmentation_report *r = mv_rows_all(rows);
    const pin_list *list = mv_rows_one(rows);
    uint32_t count = mv_rows_take(rows, list->count, limit_of(rows, r, list->of));
    const char **labels = NULL;

    if (mv_rows_are_text(rows))
        labels = mv_labels_of(&r->cli->scratch, r->trace, r->sites.kinds, list->pins, count, mv_pin,
                              stranded);
    for (uint32_t i = 0; i < count; i++) {
        const mv_pin *pin = &list->pins[i];
        MV_ROWS_ADD(rows, PIN_FIELDS);
    }
}

static const mv_table pin_table = {MV_TABLE(PIN_FIELDS, list_pins)};

#define SEGMENT_FIELDS(COLUMN, MEMBER, LIST)                          \
    MEMBER("device", mv_value_u64(r->first + index))                  \
    MEMBER("segment", f->map.addr[row->segment])                      \
    DOMAIN_FIELDS(MEMBER, s->kind[segment], pool, s->stream[segment]) \
    MEMBER("total", f->map.size[row->segment])                        \
    MEMBER("free", f->map.free[row->segment])                         \
    MEMBER("stranded", row->stranded)                                 \
    LIST("pinned_by", &pin_table, mv_value_rows(&pins))

/* `one` is a device's position in the report. */
static void list_segments(mv_rows *rows)
{
    const fragmentation_report *r = mv_rows_all(rows);
    uint32_t index = *(const uint32_t *)mv_rows_one(rows);
    const mv_fragmentation *f = &r->found[index];
    uint32_t count = mv_rows_take(rows, f->pins.segment_count, r->limit);

    for (uint32_t i = 0; i < count; i++) {
        const mv_segment_lives *s = &r->lives[index].segments;
        const mv_stranded *row = &f->pins.segments[i];
        uint32_t segment = f->map.segment[row->segment];
        mv_pool_id pool = s->pool[segment].row == MV_NO_ROW ? MV_DEFAULT_POOL : s->pool[segment];
        pin_list pins = {f, &f->pins.pins[row->first_pin], row->pins};
        MV_ROWS_ADD(rows, SEGMENT_FIELDS);
    }
}

static const mv_table segment_table = {MV_TABLE(SEGMENT_FIELDS, list_segments), .named_by = 2};

#define GROWTH_FIELDS(COLUMN, MEMBER, LIST)                                            \
    COLUMN("event", "event", 5, MV_UNIT_COUNT | MV_UNIT_SPARE, 0, g->event)            \
    COLUMN("segment_bytes", "added", 1, MV_UNIT_BYTES, 9, g->segment_bytes)            \
    COLUMN("requested", "asked", 2, MV_UNIT_BYTES | MV_UNIT_SPARE, 9, g->request)      \
    COLUMN("free_elsewhere", "free", 3, MV_UNIT_BYTES | MV_UNIT_SPARE, 9, g->free)     \
    MEMBER("usable", g->usable)                                                        \
    COLUMN("largest_hole", "largest", 4, MV_UNIT_BYTES | MV_UNIT_SPARE, 9, g->largest) \
    COLUMN("reason", "because", 6, MV_UNIT_TEXT, 0, mv_growth_reason_name(g->reason))  \
    COLUMN("culprit", "for", 7, MV_UNIT_TEXT, 0,                                       \
           mv_value_culprit(r->trace, r->sites.kinds, g->stack))                       \
    MEMBER("frames", mv_value_frames(r->trace, g->stack))

MV_LIST_ROWS_OF(list_growth, fragmentation_report, r, mv_fragmentation, f,
                mv_rows_take(rows, f->growths.count, limit_of(rows, r, f)),
                const mv_segment_growth *g = &f->growths.rows[i], GROWTH_FIELDS)

static const mv_table growth_table = {MV_TABLE(GROWTH_FIELDS, list_growth)};

#define ADVICE_FIELDS(COLUMN, MEMBER, LIST)                               \
    MEMBER("setting", mv_value_if(a->setting, mv_value_text(a->setting))) \
    MEMBER("call", a->call)                                               \
    MEMBER("bytes", a->bytes)                                             \
    MEMBER("saves", mv_value_if(a->is_replayed, mv_value_i64(a->saves)))  \
    MEMBER("text", a->text)                                               \
    MEMBER("frames", mv_value_frames(r->trace, a->stack))

MV_LIST_ROWS_OF(list_advice, fragmentation_report, r, mv_fragmentation, f, f->advice_count,
                const mv_advice *a = &f->advice[i], ADVICE_FIELDS)

static const mv_table advice_table = {MV_TABLE(ADVICE_FIELDS, list_advice)};

/* Text shows this in place of the verdict. */
#define WAITING_FIELDS(COLUMN, MEMBER, LIST)                                      \
    COLUMN("bytes", "waiting", 1, MV_UNIT_BYTES, 9, line->bytes)                  \
    COLUMN("blocks", "blocks", 2, MV_UNIT_COUNT | MV_UNIT_SPARE, 0, line->blocks) \
    MEMBER("is_free", mv_value_bool(line->is_free))                               \
    MEMBER("culprit", mv_value_culprit(r->trace, r->sites.kinds, line->stack))    \
    COLUMN(NULL, "known by", 3, MV_UNIT_TEXT, 0,                                  \
           mv_value_text(line->is_free ? "its free" : "its allocation"))          \
    COLUMN(NULL, "line", 4, MV_UNIT_TEXT, 0,                                      \
           mv_value_label(labels, i, r->trace, r->sites.kinds, line->stack))      \
    MEMBER("frames", mv_value_frames(r->trace, line->stack))

static void list_waiting(mv_rows *rows)
{
    const fragmentation_report *r = mv_rows_all(rows);
    const mv_waiting *w = mv_rows_one(rows);
    uint32_t count = mv_rows_take(rows, w->count, r->limit);
    const char **labels = NULL;

    if (mv_rows_are_text(rows))
        labels = mv_labels_of(&r->cli->scratch, r->trace, r->sites.kinds, w->lines, count,
                              mv_waiting_line, bytes);
    for (uint32_t i = 0; i < count; i++) {
        const mv_waiting_line *line = &w->lines[i];
        MV_ROWS_ADD(rows, WAITING_FIELDS);
    }
}

static const mv_table waiting_table = {MV_TABLE(WAITING_FIELDS, list_waiting)};

#define WAITING_MEMBERS(MEMBER, LIST)           \
    MEMBER("waiting.bytes", f->waiting.bytes)   \
    MEMBER("waiting.blocks", f->waiting.blocks) \
    LIST("waiting.freed_at", &waiting_table, mv_value_rows(&f->waiting))

/* Tells how reliable the replay of settings is; null if no settings were tried. */
#define REPLAY_FIELDS(MEMBER)                                               \
    MEMBER("replay.trust", f->is_replayed || f->not_replayed                \
                               ? mv_value_text(mv_trust_name(f->trust))     \
                               : mv_value_of(MV_VALUE_NULL_OBJECT))         \
    MEMBER("replay.trust_why", f->trust_why)                                \
    MEMBER("replay.tried", f->tried)                                        \
    MEMBER("replay.not_replayed", f->not_replayed ? f->not_replayed : "")   \
    MEMBER("replay.meets", mv_value_if(f->meets, mv_value_text(f->meets)))  \
    MEMBER("replay.spare", mv_value_if(f->meets, mv_value_bytes(f->spare))) \
    MEMBER("replay.lacks_memory", mv_value_if(f->meets, mv_value_bool(f->ran_out_of_memory)))

#define BYTES_FIELDS(MEMBER, bytes, unused)                    \
    MEMBER("reserved", (bytes)->reserved)                      \
    MEMBER("allocated", (bytes)->allocated)                    \
    MEMBER("pending", (bytes)->pending)                        \
    MEMBER("rounding", (bytes)->rounding)                      \
    MEMBER("free", (bytes)->free)                              \
    MEMBER("stranded", mv_value_u64((bytes)->free - (unused))) \
    MEMBER("whole", unused)                                    \
    MEMBER("unexplained", mv_heap_unexplained(bytes))

#define POOL_FIELDS(COLUMN, MEMBER, LIST)              \
    DOMAIN_FIELDS(MEMBER, d->kind, d->pool, d->stream) \
    BYTES_FIELDS(MEMBER, &d->bytes, d->whole)          \
    MEMBER("largest", d->largest)

MV_LIST_ROWS_OF(list_pools, fragmentation_report, r, mv_fragmentation, f, f->domain_count,
                const mv_domain_report *d = &f->domains[i], POOL_FIELDS)

static const mv_table pool_table = {MV_TABLE(POOL_FIELDS, list_pools)};

#define DEVICE_FIELDS(COLUMN, MEMBER, LIST)             \
    MEMBER("device", mv_value_u64(r->first + i))        \
    MEMBER("verdict", mv_fragmentation_verdict_name(f)) \
    MEMBER("known", f->is_known)                        \
    MV_AT_FIELDS(MEMBER, "at.", &f->at)                 \
    BYTES_FIELDS(MEMBER, &f->bytes, f->whole)           \
    MEMBER("why", f->why)                               \
    LIST("segments", &segment_table, mv_value_rows(&i)) \
    LIST("pinned_by", &pin_table, mv_value_rows(&pins)) \
    LIST("growth", &growth_table, mv_value_rows(f))     \
    MEMBER("needed", f->demand.needed)                  \
    MEMBER("taken", f->demand.taken)                    \
    MEMBER("base", f->base)                             \
    MEMBER("beyond", f->beyond)                         \
    MEMBER("allowed", f->allowed)                       \
    WAITING_MEMBERS(MEMBER, LIST)                       \
    LIST("pools", &pool_table, mv_value_rows(f))        \
    LIST("advice", &advice_table, mv_value_rows(f))     \
    REPLAY_FIELDS(MEMBER)

static void list_devices(mv_rows *rows)
{
    const fragmentation_report *r = mv_rows_all(rows);

    for (uint32_t i = 0; i < r->end - r->first; i++) {
        const mv_fragmentation *f = &r->found[i];
        pin_list pins = {f, f->pins.lines, f->pins.line_count};
        MV_ROWS_ADD(rows, DEVICE_FIELDS);
    }
}

static const mv_table device_table = {MV_TABLE(DEVICE_FIELDS, list_devices)};

#define REPORT_FIELDS(COLUMN, MEMBER, LIST)                                               \
    MEMBER("device", mv_value_or_null(r->end > r->first, mv_value_u64(r->first + index))) \
    MV_AT_FIELDS(MEMBER, "at.", &f->at)                                                   \
    MEMBER("at_chosen", f->chosen)                                                        \
    MEMBER("verdict", mv_fragmentation_verdict_name(f))                                   \
    MEMBER("why", f->why)                                                                 \
    MEMBER("known", f->is_known)                                                          \
    MEMBER("over_plain", f->over_plain)                                                   \
    MEMBER("reserved", f->bytes.reserved)                                                 \
    MEMBER("allocated", f->bytes.allocated)                                               \
    MEMBER("needed", f->demand.needed)                                                    \
    MEMBER("base", f->base)                                                               \
    MEMBER("beyond", f->beyond)                                                           \
    MEMBER("allowed", f->allowed)                                                         \
    MEMBER("unexplained", mv_heap_unexplained(&f->bytes))                                 \
    MEMBER("free.total", f->bytes.free)                                                   \
    MEMBER("free.largest", f->largest)                                                    \
    MEMBER("free.rounding", f->bytes.rounding)                                            \
    MEMBER("free.pending", f->bytes.pending)                                              \
    MEMBER("free.stranded", f->stranded)                                                  \
    MEMBER("free.whole", f->whole)                                                        \
    WAITING_MEMBERS(MEMBER, LIST)                                                         \
    LIST("stranded", &segment_table, mv_value_rows(&index))                               \
    LIST("pinned_by", &pin_table, mv_value_rows(&pins))                                   \
    LIST("growth", &growth_table, mv_value_rows(f))                                       \
    LIST("advice", &advice_table, mv_value_rows(f))                                       \
    REPLAY_FIELDS(MEMBER)                                                                 \
    LIST("devices", &device_table, mv_value_rows(NULL))

static void list_report(mv_rows *rows)
{
    const fragmentation_report *r = mv_rows_all(rows);
    uint32_t index = worst_device(r);
    const mv_fragmentation *f = &r->found[index];
    pin_list pins = {f, f->pins.lines, f->pins.line_count};

    MV_ROWS_ADD(rows, REPORT_FIELDS);
}

const mv_table mv_report_fragmentation = {MV_TABLE(REPORT_FIELDS, list_report),
                                          .main = "devices.pinned_by"};

/* ---- text -------------------------------------------------------------------------------- */

static void put_verdict(const fragmentation_report *r, uint32_t index)
{
    const mv_fragmentation *f = &r->found[index];
    const char *alarm = f->fragmented ? "FRAGMENTED  " : f->waits ? "WAITING  " : "";
    char place[MV_PLACE_TEXT];

    mv_out_styled(r->out, f->fragmented ? MV_STYLE_RED : MV_STYLE_YELLOW, alarm);
    mv_out_format(r->out, "%s:", mv_level_place(r->trace, r->first + index, place));
    if (!*alarm) {
        mv_out_char(r->out, ' ');
        mv_out_styled(r->out, f->is_known ? MV_STYLE_GREEN : MV_STYLE_YELLOW, f->answer);
        mv_out_char(r->out, ':');
    }
    mv_prose_put(r->out, *alarm ? 9 + mv_prose_width(alarm) : 11 + mv_prose_width(f->answer), 2,
                 " %s", f->figures);
    mv_out_text(r->out, "  ");
    mv_prose_put(r->out, 2, 2, "%s", f->why);
}

/* Describes the time of the report, if --at did not choose it. */
static const char *about_moment(const mv_fragmentation *f)
{
    if (!f->chosen)
        return "";
    if (f->failed)
        return ", the peak of reserved and requested memory";
    return f->bytes.reserved == f->demand.taken ? ", the peak of reserved memory"
                                                : ", the peak of allocated memory";
}

static void put_moment(const fragmentation_report *r, const mv_fragmentation *f)
{
    char size[7][MV_SIZE_TEXT], doubt[64] = "", at[MV_AT_TEXT];

    mv_prose_put_item(r->out, "%s%s:", mv_at_text(at, r->trace, &f->at), about_moment(f));
    if (mv_heap_unexplained(&f->bytes))
        snprintf(doubt, sizeof doubt, "; %lld bytes unexplained",
                 (long long)mv_heap_unexplained(&f->bytes));
    mv_prose_put_item(
        r->out,
        "%s reserved = %s allocated + %s pending + %s stranded in used segments + %s in "
        "unused ones%s; largest hole %s, rounding %s",
        mv_size_text(size[0], f->bytes.reserved), mv_size_text(size[1], f->bytes.allocated),
        mv_size_text(size[2], f->bytes.pending), mv_size_text(size[3], f->stranded),
        mv_size_text(size[4], f->whole), doubt, mv_size_text(size[5], f->largest),
        mv_size_text(size[6], f->bytes.rounding));
}

/* Prints which settings did not help or could not be tried, and how reliable the replay is. */
static void put_note(const fragmentation_report *r, const char *note)
{
    if (!*note)
        return;
    mv_out_text(r->out, "  ");
    mv_prose_put(r->out, 2, 2, "%s", note);
}

static void put_advice(const fragmentation_report *r, const mv_fragmentation *f)
{
    for (uint32_t i = 0; i < f->advice_count; i++) {
        mv_prose_put_advice(r->out, "%s", f->advice[i].text);
        if (f->advice[i].stack.row != MV_NO_STACK.row)
            mv_stack_put(r->out, r->trace, r->sites.kinds, f->advice[i].stack,
                         r->cli->options.all_frames, 7);
    }
    put_note(r, f->trials_note);
    put_note(r, f->trust_note);
}

/* Prints how much of the reserved memory is in use after the last event. */
static void put_end(const fragmentation_report *r, const mv_fragmentation *f)
{
    char reserved[MV_SIZE_TEXT], active[MV_SIZE_TEXT];

    mv_prose_put_item(r->out, "at the end of the trace: %s reserved, %s in use (--at end)",
                      mv_size_text(reserved, f->demand.end_reserved),
                      mv_size_text(active, f->demand.end_active));
}

static void put_device(const void *all, uint32_t device)
{
    const fragmentation_report *r = all;
    uint32_t index = device - r->first;
    const mv_fragmentation *f = &r->found[index];
    pin_list pins = {f, f->pins.lines, f->pins.line_count};

    if (r->lives[index].events.count == 0 && f->bytes.reserved == 0) {
        mv_captured_put_idle(r->out, r->trace, device);
        return;
    }
    put_verdict(r, index);
    put_moment(r, f);
    put_advice(r, f);
    if (f->waits)
        mv_table_print(r->cli, &waiting_table, r, &f->waiting, "\n");
    mv_table_print(r->cli, &pin_table, r, &pins, "\n");
    mv_table_print(r->cli, &growth_table, r, f, "\n");
    if (*r->floor_line[index]) {
        mv_out_text(r->out, "\n  ");
        mv_prose_put(r->out, 2, 4, "%s", r->floor_line[index]);
    }
    if (f->is_idle)
        put_end(r, f);
}

/* ---- both -------------------------------------------------------------------------------- */

/* Checks the --fail-on gates. */
static mv_code evaluate_gates(fragmentation_report *r, uint32_t index, mv_err *err)
{
    const mv_fragmentation *f = &r->found[index];
    mv_totals totals;

    if (!mv_option_given(&r->cli->options, MV_HAS(FAIL_ON)))
        return MV_OK;
    mv_gate_evaluate_fragmentation(&r->cli->gates, r->trace, r->first + index, f);
    if (mv_totals_find(&r->cli->arena, r->trace, &r->lives[index], &totals, err) != MV_OK)
        return err->code;
    mv_gate_evaluate_totals(&r->cli->gates, r->trace, &totals);
    return MV_OK;
}

/* Analyzes one device's holes. At the same time computes the floor, which covers PyTorch's memory
 * over the whole trace. */
typedef struct {
    fragmentation_report *r;
    uint32_t index;
    mv_fragmentation_opts opts;
    bool has_floor;
    mv_minimum floor;
    mv_err err[2];
} inspection;

static void inspect_part(void *user, uint32_t part)
{
    inspection *q = user;
    fragmentation_report *r = q->r;
    mv_lives *lives = &r->lives[q->index];
    mv_arena *arena = &r->cli->arena;

    if (part == 0)
        mv_fragmentation_find(arena, r->trace, lives, &r->sites, q->opts, &r->found[q->index],
                              &q->err[0]);
    else if (q->has_floor)
        mv_minimum_find(arena, r->trace, lives, true, &q->floor, &q->err[1]);
}

static mv_code inspect_parts(inspection *q, mv_err *err)
{
    fragmentation_report *r = q->r;
    mv_window window = q->opts.window;
    const char *level = r->cli->options.level;

    q->has_floor = window.first == 0 && window.end >= r->lives[q->index].events.count &&
                   (!level || strcmp(level, "pytorch") == 0);
    mv_parallel_for(2, 0, inspect_part, q);
    *err = q->err[q->err[0].code == MV_OK];
    if (err->code != MV_OK)
        return err->code;
    r->floor_line[q->index] = q->has_floor ? mv_minimum_line(&r->cli->arena, &q->floor) : "";
    return r->floor_line[q->index] ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
}

/* Returns false if it fails, either with a message already printed, or with an error in `err`. */
static bool inspect(fragmentation_report *r, uint32_t index, mv_err *err)
{
    mv_lives *lives = &r->lives[index];
    inspection q = {.r = r, .index = index};
    mv_moment at;

    if (mv_input_lives(r->cli, &r->cli->arena, r->trace, r->first + index, lives, err) != MV_OK ||
        !mv_window_find(r->cli, r->trace, r->first + index, &q.opts.window))
        return false;
    if (mv_option_given(&r->cli->options, MV_HAS(AT))) {
        if (!mv_at_find(r->cli, r->trace, lives, "peak", &at))
            return false;
        q.opts.at = &at;
    }
    return inspect_parts(&q, err) == MV_OK && evaluate_gates(r, index, err) == MV_OK;
}

static bool find_all(fragmentation_report *r)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    bool found = true;

    r->lives = mv_push_array(&r->cli->arena, mv_lives, r->end - r->first);
    r->found = mv_push_array(&r->cli->arena, mv_fragmentation, (uint64_t)r->end - r->first + 1);
    r->floor_line = mv_push_array(&r->cli->arena, const char *, (uint64_t)r->end - r->first);
    if (!r->lives || !r->found || !r->floor_line)
        mv_fail(&err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    else
        mv_sites_find(&r->cli->arena, r->trace, &r->sites, &err);
    for (uint32_t i = 0; i < r->end - r->first && err.code == MV_OK && found; i++)
        found = inspect(r, i, &err);
    if (err.code != MV_OK)
        mv_complain(mv_input_name(r->cli), &err);
    return err.code == MV_OK && found;
}

int mv_cmd_fragmentation(mv_cli *cli)
{
    mv_trace trace;
    fragmentation_report r = {.cli = cli,
                              .out = &cli->out,
                              .trace = &trace,
                              .limit = mv_rows_wanted(cli, TEXT_ROWS, 2, OTHER_LINES)};

    mv_input_follows_heap(cli);
    if (!mv_input_read(cli, &trace) || !mv_input_devices(cli, &trace, &r.first, &r.end))
        return MV_EXIT_FAILED;
    if (!find_all(&r))
        return MV_EXIT_FAILED;
    mv_gate_evaluate_idle(&cli->gates, &trace, r.first, r.end);
    if (r.end == r.first)
        r.found[0].why = "the file has no device";
    return mv_gate_status(&cli->gates,
                          mv_devices_report(cli, &trace, r.first, r.end, put_device, &r));
}
