/* memviz diff: how two snapshots differ. The line with the largest part of the change comes
 * first. */

#include "analyze/code/labels.h"
#include "analyze/flame/flame_change.h"
#include "analyze/ranks/device_pairs.h"
#include "cli/complain.h"
#include "cli/input/input.h"
#include "cli/input/moment_option.h"
#include "cli/input/window.h"
#include "cli/report/doubts.h"
#include "cli/report/folded.h"
#include "cli/report/prose.h"
#include "cli/report/rows.h"
#include "cli/report/stack_text.h"
#include "parse/model/living.h"
#include "view/paper/paper.h"
#include "viz/scene/png.h"

/* Rows in text without --limit, and other lines. */
enum { TEXT_ROWS = 10, OTHER_LINES = 18 };

enum { ALLOCATED, RESERVED };

/* A device in one file paired with a device in the other. Either may be MV_NO_DEVICE. */
typedef struct {
    uint32_t device[2];
    mv_diff_sides sides;
    mv_diff found;
} device_pair;

typedef struct {
    mv_cli *cli;
    mv_out *out;
    const char *name[2];
    mv_trace trace[2];
    mv_diff_code code;
    uint32_t count;
    device_pair *pairs; /* [count] */
    mv_levels level[2]; /* sums over all pairs */
    int64_t delta;
    mv_reserved reserved[2]; /* sums over all pairs */
    mv_bound bound[2][2];    /* [before, after] of [ALLOCATED, RESERVED] */
    uint32_t missing[2];     /* [before, after] the first device without data, or MV_NO_DEVICE */
    uint64_t limit;
} diff_report;

/* ---- words ------------------------------------------------------------------------------- */

static uint64_t magnitude(int64_t delta)
{
    return delta < 0 ? 0 - (uint64_t)delta : (uint64_t)delta;
}

/* Whether a side without data may have held memory on the device. It did not if its file has the
 * complete history of another device, or at the end, where the file lists all memory. */
static bool is_side_unknown(const diff_report *c, const device_pair *pair, int s)
{
    if (pair->sides.lives[s] || strcmp(c->cli->options.at, "end") == 0)
        return false;
    for (const device_pair *other = c->pairs; other < c->pairs + c->count; other++)
        if (other->sides.lives[s] && other->sides.lives[s]->history == MV_HISTORY_COMPLETE)
            return false;
    return true;
}

/* Whether a side may have had a higher peak before its first event, or whether its peak is unknown.
 * The peak in a window (--from) belongs to the window, so this does not apply there. */
static bool is_side_open(const diff_report *c, const device_pair *pair, int s)
{
    const mv_lives *lives = pair->sides.lives[s];

    if (!lives)
        return is_side_unknown(c, pair, s);
    return lives->history != MV_HISTORY_COMPLETE && mv_at_is_peak(c->cli) &&
           pair->sides.reserved[s].window.first == 0;
}

static bool is_open(const diff_report *c, int measure)
{
    bool is_open = c->count == 0;

    for (const device_pair *pair = c->pairs; pair < c->pairs + c->count; pair++)
        is_open = is_open || is_side_open(c, pair, 0) || is_side_open(c, pair, 1);
    return is_open || (c->bound[0][measure] | c->bound[1][measure]) != MV_BOUND_EXACT;
}

/* Returns the side whose stack a row shows: `after`, unless the row no longer exists there. */
static int side_of(const mv_diff_row *row)
{
    return row->bytes[1] != 0;
}

static const char *label_of(const diff_report *c, const mv_diff_row *row, int side, char *out,
                            size_t size)
{
    return mv_culprit_label(&c->trace[side], c->code.sites[side].kinds, row->stack[side], out,
                            size);
}

/* Whether a row names a line that the reader can act on. */
static bool is_named(const diff_report *c, const mv_diff_row *row)
{
    int s = side_of(row);
    const uint8_t *kinds = c->code.sites[s].kinds;
    mv_frame_id frame = mv_culprit_frame(&c->trace[s], kinds, row->stack[s]);

    return frame.row != MV_NO_ROW && kinds[frame.row] <= MV_FRAME_PACKAGE;
}

/* Returns the line responsible for the change, which is the line that changed the most in the same
 * direction as the total. A line that the reader can act on is preferred if its change is at least
 * half as large. */
