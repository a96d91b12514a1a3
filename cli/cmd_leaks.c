/* memviz leaks: finds memory that grows step by step and is never freed. The culprit's line comes
 * first. */

#include "analyze/code/labels.h"
#include "analyze/leaks/driver_growth.h"
#include "analyze/leaks/leak_words.h"
#include "analyze/leaks/pile_words.h"
#include "analyze/lives/lives_join.h"
#include "analyze/lives/lives_window.h"
#include "analyze/steps/low_points.h"
#include "base/text.h"
#include "cli/complain.h"
#include "cli/input/idle_devices.h"
#include "cli/input/input.h"
#include "cli/input/window.h"
#include "cli/report/captured.h"
#include "cli/report/prose.h"
#include "cli/report/rows.h"
#include "cli/report/stack_text.h"

/* Number of rows of each list in text without --limit, and number of other lines. */
#define TEXT_ROWS   10
#define OTHER_LINES 5

/* How the final heap and the events differ, if they disagree. */
typedef struct {
    int64_t bytes;
    const char *text; /* the difference in one line; "" if they agree */
} residual;

typedef struct {
    mv_cli *cli;
    mv_out *out;
    const mv_trace *trace;
    const uint8_t *kinds; /* kinds of the trace's frames */
    int64_t start_us;
    uint32_t first, end;      /* range of the reported devices */
    mv_leaks *found;          /* [end - first] */
    mv_leak_outlook *outlook; /* [end - first] */
    residual *residual;       /* [end - first] */
    mv_low_held *held;        /* [end - first] */
    mv_leak_verdict verdict;
    uint64_t limit;
} leak_report;

/* Devices without memory and events do not affect the verdict, unless no device has any. */
static bool is_idle(const leak_report *r, uint32_t device)
{
    return mv_trace_events(r->trace, device).count == 0 &&
           r->found[device - r->first].live_bytes == 0;
}

static mv_leak_verdict verdict_of_all(const leak_report *r)
{
    mv_leak_verdict verdict = MV_VERDICT_UNKNOWN;
    bool is_first = true;

    for (uint32_t i = r->first; i < r->end; i++) {
        mv_leak_verdict own = r->found[i - r->first].verdict;
        if (is_idle(r, i))
            continue;
        verdict = is_first ? own : mv_leak_verdict_join(verdict, own);
        is_first = false;
    }
    return verdict;
}

/* Returns the device whose steps are shown in a report on all devices: the first device that leaks,
 * or else the first that has steps. */
static const mv_leaks *first_of_all(const leak_report *r)
{
    for (uint32_t i = 0; i < r->end - r->first; i++)
        if (r->found[i].count > 0)
            return &r->found[i];
    for (uint32_t i = 0; i < r->end - r->first; i++)
        if (r->found[i].steps.source != MV_STEPS_NONE)
            return &r->found[i];
    return r->end > r->first ? &r->found[0] : NULL;
}

/* ---- fields ------------------------------------------------------------------------------ */

#define LEAK_FIELDS(COLUMN, MEMBER, LIST)                                       \
    MEMBER("device", device)                                                    \
    MEMBER("bytes", leak->bytes)                                                \
    MEMBER("blocks", leak->blocks)                                              \
    MEMBER("own_threads", leak->own_threads)                                    \
    MEMBER("bytes_per_step", leak->bytes_per_step)                              \
    MEMBER("first_event", mv_event_number(r->trace, device, leak->first_event)) \
    MEMBER("last_event", mv_event_number(r->trace, device, leak->last_event))   \
    MEMBER("confidence", leak->confidence)                                      \
    MEMBER("kind", mv_leak_kind_name(leak->kind))                               \
    MEMBER("evidence", leak->evidence)                                          \
    MEMBER("library", leak->library)                                            \
    MEMBER("lines", leak->lines)                                                \
    MEMBER("culprit", label)                                                    \
    MEMBER("op", mv_value_known(r->trace, r->trace->tags.op[tag.row]))          \
    MEMBER("shapes", mv_value_known(r->trace, r->trace->tags.shapes[tag.row]))  \
    MEMBER("frames", mv_value_frames(r->trace, leak->stack))                    \
    MEMBER("advice", leak->advice)