static const mv_diff_row *main_row(const diff_report *c)
{
    const mv_diff_row *main = NULL, *named = NULL;

    for (uint32_t p = 0; p < c->count; p++)
        for (uint32_t i = 0; i < c->pairs[p].found.lines; i++) {
            const mv_diff_row *row = &c->pairs[p].found.line[i];
            if (c->delta != 0 && (row->delta < 0) != (c->delta < 0))
                continue;
            if (!main || magnitude(row->delta) > magnitude(main->delta))
                main = row;
            if (is_named(c, row) && (!named || magnitude(row->delta) > magnitude(named->delta)))
                named = row;
        }
    return named && magnitude(named->delta) >= magnitude(main->delta) / 2 ? named : main;
}

/* ---- fields ------------------------------------------------------------------------------ */

/* Finds labels for the lines that are shown. */
static const char **labels_of(const diff_report *c, const mv_diff *found)
{
    uint32_t count = found->lines < c->limit ? found->lines : (uint32_t)c->limit;
    mv_labelled *rows = mv_push_array(&c->cli->scratch, mv_labelled, count);

    for (uint32_t i = 0; rows && i < count; i++) {
        const mv_diff_row *row = &found->line[i];
        int side = side_of(row);
        rows[i] = (mv_labelled){.trace = &c->trace[side],
                                .kinds = c->code.sites[side].kinds,
                                .stack = row->stack[side],
                                .bytes = row->bytes[side]};
    }
    return rows ? mv_labels_find(&c->cli->scratch, rows, count, false) : NULL;
}

/* Returns `name`, followed by the line's earlier position if the line moved. */
static const char *moved_label(const diff_report *c, const mv_diff_row *row, const char *name,
                               char both[1040])
{
    char label[512], before[512];

    label_of(c, row, side_of(row), label, sizeof label);
    label_of(c, row, 0, before, sizeof before);
    if (!row->bytes[0] || !row->bytes[1] || strcmp(label, before) == 0)
        return name;
    snprintf(both, 1040, "%s (was %s)", name, before);
    return both;
}

static mv_value device_value(uint32_t device)
{
    return device == MV_NO_DEVICE ? mv_value_of(MV_VALUE_NULL) : mv_value_u64(device);
}

/* Returns null for MV_HISTORY_COUNT, which stands for no device or for several. */
static mv_value history_value(mv_history_kind history)
{
    return history == MV_HISTORY_COUNT ? mv_value_of(MV_VALUE_NULL)
                                       : mv_value_text(mv_history_name(history));
}

/* In text, zero is printed as a dash. */
static mv_value bytes_value(uint64_t bytes)
{
    return mv_value_shown(mv_value_u64(bytes), bytes ? NULL : "-");
}

#define ROW_FIELDS(COLUMN, MEMBER, LIST)                                                        \
    MEMBER("device", device_value(device))                                                      \
    COLUMN("status", "", 2, MV_UNIT_TEXT, 0, mv_diff_status_name(row->status))                  \
    COLUMN("before", "before", 3, MV_UNIT_BYTES | MV_UNIT_SPARE, 8, bytes_value(row->bytes[0])) \
    COLUMN("after", "after", 4, MV_UNIT_BYTES | MV_UNIT_SPARE, 8, bytes_value(row->bytes[1]))   \
    COLUMN("delta", "change", 1, MV_UNIT_CHANGE, 9, row->delta)                                 \
    COLUMN("blocks_before", "blocks", 5, MV_UNIT_COUNT | MV_UNIT_SPARE, 0, row->blocks[0])      \
    COLUMN("blocks_after", "", 6, MV_UNIT_COUNT | MV_UNIT_SPARE, 0, row->blocks[1])             \
    MEMBER("culprit", mv_value_culprit(&c->trace[s], c->code.sites[s].kinds, row->stack[s]))    \
    COLUMN(NULL, "allocated by", 7, MV_UNIT_TEXT, 0, label)                                     \
    MEMBER("frames", mv_value_frames(&c->trace[s], row->stack[s]))                              \
    MEMBER("frames_before", mv_value_if(row->bytes[0] && row->bytes[1],                         \
                                        mv_value_frames(&c->trace[0], row->stack[0])))

static void add_row(mv_rows *rows, const diff_report *c, const device_pair *pair,
                    const mv_diff_row *row, const char *label)
{
    int s = side_of(row);
    uint32_t device = pair->device[s] == MV_NO_DEVICE ? pair->device[1 - s] : pair->device[s];

    MV_ROWS_ADD(rows, ROW_FIELDS);
}

static void list_sites(mv_rows *rows)
{
    const diff_report *c = mv_rows_all(rows);

    for (uint32_t p = 0; p < c->count; p++)
        for (uint32_t i = 0; i < c->pairs[p].found.count && i < c->limit; i++)
            add_row(rows, c, &c->pairs[p], &c->pairs[p].found.sites[i], NULL);
}

/* Lists the lines of the pair that `one` points to. NULL means all pairs. */
static void list_lines(mv_rows *rows)
{
    const diff_report *c = mv_rows_all(rows);
    char label[1040];

    for (const device_pair *pair = c->pairs; pair < c->pairs + c->count; pair++) {
        bool is_asked = !mv_rows_one(rows) || pair == mv_rows_one(rows);
        const char **labels =
            is_asked && mv_rows_are_text(rows) ? labels_of(c, &pair->found) : NULL;
        for (uint32_t i = 0; is_asked && i < pair->found.lines && i < c->limit; i++) {
            const mv_diff_row *row = &pair->found.line[i];
            add_row(rows, c, pair, row, labels ? moved_label(c, row, labels[i], label) : "?");
        }
    }
}

static const mv_table site_table = {MV_TABLE(ROW_FIELDS, list_sites)};
static const mv_table line_table = {MV_TABLE(ROW_FIELDS, list_lines)};

#define PART_FIELDS(COLUMN, MEMBER, LIST)            \
    MEMBER("reason", mv_reserved_part_words[i].name) \
    MEMBER("before", reserved[0].part[i])            \
    MEMBER("after", reserved[1].part[i])             \
    MEMBER("delta", mv_value_i64(reserved[1].part[i] - reserved[0].part[i]))

static void list_parts(mv_rows *rows)
{
    const mv_reserved *reserved = mv_rows_one(rows); /* [2] */

    for (uint32_t i = 0; i < MV_RESERVED_PARTS; i++)
        if (reserved[0].part[i] != 0 || reserved[1].part[i] != 0)
            MV_ROWS_ADD(rows, PART_FIELDS);
}

static const mv_table part_table = {MV_TABLE(PART_FIELDS, list_parts)};

/* Both sides of one pair, or of all pairs together. */
#define SIDE_FIELDS(MEMBER, key, s)                \
    MV_AT_FIELDS(MEMBER, key ".", &moment[s])      \
    MEMBER(key ".file", c->name[s])                \
    MEMBER(key ".device", device_value(device[s])) \
    MEMBER(key ".history", history_value(history[s]))

#define CHANGE_FIELDS(COLUMN, MEMBER, LIST)                                                        \
    SIDE_FIELDS(MEMBER, "before", 0)                                                               \
    SIDE_FIELDS(MEMBER, "after", 1)                                                                \
    MEMBER("delta", delta)                                                                         \
    MEMBER("reserved.before", reserved[0].reserved)                                                \
    MEMBER("reserved.after", reserved[1].reserved)                                                 \
    MEMBER("reserved.delta", mv_value_i64((int64_t)(reserved[1].reserved - reserved[0].reserved))) \
    LIST("reserved.parts", &part_table, mv_value_rows(reserved))

#define DEVICE_FIELDS(COLUMN, MEMBER, LIST)           \
    CHANGE_FIELDS(COLUMN, MEMBER, LIST)               \
    MEMBER("unchanged_lines", pair->found.same_lines) \
    MEMBER("unchanged_bytes", pair->found.same_bytes)

static mv_moment moment_of(const diff_report *c, const device_pair *pair, int s)
{
    static const mv_moment none = {.event = MV_BEFORE, .time_us = MV_NO_TIME};
    mv_moment at = pair->sides.lives[s] ? pair->sides.moment[s] : none;

    at.event = mv_event_number(&c->trace[s], pair->device[s], at.event);
    return at;
}

static mv_history_kind history_of(const device_pair *pair, int s)
{
    return pair->sides.lives[s] ? pair->sides.lives[s]->history : MV_HISTORY_COUNT;
}

static void list_devices(mv_rows *rows)
{
    const diff_report *c = mv_rows_all(rows);

    for (const device_pair *pair = c->pairs; pair < c->pairs + c->count; pair++) {
        mv_moment moment[2] = {moment_of(c, pair, 0), moment_of(c, pair, 1)};
        mv_history_kind history[2] = {history_of(pair, 0), history_of(pair, 1)};
        const uint32_t *device = pair->device;
        const mv_reserved *reserved = pair->found.reserved;
        int64_t delta = pair->found.delta;
        MV_ROWS_ADD(rows, DEVICE_FIELDS);
    }
}

static const mv_table device_table = {MV_TABLE(DEVICE_FIELDS, list_devices)};