/* Returns the tag of the leak's newest block. */
static mv_tag_id tag_of(const leak_report *r, uint32_t device, const mv_leak *leak)
{
    mv_events events = mv_trace_events(r->trace, device);

    return leak->last_event < events.count ? events.tag[leak->last_event] : MV_PLAIN_TAG;
}

static void list_leaks(mv_rows *rows)
{
    const leak_report *r = mv_rows_all(rows);
    char label[512];

    for (uint32_t device = r->first; device < r->end; device++) {
        const mv_leaks *found = &r->found[device - r->first];
        for (uint32_t i = 0; i < found->count && i < r->limit; i++) {
            const mv_leak *leak = &found->leaks[i];
            mv_tag_id tag = tag_of(r, device, leak);
            mv_leak_label(r->trace, r->kinds, leak, label, sizeof label);
            MV_ROWS_ADD(rows, LEAK_FIELDS);
        }
    }
}

static const mv_table leak_table = {MV_TABLE(LEAK_FIELDS, list_leaks)};

/* Lists the lines of a kind on the device that mv_rows_one points to. NULL means all devices. */
#define LIST_LINES(name, lines, type, line, FIELDS)                                                \
    static void name(mv_rows *rows)                                                                \
    {                                                                                              \
        const leak_report *r = mv_rows_all(rows);                                                  \
        const uint32_t *only = mv_rows_one(rows);                                                  \
        for (uint32_t device = r->first; device < r->end; device++) {                              \
            const mv_leaks *found = &r->found[device - r->first];                                  \
            const char **labels;                                                                   \
            uint32_t count;                                                                        \
            if (only && *only != device)                                                           \
                continue;                                                                          \
            count = mv_rows_take(rows, found->lines##_count, r->limit);                            \
            labels = mv_labels_of(&r->cli->scratch, r->trace, r->kinds, found->lines, count, type, \
                                  bytes);                                                          \
            if (found->in_progress.bytes == 0)                                                     \
                mv_rows_head(rows, "in_progress", NULL);                                           \
            for (uint32_t i = 0; i < count; i++) {                                                 \
                const type *line = &found->lines[i];                                               \
                MV_ROWS_ADD(rows, FIELDS);                                                         \
            }                                                                                      \
        }                                                                                          \
    }

#define RETAINED_FIELDS(COLUMN, MEMBER, LIST)                                            \
    MEMBER("device", device)                                                             \
    COLUMN("bytes", "retained", 1, MV_UNIT_BYTES, 9, kept->bytes)                        \
    COLUMN("blocks", "blocks", 3, MV_UNIT_COUNT | MV_UNIT_SPARE, 0, kept->blocks)        \
    COLUMN("in_progress", "in the unfinished step", 2, MV_UNIT_BYTES | MV_UNIT_SPARE, 9, \
           kept->in_progress)                                                            \
    COLUMN("label", "by", 4, MV_UNIT_TEXT, 0,                                            \
           mv_value_label(labels, i, r->trace, r->kinds, kept->stack))                   \
    MEMBER("culprit", mv_value_culprit(r->trace, r->kinds, kept->stack))                 \
    MEMBER("frames", mv_value_frames(r->trace, kept->stack))

LIST_LINES(list_retained, retained, mv_retained, kept, RETAINED_FIELDS)

static const mv_table retained_table = {MV_TABLE(RETAINED_FIELDS, list_retained)};

#define OLDER_FIELDS(COLUMN, MEMBER, LIST)                                                   \
    MEMBER("device", device)                                                                 \
    COLUMN("bytes", "old and alive", 1, MV_UNIT_BYTES, 9, old->bytes)                        \
    COLUMN("blocks", "blocks", 2, MV_UNIT_COUNT | MV_UNIT_SPARE, 0, old->blocks)             \
    COLUMN("age_events", "events old", 3, MV_UNIT_COUNT | MV_UNIT_SPARE, 0, old->age_events) \
    COLUMN("label", "by", 4, MV_UNIT_TEXT, 0,                                                \
           mv_value_label(labels, i, r->trace, r->kinds, old->stack))                        \
    MEMBER("culprit", mv_value_culprit(r->trace, r->kinds, old->stack))                      \
    MEMBER("frames", mv_value_frames(r->trace, old->stack))

LIST_LINES(list_older, older, mv_older, old, OLDER_FIELDS)

static const mv_table older_table = {MV_TABLE(OLDER_FIELDS, list_older)};

#define GROWN_FIELDS(COLUMN, MEMBER, LIST)                                       \
    MEMBER("device", device)                                                     \
    COLUMN("bytes", "grown", 1, MV_UNIT_BYTES, 9, line->bytes)                   \
    COLUMN("to", "to", 2, MV_UNIT_BYTES, 9, line->to)                            \
    MEMBER("from", line->from)                                                   \
    COLUMN("allocations", "allocations", 3, MV_UNIT_COUNT, 0, line->allocations) \
    MEMBER("born", line->born)                                                   \
    MEMBER("freed", line->freed)                                                 \
    COLUMN("rises", "rises", 4, MV_UNIT_COUNT | MV_UNIT_SPARE, 0, line->rises)   \
    MEMBER("spans", line->spans)                                                 \
    MEMBER("span_us", line->span_us)                                             \
    COLUMN("label", "while events were folded, by", 5, MV_UNIT_TEXT, 0,          \
           mv_value_label(labels, i, r->trace, r->kinds, line->stack))           \
    MEMBER("culprit", mv_value_culprit(r->trace, r->kinds, line->stack))         \
    MEMBER("frames", mv_value_frames(r->trace, line->stack))

LIST_LINES(list_grown, grown, mv_grown, line, GROWN_FIELDS)

static const mv_table grown_table = {MV_TABLE(GROWN_FIELDS, list_grown)};

#define PILE_FIELDS(COLUMN, MEMBER, LIST)                                \
    MEMBER("device", device)                                             \
    MEMBER("bytes", pile->bytes)                                         \
    MEMBER("blocks", pile->blocks)                                       \
    MEMBER("at_peak", pile->at_peak)                                     \
    MEMBER("peak", pile->peak)                                           \
    MEMBER("lines", pile->lines)                                         \
    MEMBER("times", pile->times)                                         \
    MEMBER("steps.least", pile->least_steps)                             \
    MEMBER("steps.most", pile->most_steps)                               \
    MEMBER("cause", mv_pile_cause_name(pile->cause))                     \
    MEMBER("evidence", pile->evidence)                                   \
    MEMBER("culprit", mv_value_culprit(r->trace, r->kinds, pile->stack)) \
    MEMBER("frames", mv_value_frames(r->trace, pile->stack))             \
    MEMBER("freed_at", mv_value_frames(r->trace, pile->freed_at))        \
    MEMBER("advice", pile->advice)

static void list_piles(mv_rows *rows)
{
    const leak_report *r = mv_rows_all(rows);

    for (uint32_t device = r->first; device < r->end; device++) {
        const mv_leaks *found = &r->found[device - r->first];
        for (uint32_t i = 0; i < found->pile_count && i < r->limit; i++) {
            const mv_pile *pile = &found->piles[i];
            MV_ROWS_ADD(rows, PILE_FIELDS);
        }
    }
}

static const mv_table pile_table = {MV_TABLE(PILE_FIELDS, list_piles)};

#define DRIVER_FIELDS(COLUMN, MEMBER, LIST)                   \
    MEMBER("device", device)                                  \
    MEMBER("verdict", mv_leak_verdict_name(grown->verdict))   \
    MEMBER("what", grown->what)                               \
    MEMBER("objects", grown->objects)                         \
    MEMBER("unexplained.first", mv_value_i64(grown->first))   \
    MEMBER("unexplained.last", mv_value_i64(grown->last))     \
    MEMBER("first_us", mv_value_time(grown->first_us))        \
    MEMBER("last_us", mv_value_time(grown->last_us))          \
    MEMBER("samples", grown->samples)                         \
    MEMBER("confidence", mv_value_real(grown->confidence))    \
    MEMBER("culprit", grown->label)                           \
    MEMBER("frames", mv_value_frames(r->trace, grown->stack)) \
    MEMBER("why", grown->why)                                 \
    MEMBER("advice", grown->advice)

static void list_driver(mv_rows *rows)
{
    const leak_report *r = mv_rows_all(rows);

    for (uint32_t device = r->first; device < r->end; device++) {
        const mv_driver_growth *grown = r->found[device - r->first].driver;
        if (grown)
            MV_ROWS_ADD(rows, DRIVER_FIELDS);
    }
}

static const mv_table driver_table = {MV_TABLE(DRIVER_FIELDS, list_driver)};

#define STEPS_FIELDS(MEMBER, steps)                               \
    MEMBER("steps.source", mv_steps_source_name((steps)->source)) \
    MEMBER("steps.count", (steps)->count)                         \
    MEMBER("steps.name", (steps)->name)

/* Without whole steps there is no floor, so its bytes are null. */
#define FLOOR_FIELDS(MEMBER, floor)                                                      \
    MEMBER("floor.first", mv_value_bytes((floor)->steps ? (floor)->first : MV_NO_BYTES)) \
    MEMBER("floor.last", mv_value_bytes((floor)->steps ? (floor)->last : MV_NO_BYTES))   \
    MEMBER("floor.steps", (floor)->steps)                                                \
    MEMBER("floor.rises", mv_value_bool((floor)->rises))

/* Null means that the run does not have two low points. */
#define HELD_FIELDS(MEMBER, held) \
    MEMBER("held_bytes", mv_value_bytes((held)->points ? (held)->bytes : MV_NO_BYTES))

#define HELD_LINE_FIELDS(COLUMN, MEMBER, LIST)                           \
    MEMBER("device", device)                                             \
    MEMBER("bytes", line->bytes)                                         \
    MEMBER("staying_bytes", line->staying)                               \
    MEMBER("culprit", mv_value_culprit(r->trace, r->kinds, line->stack)) \
    MEMBER("frames", mv_value_frames(r->trace, line->stack))

/* Lists the lines that hold memory at every low point. */
static void list_held(mv_rows *rows)
{
    const leak_report *r = mv_rows_all(rows);

    for (uint32_t device = r->first; device < r->end; device++) {
        const mv_low_held *held = &r->held[device - r->first];
        for (uint32_t i = 0; i < held->count && i < r->limit; i++) {
            const mv_low_line *line = &held->lines[i];
            MV_ROWS_ADD(rows, HELD_LINE_FIELDS);
        }
    }
}

static const mv_table held_table = {MV_TABLE(HELD_LINE_FIELDS, list_held)};

#define IN_PROGRESS_FIELDS(MEMBER, in_progress)       \
    MEMBER("in_progress.bytes", (in_progress)->bytes) \
    MEMBER("in_progress.blocks", (in_progress)->blocks)

#define DEVICE_FIELDS(COLUMN, MEMBER, LIST)                                                 \
    MEMBER("device", device)                                                                \
    MEMBER("verdict", mv_leak_verdict_name(found->verdict))                                 \
    MEMBER("why", found->why)                                                               \
    MEMBER("settle", found->settle)                                                         \
    STEPS_FIELDS(MEMBER, &found->steps)                                                     \
    MEMBER("live_bytes", found->live_bytes)                                                 \
    MEMBER("leaked_bytes", found->leaked_bytes)                                             \
    MEMBER("retained_bytes", found->retained_bytes)                                         \
    MEMBER("exit_event",                                                                    \
           mv_value_if(found->exit_event < mv_trace_events(r->trace, device).count,         \
                       mv_value_u64(mv_event_number(r->trace, device, found->exit_event)))) \
    MEMBER("preexisting_bytes", found->preexisting_bytes)                                   \
    MEMBER("residual", r->residual[device - r->first].bytes)                                \
    FLOOR_FIELDS(MEMBER, &found->floor)                                                     \
    HELD_FIELDS(MEMBER, &r->held[device - r->first])                                        \
    IN_PROGRESS_FIELDS(MEMBER, &found->in_progress)                                         \
    MEMBER("outlook.capacity", mv_value_bytes(outlook->capacity))                           \
    MEMBER("outlook.capacity_exact",                                                        \
           mv_value_bool(outlook->capacity != MV_NO_BYTES && !outlook->is_least))           \
    MEMBER("outlook.source", outlook->source)                                               \
    MEMBER("outlook.steps", mv_value_bytes(outlook->steps))                                 \
    MEMBER("outlook.time_us", mv_value_time(outlook->time_us))                              \
    MEMBER("outlook.oom_event",                                                             \
           mv_value_event(mv_event_number(r->trace, device, outlook->oom_event)))

static void list_devices(mv_rows *rows)
{
    const leak_report *r = mv_rows_all(rows);

    for (uint32_t device = r->first; device < r->end; device++) {
        const mv_leaks *found = &r->found[device - r->first];
        const mv_leak_outlook *outlook = &r->outlook[device - r->first];
        MV_ROWS_ADD(rows, DEVICE_FIELDS);
    }
}

static const mv_table device_table = {MV_TABLE(DEVICE_FIELDS, list_devices)};

#define REPORT_FIELDS(COLUMN, MEMBER, LIST)                \
    MEMBER("verdict", mv_leak_verdict_name(r->verdict))    \
    STEPS_FIELDS(MEMBER, &first->steps)                    \
    FLOOR_FIELDS(MEMBER, &first->floor)                    \
    IN_PROGRESS_FIELDS(MEMBER, &sum)                       \
    MV_WITH_FIELDS(MEMBER, r->cli)                         \
    LIST("leaks", &leak_table, mv_value_rows(NULL))        \
    LIST("driver", &driver_table, mv_value_rows(NULL))     \
    LIST("retained", &retained_table, mv_value_rows(NULL)) \
    LIST("older", &older_table, mv_value_rows(NULL))       \
    LIST("grown", &grown_table, mv_value_rows(NULL))       \
    LIST("piles", &pile_table, mv_value_rows(NULL))        \
    LIST("held", &held_table, mv_value_rows(NULL))         \
    LIST("devices", &device_table, mv_value_rows(NULL))

static void list_report(mv_rows *rows)
{
    static const mv_leaks none = {.steps = {.name = ""}};
    const leak_report *r = mv_rows_all(rows);
    const mv_leaks *first = first_of_all(r);
    struct {
        uint64_t bytes, blocks;
    } sum = {0};

    first = first ? first : &none;
    for (uint32_t i = 0; i < r->end - r->first; i++) {
        sum.bytes += r->found[i].in_progress.bytes;
        sum.blocks += r->found[i].in_progress.blocks;
    }
    MV_ROWS_ADD(rows, REPORT_FIELDS);
}

const mv_table mv_report_leaks = {MV_TABLE(REPORT_FIELDS, list_report), .main = "leaks"};

/* ---- text -------------------------------------------------------------------------------- */

/* Returns "event 48 (0.106 s)". */
static const char *moment_text(const leak_report *r, uint32_t device, uint32_t event, char text[64])
{
    mv_events e = mv_trace_events(r->trace, device);
    bool has_time =
        event < e.count && mv_event_time(&e, event) != MV_NO_TIME && r->start_us != MV_NO_TIME;

    *text = 0;
    mv_prose_add(text, 64, "event %u", mv_event_number(r->trace, device, event));
    if (has_time)
        mv_prose_add(text, 64, " (%.3f s)", (double)(mv_event_time(&e, event) - r->start_us) / 1e6);
    return text;
}

static void put_operator(const leak_report *r, mv_tag_id tag)
{
    const char *op = mv_string_text(r->trace, r->trace->tags.op[tag.row]);

    if (!*op)
        return;
    mv_prose_put_item(r->out, "operator: %s %s", op,
                      mv_string_text(r->trace, r->trace->tags.shapes[tag.row]));
}

/* Prints the first line of a leak or of a pile: "LEAK  train.py:62 forward: 2.00 MiB a step". */
static void put_head(const leak_report *r, uint32_t device, mv_style style, const char *word,
                     const char *label, const char *what)
{
    mv_out *out = r->out;
    char place[32] = "";
    uint32_t column, room, width = mv_prose_width(label);

    if (mv_devices_in_use(r->trace, r->first, r->end) > 1)
        snprintf(place, sizeof place, "device %u: ", device);
    column = (uint32_t)(strlen(word) + strlen(place)) + 2;
    room = mv_prose_room(out, column + 1);
    mv_out_style(out, style);
    mv_out_format(out, "%s  %s", word, place);
    mv_out_style(out, MV_STYLE_BOLD);
    mv_prose_put_cut(out, room, label);
    mv_out_style(out, MV_STYLE_NONE);
    mv_prose_put(out, column + (width < room ? width : room), 2, ": %s", what);
}

static void put_leak(const leak_report *r, uint32_t device, const mv_leak *leak)
{
    mv_out *out = r->out;
    char label[512], bytes[MV_SIZE_TEXT], step[MV_SIZE_TEXT], lines[32] = "";
    char first[64], last[64], what[64];

    if (leak->lines > 1)
        snprintf(lines, sizeof lines, ", allocated by %u lines", leak->lines);
    mv_leak_label(r->trace, r->kinds, leak, label, sizeof label);
    snprintf(what, sizeof what, "%s a step", mv_size_text(step, leak->bytes_per_step));
    put_head(r, device, MV_STYLE_RED, "LEAK", label, what);
    mv_prose_put_item(out, "%s in %u block%s alive at the end%s", mv_size_text(bytes, leak->bytes),
                      leak->blocks, leak->blocks == 1 ? " is" : "s are", lines);
    mv_prose_put_item(out, "first %s, last %s; confidence %.2f",
                      moment_text(r, device, leak->first_event, first),
                      moment_text(r, device, leak->last_event, last), leak->confidence);
    if (leak->kind != MV_LEAK_UNKNOWN)
        mv_prose_put_item(out, "%s: %s", mv_leak_kind_name(leak->kind), leak->evidence);
    put_operator(r, tag_of(r, device, leak));
    mv_prose_put_advice(out, "%s", leak->advice);
    mv_stack_put(out, r->trace, r->kinds, leak->stack, r->cli->options.all_frames, 6);
}

/* Prints the driver's memory for objects that are never destroyed. */
static void put_driver(const leak_report *r, uint32_t device, const mv_driver_growth *grown)
{
    mv_out *out = r->out;

    put_head(r, device, MV_STYLE_RED, "LEAK", grown->label, grown->what);
    mv_prose_put_item(out, "%s", grown->why);
    mv_prose_put_item(out, "%u samples, from %.3f s to %.3f s; confidence %.2f", grown->samples,
                      (double)(grown->first_us - r->start_us) / 1e6,
                      (double)(grown->last_us - r->start_us) / 1e6, grown->confidence);
    mv_prose_put_advice(out, "%s", grown->advice);
    mv_stack_put(out, r->trace, r->kinds, grown->stack, r->cli->options.all_frames, 6);
    mv_out_char(out, '\n');
}

/* Prints blocks that pile up and are then freed all at once. They are not a leak, but they are part
 * of the peak. */
static void put_pile(const leak_report *r, uint32_t device, const mv_pile *pile)
{
    mv_out *out = r->out;
    char label[512], bytes[MV_SIZE_TEXT], text[200], lines[32] = "";
    const char *word = pile->cause == MV_PILE_OF_CYCLES ? "GARBAGE" : "PILES UP";

    if (pile->lines > 1)
        snprintf(lines, sizeof lines, ", allocated by %u lines", pile->lines);
    mv_culprit_label(r->trace, r->kinds, pile->stack, label, sizeof label);
    snprintf(text, sizeof text, "up to %s", mv_size_text(bytes, pile->bytes));
    put_head(r, device, MV_STYLE_YELLOW, word, label, text);
    mv_prose_put_item(out, "in %u block%s%s", pile->blocks, mv_plural(pile->blocks), lines);
    mv_prose_put_item(out, "%s", mv_pile_text(pile, text, sizeof text));
    mv_prose_put_item(out, "%s: %s", mv_pile_cause_name(pile->cause), pile->evidence);
    mv_prose_put_advice(out, "%s", pile->advice);
    mv_stack_put(out, r->trace, r->kinds, pile->stack, r->cli->options.all_frames, 6);
    mv_out_char(out, '\n');
}

static void put_steps(mv_out *out, const mv_steps *steps)
{
    if (steps->source == MV_STEPS_NONE)
        return;
    mv_prose_put_item(out, "%u step%s, %s%s%s%s", steps->count, mv_plural(steps->count),
                      steps->source == MV_STEPS_INFERRED ? "" : "by ",
                      mv_steps_source_name(steps->source), *steps->name ? " " : "", steps->name);
}

/* Prints a separate line, unless the text is empty. */
static void put_line(const leak_report *r, const char *text)
{
    if (!*text)
        return;
    mv_prose_put_item(r->out, "%s", text);
}

static void put_floor(const leak_report *r, uint32_t device, const mv_leaks *found)
{
    const mv_leak_floor *f = &found->floor;
    char held[MV_LOW_TEXT];
    char first[MV_SIZE_TEXT], last[MV_SIZE_TEXT], rise[MV_SIZE_TEXT], by[40] = "", text[200];
    bool falls = f->last < f->first;

    if (f->steps < 2)
        return;
    if (f->last != f->first)
        snprintf(by, sizeof by, " (%c%s)", falls ? '-' : '+',
                 mv_size_text(rise, falls ? f->first - f->last : f->last - f->first));
    snprintf(text, sizeof text, "floor (least in a step): %s -> %s%s over %u steps",
             mv_size_text(first, f->first), mv_size_text(last, f->last), by, f->steps);
    put_line(r, text);
    mv_low_held_text(r->trace, r->kinds, &r->held[device - r->first], held);
    if (*held)
        put_line(r, held);
}

static void put_summary(const leak_report *r, uint32_t device, const mv_leaks *found)
{
    char live[MV_SIZE_TEXT], leaked[MV_SIZE_TEXT], kept[MV_SIZE_TEXT], text[600];
    char place[MV_PLACE_TEXT];

    mv_out_style(r->out, MV_STYLE_BOLD);
    mv_out_format(r->out, "%s: ", mv_level_place(r->trace, device, place));
    mv_out_style(r->out, MV_STYLE_NONE);
    mv_out_styled(r->out,
                  found->verdict == MV_VERDICT_LEAK    ? MV_STYLE_RED
                  : found->verdict == MV_VERDICT_CLEAN ? MV_STYLE_GREEN
                                                       : MV_STYLE_YELLOW,
                  mv_leak_verdict_name(found->verdict));
    if (found->verdict == MV_VERDICT_LEAK)
        mv_leaks_of_driver(found, text, sizeof text);
    else
        mv_leaks_why(found, text, sizeof text);
    if (*text) {
        mv_out_text(r->out, ": ");
        mv_prose_put(r->out, 20, 2, "%s", text);
    } else {
        mv_out_char(r->out, '\n');
    }
    put_steps(r->out, &found->steps);
    put_floor(r, device, found);
    snprintf(text, sizeof text, "alive at the end: %s = %s leaked + %s retained",
             mv_size_text(live, found->live_bytes), mv_size_text(leaked, found->leaked_bytes),
             mv_size_text(kept, found->retained_bytes));
    put_line(r, text);
    put_line(r, r->residual[device - r->first].text);
    put_line(r, mv_leaks_under_way(found, text, sizeof text));
    if (found->exit_event < mv_trace_events(r->trace, device).count) {
        snprintf(text, sizeof text,
                 "the report ends at event %u, where the exiting program starts to free everything",
                 mv_event_number(r->trace, device, found->exit_event));
        put_line(r, text);
    }
    put_line(r, mv_leak_outlook_text(r->trace, device, &r->outlook[device - r->first], text,
                                     sizeof text));
}

static void put_device(const void *all, uint32_t device)
{
    const leak_report *r = all;
    const mv_leaks *found = &r->found[device - r->first];

    if (is_idle(r, device)) {
        mv_captured_put_idle(r->out, r->trace, device);
        return;
    }
    for (uint32_t i = 0; i < found->count && i < r->limit; i++) {
        put_leak(r, device, &found->leaks[i]);
        mv_out_char(r->out, '\n');
    }
    mv_rows_put_hidden(r->out, found->count, r->limit);
    if (found->driver && found->driver->verdict == MV_VERDICT_LEAK)
        put_driver(r, device, found->driver);
    for (uint32_t i = 0; i < found->pile_count && i < r->limit; i++)
        put_pile(r, device, &found->piles[i]);
    mv_rows_put_hidden(r->out, found->pile_count, r->limit);
    put_summary(r, device, found);
    mv_table_print(r->cli, &retained_table, r, &device, "\n");
    mv_table_print(r->cli, &older_table, r, &device, "\n");
    mv_table_print(r->cli, &grown_table, r, &device, "\n");
}

/* ---- both -------------------------------------------------------------------------------- */

/* The events in a window keep the row numbers that they have in the whole trace. */
static void renumber(mv_leaks *found, mv_leak_outlook *outlook, const mv_lives *lives,
                     uint32_t first, uint32_t events)
{
    for (uint32_t i = 0; i < found->count; i++) {
        found->leaks[i].first_event += first;
        found->leaks[i].last_event += first;
    }
    found->exit_event = lives->has_later_events ? events : found->exit_event + first;
    if (outlook->oom_event != MV_NEVER)
        outlook->oom_event += first;
}

/* Returns false, with a message, if memory runs out or the window is empty. */
static bool find_device(leak_report *r, uint32_t device, mv_err *err)
{
    const mv_options *options = &r->cli->options;
    uint64_t capacity =
        mv_option_given(options, MV_HAS(CAPACITY)) ? options->capacity : MV_NO_BYTES;
    mv_leaks *found = &r->found[device - r->first];
    mv_leak_outlook *outlook = &r->outlook[device - r->first];
    residual *own = &r->residual[device - r->first];
    mv_lives whole = {0}, lives;
    mv_window window;

    if (!mv_window_find(r->cli, r->trace, device, &window))
        return false;
    mv_input_lives(r->cli, &r->cli->arena, r->trace, device, &whole, err);
    if (err->code == MV_OK)
        mv_lives_within(&r->cli->arena, &whole, window, &lives, err);
    if (err->code == MV_OK)
        mv_leaks_find(&r->cli->arena, r->trace, &lives, found, err);
    if (err->code == MV_OK)
        mv_low_held_find(&r->cli->arena, r->trace, &lives, &found->floor.all, found->floor.steps,
                         &r->held[device - r->first], err);
    if (err->code == MV_OK)
        mv_leaks_outlook(&r->cli->arena, r->trace, &lives, found, capacity, outlook, err);
    own->bytes = whole.doubts.residual;
    if (err->code == MV_OK && !(own->text = mv_residual_text(&r->cli->arena, &whole)))
        mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "residual");
    if (err->code != MV_OK) {
        mv_complain(mv_input_name(r->cli), err);
        return false;
    }
    renumber(found, outlook, &lives, window.first, whole.events.count);
    return true;
}