#define REPORT_FIELDS(COLUMN, MEMBER, LIST)         \
    CHANGE_FIELDS(COLUMN, MEMBER, LIST)             \
    LIST("sites", &site_table, mv_value_rows(NULL)) \
    LIST("lines", &line_table, mv_value_rows(NULL)) \
    LIST("devices", &device_table, mv_value_rows(NULL))

/* The times and devices of a single pair. Several pairs have no time in common. */
static void list_report(mv_rows *rows)
{
    const diff_report *c = mv_rows_all(rows);
    const mv_reserved *reserved = c->reserved;
    uint32_t device[2] = {MV_NO_DEVICE, MV_NO_DEVICE};
    mv_history_kind history[2] = {MV_HISTORY_COUNT, MV_HISTORY_COUNT};
    int64_t delta = c->delta;
    mv_moment moment[2];

    for (int s = 0; s < 2; s++) {
        moment[s] = (mv_moment){.event = MV_BEFORE, .time_us = MV_NO_TIME, .bytes = c->level[s]};
        if (c->count != 1)
            continue;
        moment[s] = moment_of(c, &c->pairs[0], s);
        device[s] = c->pairs[0].device[s];
        history[s] = history_of(&c->pairs[0], s);
    }
    MV_ROWS_ADD(rows, REPORT_FIELDS);
}

const mv_table mv_report_diff = {MV_TABLE(REPORT_FIELDS, list_report), .main = "lines"};

/* ---- text -------------------------------------------------------------------------------- */

static void put_main(const diff_report *c, const mv_diff_row *row, uint32_t column)
{
    static const char *const verbs[] = {"grew by", "shrank by", "is new with", "is gone with"};
    char label[512], bytes[MV_SIZE_TEXT];

    mv_out_style(c->out, MV_STYLE_BOLD);
    mv_prose_put(c->out, column, 2, " %s %s %s",
                 label_of(c, row, side_of(row), label, sizeof label), verbs[row->status],
                 mv_size_text(bytes, magnitude(row->delta)));
    mv_out_style(c->out, MV_STYLE_NONE);
}

static mv_style style_of(int64_t delta)
{
    return delta > 0 ? MV_STYLE_RED : delta < 0 ? MV_STYLE_GREEN : MV_STYLE_BOLD;
}

static void put_verdict(const diff_report *c)
{
    const mv_diff_row *row = main_row(c);
    bool is_same = c->delta == 0 && !row;
    char delta[MV_SIZE_TEXT];
    uint32_t column;

    mv_out_style(c->out, style_of(c->delta));
    column = mv_prose_part(c->out, 0, 2, "%s",
                           is_same ? "no change" : mv_size_change_text(delta, c->delta));
    mv_out_style(c->out, MV_STYLE_NONE);
    column =
        mv_prose_part(c->out, column, 2, " %s at %s%s%s",
                      is_same ? "in allocated memory" : "allocated", mv_at_words(c->cli),
                      is_open(c, ALLOCATED) ? ", as far as the files show" : "", row ? ":" : "");
    if (!row) {
        mv_out_char(c->out, '\n');
        return;
    }
    put_main(c, row, column);
    mv_stack_put(c->out, &c->trace[side_of(row)], c->code.sites[side_of(row)].kinds,
                 row->stack[side_of(row)], c->cli->options.all_frames, 6);
}

/* Parts of equal size keep the order of the list. */
static uint32_t next_part(const mv_reserved reserved[2], uint32_t shown)
{
    uint32_t best = MV_RESERVED_PARTS;
    int64_t most = 0;

    for (uint32_t i = 0; i < MV_RESERVED_PARTS; i++) {
        int64_t delta = reserved[1].part[i] - reserved[0].part[i];
        if (!(shown & (1u << i)) && magnitude(delta) > magnitude(most)) {
            most = delta;
            best = i;
        }
    }
    return best;
}

/* Whether the need before the peak is known, because all compared histories are complete and start
 * at event 0. */
static bool is_need_known(const diff_report *c)
{
    bool is_known = true;

    for (const device_pair *pair = c->pairs; pair < c->pairs + c->count; pair++)
        for (int s = 0; s < 2; s++)
            is_known = is_known && (!pair->sides.lives[s] ||
                                    (pair->sides.lives[s]->history == MV_HISTORY_COMPLETE &&
                                     pair->sides.reserved[s].window.first == 0));
    return is_known;
}

/* Returns which need the parts beyond it are compared with. */
static const char *beyond_text(const diff_report *c, uint32_t part)
{
    if (!mv_at_is_peak(c->cli) || (part != MV_RESERVED_HOLES && part != MV_RESERVED_UNUSED))
        return "";
    return is_need_known(c) ? ", beyond the most ever needed at once"
                            : ", beyond the largest need in the events";
}

/* Prints how reserved memory changed, and the causes, whose rows add up to the change. */
static void put_reserved(const diff_report *c)
{
    const mv_reserved *r = c->reserved;
    int64_t change = (int64_t)(r[1].reserved - r[0].reserved);
    char delta[MV_SIZE_TEXT], before[MV_SIZE_TEXT], after[MV_SIZE_TEXT];
    bool is_peak = mv_at_is_peak(c->cli);
    uint32_t shown = 0, part;

    if (mv_trace_is_missing_reserved(&c->trace[0]) || mv_trace_is_missing_reserved(&c->trace[1]))
        return; /* for a file from another tool */
    mv_out_styled(c->out, style_of(change),
                  change == 0 ? "no change" : mv_size_change_text(delta, change));
    mv_out_char(c->out, ' ');
    mv_prose_put(c->out, 10, 2, "%sreserved%s%s%s: %s before, %s after", change == 0 ? "in " : "",
                 change == 0 ? " memory" : "", is_peak ? " at its peak" : " then",
                 is_open(c, RESERVED) ? ", as far as the files show" : "",
                 mv_size_text(before, r[0].reserved), mv_size_text(after, r[1].reserved));
    while ((part = next_part(r, shown)) < MV_RESERVED_PARTS) {
        shown |= 1u << part;
        mv_out_format(c->out, "  %10s  ",
                      mv_size_change_text(delta, r[1].part[part] - r[0].part[part]));
        mv_prose_put(c->out, 14, 14, "%s%s", mv_reserved_part_words[part].text,
                     beyond_text(c, part));
    }
}

static void put_side(const diff_report *c, const device_pair *pair, int s)
{
    char allocated[MV_SIZE_TEXT], reserved[MV_SIZE_TEXT], moment[MV_AT_TEXT];
    char at[MV_AT_TEXT + 48], held[48] = "";
    mv_moment there = moment_of(c, pair, s);

    if (pair->sides.lives[s])
        snprintf(at, sizeof at, ", device %u, %s", pair->device[s],
                 mv_at_text(moment, &c->trace[s], &there));
    else
        snprintf(at, sizeof at, " has no memory on device %u%s", pair->device[1 - s],
                 is_side_unknown(c, pair, s) ? ", and no history" : "");
    mv_out_text(c->out, s == 0 ? "  before  " : "  after   ");
    if (!mv_trace_is_missing_reserved(&c->trace[s]))
        snprintf(held, sizeof held, ", %9s reserved",
                 mv_size_text(reserved, pair->found.level[s].reserved));
    mv_prose_put(c->out, 10, 10, "%9s allocated%s; %s%s",
                 mv_size_text(allocated, pair->found.level[s].allocated), held, c->name[s], at);
    if (pair->sides.lives[s])
        mv_doubts_put_at(c->cli, pair->sides.lives[s], pair->sides.moment[s].event,
                         pair->sides.reserved[s].window.first);
}

static void put_rest(const diff_report *c, const mv_diff *found)
{
    char text[MV_SIZE_TEXT];
    int64_t rest = 0;

    for (uint64_t i = c->limit; i < found->lines; i++)
        rest = (int64_t)((uint64_t)rest + (uint64_t)found->line[i].delta);
    mv_out_style(c->out, MV_STYLE_DIM);
    if (found->lines > c->limit)
        mv_out_format(c->out, "  %9s  in %llu more; --limit 0 shows all\n",
                      mv_size_change_text(text, rest),
                      (unsigned long long)(found->lines - c->limit));
    if (found->same_lines)
        mv_out_format(c->out, "  %s in %u line%s without a change\n",
                      mv_size_text(text, found->same_bytes), found->same_lines,
                      mv_plural(found->same_lines));
    mv_out_style(c->out, MV_STYLE_NONE);
}

static void put_pair(const diff_report *c, const device_pair *pair)
{
    char delta[MV_SIZE_TEXT];

    if (c->count > 1) {
        mv_out_style(c->out, MV_STYLE_BOLD);
        mv_out_format(c->out,
                      "\ndevice %u: ", pair->device[pair->device[1] == MV_NO_DEVICE ? 0 : 1]);
        mv_out_style(c->out, MV_STYLE_NONE);
        mv_out_format(c->out, "%s\n", mv_size_change_text(delta, pair->found.delta));
    }
    put_side(c, pair, 0);
    put_side(c, pair, 1);
    mv_table_print(c->cli, &line_table, c, pair, "\n");
    put_rest(c, &pair->found);
}