/* Answers the gate of --fail-on. The first device that leaks, or whose verdict is unknown,
 * decides. */
static void evaluate_gate(leak_report *r)
{
    char where[MV_PLACE_TEXT];

    for (uint32_t i = r->first; i < r->end; i++) {
        const mv_leaks *found = &r->found[i - r->first];
        mv_level_place(r->trace, i, where);
        if (found->verdict == MV_VERDICT_LEAK ||
            (r->verdict == MV_VERDICT_UNKNOWN && (!is_idle(r, i) || i + 1 == r->end)))
            mv_gate_evaluate_leaks(&r->cli->gates, where, found);
    }
}

static int put_report(leak_report *r)
{
    int status = mv_devices_report(r->cli, r->trace, r->first, r->end, put_device, r);

    evaluate_gate(r);
    mv_gate_evaluate_idle(&r->cli->gates, r->trace, r->first, r->end);
    return mv_gate_status(&r->cli->gates, status);
}

int mv_cmd_leaks(mv_cli *cli)
{
    mv_trace trace;
    leak_report r = {.cli = cli,
                     .out = &cli->out,
                     .trace = &trace,
                     .limit = mv_rows_wanted(cli, TEXT_ROWS, 2, OTHER_LINES)};
    mv_err err = {.offset = MV_NO_OFFSET};

    /* addresses and sizes are read only if a request failed, or events of a capture were folded;
     * captures are never read in pieces, since they have facts (parse/container/wire_part.c) */
    cli->columns = MV_EVENT_action | MV_EVENT_tag | MV_LIVES_FREED_BY;
    if (!mv_input_read(cli, &trace) || !mv_input_devices(cli, &trace, &r.first, &r.end))
        return MV_EXIT_FAILED;
    r.start_us = mv_position_start_us(&trace);
    r.kinds = mv_frame_kinds(&cli->arena, &trace);
    r.found = mv_push_array(&cli->arena, mv_leaks, r.end - r.first);
    r.outlook = mv_push_array(&cli->arena, mv_leak_outlook, r.end - r.first);
    r.residual = mv_push_array(&cli->arena, residual, r.end - r.first);
    r.held = mv_push_array(&cli->arena, mv_low_held, r.end - r.first);
    if (!r.kinds || !r.found || !r.outlook || !r.residual || !r.held)
        return mv_complain_of(mv_input_name(cli), "%s", mv_code_text(MV_NOMEM));
    for (uint32_t i = r.first; i < r.end; i++)
        if (!find_device(&r, i, &err))
            return MV_EXIT_FAILED;
    r.verdict = verdict_of_all(&r);
    return put_report(&r);
}