/* Saturates, so that a bound larger than any amount of memory never counts as exceeded. */
static uint64_t share_of(uint64_t bytes, double percent)
{
    double share = (double)bytes * percent / 100;

    return share < 0x1p64 ? (uint64_t)share : UINT64_MAX;
}

/* Answers the growth gates of --fail-on. The true growth may be smaller if `before` may be too low
 * or `after` too high. In the opposite case, it may be larger. */
static void evaluate_growth(diff_report *c, mv_gate gate, int measure, uint64_t before,
                            uint64_t after, const char *what)
{
    double percent = c->cli->gates.percent[gate];
    uint64_t bound = percent > 0 ? share_of(before, percent) : c->cli->gates.bound[gate];
    uint64_t grown = after > before ? after - before : 0;
    char is[MV_SIZE_TEXT], was[MV_SIZE_TEXT], most[2 * MV_SIZE_TEXT + 32];
    bool is_above = grown > bound;
    int s = is_above ? 0 : 1;
    bool under = c->bound[s][measure] & MV_BOUND_LEAST;
    bool over = c->bound[1 - s][measure] & MV_BOUND_MOST;
    mv_size_text(is, grown);
    mv_size_text(most, bound);
    if (percent > 0)
        mv_text_append(most, sizeof most, " (%g%% of %s)", percent, mv_size_text(was, before));
    if (c->missing[s] != MV_NO_DEVICE)
        mv_gate_evaluate(&c->cli->gates, gate, MV_GATE_CANNOT_KNOW,
                         "%s has no memory on device %u, and no history: whether %s memory grew by "
                         "more than %s is unknown",
                         c->name[s], c->missing[s], what, most);
    else if (over || under)
        mv_gate_evaluate(&c->cli->gates, gate, MV_GATE_CANNOT_KNOW,
                         "%s: %s more %s as far as the files show, but %s: it may be %s than %s",
                         c->name[under ? s : 1 - s], is, what,
                         under ? "memory from before the trace is unknown"
                               : "the events do not show when all of it was freed",
                         is_above ? "less" : "more", most);
    else if (is_above)
        mv_gate_evaluate(&c->cli->gates, gate, MV_GATE_FAILS, "%s more %s, above %s", is, what,
                         most);
}

/* ---- as a picture ------------------------------------------------------------------------ */

/* Whether -o names a file with this suffix, and the report was not requested as a table. */
static bool is_written_as(const mv_cli *cli, const char *ending)
{
    return cli->options.output && !mv_table_is_wanted(cli) &&
           mv_text_has_ending(cli->options.output, ending);
}

static mv_code draw(diff_report *c, mv_scene *scene, mv_err *err)
{
    const mv_options *o = &c->cli->options;
    const mv_diff *found = &c->pairs[0].found;
    char before[MV_SIZE_TEXT], after[MV_SIZE_TEXT], change[MV_SIZE_TEXT];
    mv_paper_opts opts = {.width = o->width, .height = o->height, .is_dark = o->is_dark};
    const mv_rank_place places[2] = {{c->name[0], 0}, {c->name[1], 0}};
    const char **names = mv_rank_names(&c->cli->arena, places, 2);
    mv_flame_tree tree;
    mv_paper paper;

    if (o->title)
        opts.title = o->title;
    else if (names)
        opts.title = mv_arena_printf(&c->cli->arena, "%s compared with %s", names[1], names[0]);
    opts.what = mv_arena_printf(&c->cli->arena, "%s allocated at %s: %s before, %s after",
                                mv_size_change_text(change, found->delta), mv_at_words(c->cli),
                                mv_size_text(before, found->level[0].allocated),
                                mv_size_text(after, found->level[1].allocated));
    if (!opts.title || !opts.what)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "picture");
    if (mv_flame_change_find(&c->cli->arena, &c->code, found, o->all_frames,
                             (mv_flame_tree_opts){0}, &tree, err) != MV_OK)
        return err->code;
    opts.flame = &tree;
    if (mv_paper_find(&c->cli->arena, NULL, NULL, &mv_paper_change, &opts, &paper, err) != MV_OK)
        return err->code;
    *scene = paper.scene;
    return MV_OK;
}

/* Writes a flame graph of the difference to the file that -o names. */
static int put_picture(diff_report *c)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_scene scene;
    mv_code code;

    if (c->count != 1)
        return mv_complain_of(NULL, "%s", "a picture shows one device: choose it with --device");
    code = draw(c, &scene, &err);
    if (code == MV_OK)
        code = is_written_as(c->cli, ".png")
                   ? mv_scene_write_png(&c->cli->budget, &scene, &c->out->sink, &err)
                   : mv_svg_write(&scene, &c->out->sink, &err);
    return code == MV_OK ? MV_EXIT_DONE : mv_complain(NULL, &err);
}

/* Writes one line for each stack, with the bytes before and after: "main;step;forward 4096
 * 8192". */
static void put_folded(const diff_report *c)
{
    for (uint32_t p = 0; p < c->count; p++) {
        const device_pair *pair = &c->pairs[p];
        for (uint32_t i = 0; i < pair->found.count; i++) {
            const mv_diff_row *row = &pair->found.sites[i];
            int side = side_of(row);
            if (c->count > 1)
                mv_sink_printf(&c->out->sink, "device %u",
                               pair->device[pair->device[1] != MV_NO_DEVICE]);
            mv_folded_put_stack(&c->out->sink, &c->trace[side], c->code.sites[side].kinds,
                                row->stack[side], false, c->count == 1);
            mv_sink_printf(&c->out->sink, " %llu %llu\n", (unsigned long long)row->bytes[0],
                           (unsigned long long)row->bytes[1]);
        }
    }
}

static int put_report(diff_report *c)
{
    int status = MV_EXIT_DONE;

    evaluate_growth(c, MV_GATE_DELTA, ALLOCATED, c->level[0].allocated, c->level[1].allocated,
                    "allocated");
    if (mv_gate_knows_reserved(&c->cli->gates, &c->trace[0], c->name[0]) &&
        mv_gate_knows_reserved(&c->cli->gates, &c->trace[1], c->name[1]))
        evaluate_growth(c, MV_GATE_RESERVED, RESERVED, c->reserved[0].reserved,
                        c->reserved[1].reserved, "reserved");
    if (is_written_as(c->cli, ".svg") || is_written_as(c->cli, ".png")) {
        status = put_picture(c);
    } else if (is_written_as(c->cli, ".folded")) {
        put_folded(c);
    } else if (mv_table_is_wanted(c->cli)) {
        status = mv_table_put(c->cli, c);
    } else {
        put_verdict(c);
        put_reserved(c);
        for (uint32_t p = 0; p < c->count; p++)
            put_pair(c, &c->pairs[p]);
    }
    return mv_gate_status(&c->cli->gates, status);
}

/* ---- devices ----------------------------------------------------------------------------- */

static bool pair_asked(diff_report *c, uint32_t device)
{
    for (int s = 0; s < 2; s++)
        if (device >= mv_trace_devices(&c->trace[s])) {
            char contained[MV_DEVICES_TEXT];
            mv_complain_of(c->name[s], "no device %u; the file contains %s", device,
                           mv_devices_text(contained, mv_trace_devices(&c->trace[s])));
            return false;
        }
    c->pairs[c->count++].device[1] = device;
    c->pairs[0].device[0] = device;
    return true;
}

static bool pair_devices(diff_report *c)
{
    uint32_t devices[2] = {mv_trace_devices(&c->trace[0]), mv_trace_devices(&c->trace[1])};
    uint64_t most = (uint64_t)(devices[0] > devices[1] ? devices[0] : devices[1]) + 1;
    mv_device_pair *found = mv_push_array(&c->cli->scratch, mv_device_pair, most);

    c->pairs = mv_push_array(&c->cli->arena, device_pair, most);
    if (!c->pairs || !found) {
        mv_complain_of(NULL, "%s", mv_code_text(MV_NOMEM));
        return false;
    }
    if (c->cli->options.device != MV_ALL_DEVICES)
        return pair_asked(c, (uint32_t)c->cli->options.device);
    c->count = mv_device_pairs_find(&c->trace[0], &c->trace[1], found);
    for (uint32_t i = 0; i < c->count; i++)
        for (int s = 0; s < 2; s++)
            c->pairs[i].device[s] = found[i].device[s];
    return true;
}

/* ---- both -------------------------------------------------------------------------------- */

static mv_code find_bounds(diff_report *c, const device_pair *pair, int s, mv_err *err)
{
    const mv_lives *lives = pair->sides.lives[s];
    mv_bounds bounds = mv_at_is_peak(c->cli) ? mv_bounds_within(lives)
                                             : mv_bounds_after(lives, pair->sides.moment[s].event);
    mv_totals totals;

    if (mv_at_is_peak(c->cli) && pair->sides.reserved[s].window.first == 0) {
        if (mv_totals_find(&c->cli->arena, &c->trace[s], lives, &totals, err) != MV_OK)
            return err->code;
        bounds = totals.audit.peak;
    }
    c->bound[s][ALLOCATED] |= bounds.allocated;
    c->bound[s][RESERVED] |= bounds.reserved;
    return MV_OK;
}

/* Finds the time of the reserved memory, and how reliable the side's figures are. */
static bool find_reserved(diff_report *c, device_pair *pair, int s)
{
    bool is_peak = mv_at_is_peak(c->cli);
    mv_moment_query *ask = &pair->sides.reserved[s];
    mv_err err = {.offset = MV_NO_OFFSET};

    *ask = (mv_moment_query){.kind = is_peak ? MV_MOMENT_RESERVED_PEAK : MV_MOMENT_AFTER,
                             .event = pair->sides.moment[s].event};
    if (!mv_window_find_in(c->cli, c->name[s], &c->trace[s], pair->device[s], &ask->window))
        return false;
    return find_bounds(c, pair, s, &err) == MV_OK || mv_complain(c->name[s], &err) == MV_EXIT_DONE;
}

static bool find_side(diff_report *c, device_pair *pair, int s)
{
    mv_lives *lives;
    mv_err err = {.offset = MV_NO_OFFSET};

    if (pair->device[s] == MV_NO_DEVICE)
        return true;
    lives = mv_push_struct(&c->cli->arena, mv_lives);
    if (!lives)
        mv_fail(&err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    else
        mv_lives_find(&c->cli->arena, &c->trace[s], pair->device[s], lives, &err);
    if (err.code != MV_OK) {
        mv_complain(c->name[s], &err);
        return false;
    }
    pair->sides.lives[s] = lives;
    return mv_at_find_in(c->cli, c->name[s], &c->trace[s], lives, "peak", &pair->sides.moment[s]) &&
           find_reserved(c, pair, s);
}

static bool find_pair(diff_report *c, device_pair *pair)
{
    mv_err err = {.offset = MV_NO_OFFSET};

    if (!find_side(c, pair, 0) || !find_side(c, pair, 1))
        return false;
    if (mv_diff_find(&c->cli->arena, &c->code, &pair->sides, &pair->found, &err) != MV_OK) {
        mv_complain(NULL, &err);
        return false;
    }
    for (int s = 0; s < 2; s++) {
        c->level[s].allocated += pair->found.level[s].allocated;
        c->level[s].active += pair->found.level[s].active;
        c->level[s].requested += pair->found.level[s].requested;
        c->level[s].reserved += pair->found.level[s].reserved;
        c->reserved[s].reserved += pair->found.reserved[s].reserved;
        for (uint32_t i = 0; i < MV_RESERVED_PARTS; i++)
            c->reserved[s].part[i] += pair->found.reserved[s].part[i];
    }
    return true;
}

/* Two files that both contain no memory cannot be compared. */
static void find_missing(diff_report *c)
{
    for (int s = 0; s < 2; s++) {
        c->missing[s] = c->count == 0 ? 0 : MV_NO_DEVICE;
        for (uint32_t p = c->count; p-- > 0;)
            if (is_side_unknown(c, &c->pairs[p], s))
                c->missing[s] = c->pairs[p].device[1 - s];
    }
}

static bool read_both(diff_report *c)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    bool read = true;

    for (int s = 0; s < 2 && read; s++) {
        c->name[s] = c->cli->options.file[s];
        read = mv_input_read_file(c->cli, c->name[s], &c->trace[s]);
    }
    if (read &&
        mv_diff_code_find(&c->cli->arena, &c->trace[0], &c->trace[1], &c->code, &err) != MV_OK) {
        mv_complain(NULL, &err);
        return false;
    }
    return read;
}

int mv_cmd_diff(mv_cli *cli)
{
    diff_report c = {
        .cli = cli, .out = &cli->out, .limit = mv_rows_wanted(cli, TEXT_ROWS, 1, OTHER_LINES)};

    cli->options.at = cli->options.at ? cli->options.at : "peak";
    if (!read_both(&c) || !pair_devices(&c))
        return MV_EXIT_FAILED;
    for (uint32_t i = 0; i < c.count; i++)
        if (!find_pair(&c, &c.pairs[i]))
            return MV_EXIT_FAILED;
    find_missing(&c);
    c.delta = (int64_t)(c.level[1].allocated - c.level[0].allocated);
    return put_report(&c);
}
