/* memviz peak: who holds memory at the peak, or at another time. */

#include "analyze/advice/recording.h"
#include "analyze/advice/without_sites.h"
#include "analyze/code/labels.h"
#include "analyze/peak/site_layers.h"
#include "analyze/steps/low_points.h"
#include "base/text.h"
#include "cli/complain.h"
#include "cli/input/idle_devices.h"
#include "cli/input/input.h"
#include "cli/input/moment_option.h"
#include "cli/input/window.h"
#include "cli/report/by_group.h"
#include "cli/report/captured.h"
#include "cli/report/device_rest.h"
#include "cli/report/doubts.h"
#include "cli/report/prose.h"
#include "cli/report/rows.h"
#include "cli/report/stack_text.h"
#include "cli/report/tensor_list.h"
#include "parse/source/text_file.h"

/* Number of rows of the site table in text without --limit, and number of other lines. */
#define TEXT_ROWS   12
#define OTHER_LINES 11
#define SPLIT_ROWS  4
#define TENSOR_ROWS 6

#define LINE_TEXT 256 /* size of a frame's label */

typedef struct {
    uint32_t device;
    uint64_t least; /* lower bound of the peak, from the allocator's counters; 0: none */
    bool has_peak;  /* false: the file contains only a single time */
    bool is_held;   /* the report is about the time when the file was written */
    mv_doubts doubts;
    mv_attribution found;
    mv_peak_target target;
    mv_reserved_falls falls; /* how the first sites affect the reserved peak */
    mv_low_held held;        /* for --at low: what is held at every low point, as in the report of
                              * leaks */
    mv_grouped grouped;      /* the groups that --by requests */
    mv_layers layers;
    mv_site_layers *split; /* [found.count] each site's memory by layer */
    mv_site_tensors tensors;
    mv_device_rest rest;
} device_peak;

typedef struct {
    mv_cli *cli;
    mv_out *out;
    const mv_trace *trace;
    const uint8_t *kinds; /* kinds of the trace's frames */
    mv_rules rules;
    uint32_t first, end; /* range of the reported devices */
    uint32_t count;
    device_peak *devices; /* [count] */
    uint64_t limit;
    bool is_grouped;
} peak_report;

static bool is_idle(const peak_report *r, const device_peak *d)
{
    return mv_trace_events(r->trace, d->device).count == 0 && d->found.at.bytes.reserved == 0;
}

/* Returns the device that the top-level answer is about, which is the one that holds the most. */
static const device_peak *fullest(const peak_report *r)
{
    const device_peak *most = &r->devices[0];

    for (uint32_t i = 1; i < r->count; i++)
        if (r->devices[i].found.at.bytes.allocated > most->found.at.bytes.allocated)
            most = &r->devices[i];
    return most;
}

/* Finds labels for the first `count` sites. Sites are also distinguished by their category. */
static const char **labels_of(const peak_report *r, const mv_attribution *found, uint32_t count)
{
    mv_labelled *rows = mv_push_array(&r->cli->scratch, mv_labelled, count);

    for (uint32_t i = 0; rows && i < count; i++)
        rows[i] = (mv_labelled){.trace = r->trace,
                                .kinds = r->kinds,
                                .stack = found->sites[i].stack,
                                .key = found->sites[i].category,
                                .bytes = found->sites[i].bytes};
    return mv_labels_operators(&r->cli->scratch, r->trace,
                               rows ? mv_labels_find(&r->cli->scratch, rows, count, true) : NULL,
                               found->sites, count, sizeof *found->sites,
                               offsetof(mv_peak_site, tag));
}

/* Returns how many sites the table shows. */
static uint32_t shown_of(const peak_report *r, const mv_attribution *found)
{
    return found->count < r->limit ? found->count : (uint32_t)r->limit;
}

/* ---- fields ------------------------------------------------------------------------------ */

/* Lists the layers of a site. Each row repeats the site's label, so that the table is complete
 * without the other tables. */
typedef struct {
    const mv_site_layers *split;
    const mv_layer_loop *loop;
    mv_value label;
} labelled_split;

#define LAYER_FIELDS(COLUMN, MEMBER, LIST) \
    MEMBER("bytes", layer->bytes)          \
    MEMBER("blocks", layer->blocks)        \
    MEMBER("index", layer->index + 1)      \
    MEMBER("name", name)                   \
    MEMBER("site", mv_value_itself(site->label))

static void list_layers(mv_rows *rows)
{
    const labelled_split *site = mv_rows_one(rows);
    const peak_report *r = mv_rows_all(rows);

    for (uint32_t i = 0; i < site->split->count; i++) {
        const mv_site_layer *layer = &site->split->layers[i];
        mv_value name = site->loop->name ? mv_value_string(r->trace, site->loop->name[layer->index])
                                         : mv_value_of(MV_VALUE_NULL);
        MV_ROWS_ADD(rows, LAYER_FIELDS);
    }
}

static const mv_table layer_table = {MV_TABLE(LAYER_FIELDS, list_layers)};

#define SITE_FIELDS(COLUMN, MEMBER, LIST)                                                       \
    COLUMN("bytes", "bytes", 1, MV_UNIT_BYTES, 9, site->bytes)                                  \
    COLUMN("blocks", "blocks", 3, MV_UNIT_COUNT | MV_UNIT_SPARE, 0, site->blocks)               \
    COLUMN("share", "share", 2, MV_UNIT_COUNT | MV_UNIT_SPARE, 5,                               \
           mv_value_share(site->bytes, whole))                                                  \
    COLUMN("category", "category", 6, MV_UNIT_TEXT, 10, found->categories.name[site->category]) \
    MEMBER("annotation", mv_value_string(r->trace, site->annotation))                           \
    MEMBER("op", mv_value_known(r->trace, r->trace->tags.op[site->tag.row]))                    \
    MEMBER("shapes", mv_value_known(r->trace, r->trace->tags.shapes[site->tag.row]))            \
    COLUMN("marginal_bytes", "marginal", 4, MV_UNIT_BYTES | MV_UNIT_SPARE, 9, site->marginal)   \
    COLUMN("marginal_reserved_bytes", "of reserved", 5, MV_UNIT_BYTES | MV_UNIT_SPARE, 9,       \
           mv_value_if(i < d->falls.count, mv_value_i64(fall)))                                 \
    MEMBER("culprit", mv_value_culprit(r->trace, r->kinds, site->stack))                        \
    COLUMN("label", "by", 7, MV_UNIT_TEXT, 0,                                                   \
           mv_value_label(labels, i, r->trace, r->kinds, site->stack))                          \
    MEMBER("frames", mv_value_frames(r->trace, site->stack))                                    \
    MEMBER("loop.line", loop ? mv_value_text(line) : mv_value_of(MV_VALUE_NULL_OBJECT))         \
    MEMBER("loop.calls", loop ? loop->count : 0)                                                \
    LIST("layers", &layer_table, mv_value_rows(&split))                                         \
    LIST("tensors", &mv_tensor_table, mv_value_rows(&tensors))

/* Lists the tensors of a site. The position after the last site stands for blocks without a
 * stack. */
static mv_tensor_list tensors_of(const peak_report *r, const device_peak *d, uint32_t site)
{
    const uint32_t *first = d->tensors.first;

    if (!first)
        return (mv_tensor_list){.trace = r->trace};
    return (mv_tensor_list){r->trace, d->tensors.rows + first[site], first[site + 1] - first[site],
                            UINT64_MAX};
}

/* Returns the loop that contains a site, together with the label of the loop's line; NULL: none. */
static const mv_layer_loop *loop_of(const peak_report *r, const device_peak *d, uint32_t site,
                                    char line[LINE_TEXT])
{
    uint32_t row = d->split[site].loop;

    if (row == MV_NO_ROW)
        return NULL;
    mv_frame_label(r->trace, d->layers.loops[row].line, line, LINE_TEXT);
    return &d->layers.loops[row];
}

static void list_sites(mv_rows *rows)
{
    const peak_report *r = mv_rows_all(rows);
    const device_peak *d = mv_rows_one(rows);
    const mv_attribution *found = &d->found;
    const char **labels = labels_of(r, found, shown_of(r, found));
    uint64_t whole = found->at.bytes.allocated;
    uint32_t count = mv_rows_take(rows, found->count, r->limit);
    char line[LINE_TEXT];

    if (!d->has_peak)
        mv_rows_head(rows, "marginal_bytes", NULL);
    if (d->falls.count == 0)
        mv_rows_head(rows, "marginal_reserved_bytes", NULL);
    for (uint32_t i = 0; i < count; i++) {
        const mv_peak_site *site = &found->sites[i];
        int64_t fall = i < d->falls.count ? d->falls.fall[i] : 0;
        const mv_layer_loop *loop = loop_of(r, d, i, line);
        labelled_split split = {&d->split[i], loop,
                                mv_value_label(labels, i, r->trace, r->kinds, site->stack)};
        mv_tensor_list tensors = tensors_of(r, d, i);
        MV_ROWS_ADD(rows, SITE_FIELDS);
    }
    if (!mv_rows_are_text(rows) || found->unattributed == 0)
        return;
    mv_rows_add_some(rows, 4,
                     (mv_named_value[]){{"bytes", mv_value_u64(found->unattributed)},
                                        {"blocks", mv_value_u64(found->unattributed_blocks)},
                                        {"share", mv_value_share(found->unattributed, whole)},
                                        {"label", mv_value_text("(no stack)")}});
}

static const mv_table site_table = {MV_TABLE(SITE_FIELDS, list_sites)};

/* Cells that describe a site split by layer. `calls` is "8", or "1 of 4" for one of the four calls
 * in a pass. `blocks` is "6 to 8". `each` is "40.0 MiB", "2.00 MiB to 40.0 MiB" or "5.00 MiB, call
 * 2 27.0 MiB". */
typedef struct {
    char calls[48], blocks[48], each[2 * MV_SIZE_TEXT + 32];
} layer_texts;

static void format_bytes(const mv_site_layers *split, char *out, size_t size)
{
    char least[MV_SIZE_TEXT], most[MV_SIZE_TEXT], odd[MV_SIZE_TEXT];
    const mv_site_layer *layers = split->layers;

    mv_size_text(least, split->least);
    mv_size_text(most, split->most);
    if (strcmp(least, most) == 0)
        snprintf(out, size, "%s", least);
    else if (split->odd != MV_NO_ROW)
        snprintf(out, size, "%s, call %u %s",
                 mv_size_text(least, layers[split->odd == 0 ? 1 : 0].bytes),
                 layers[split->odd].index + 1, mv_size_text(odd, layers[split->odd].bytes));
    else
        snprintf(out, size, "%s to %s", least, most);
}

static void format_layers(const mv_site_layers *split, uint32_t calls, layer_texts *out)
{
    int length = snprintf(out->calls, sizeof out->calls, "%u", split->count);

    if (split->count < calls)
        snprintf(out->calls + length, sizeof out->calls - (size_t)length, " of %u", calls);
    length = snprintf(out->blocks, sizeof out->blocks, "%u", split->fewest_blocks);
    if (split->most_blocks > split->fewest_blocks)
        snprintf(out->blocks + length, sizeof out->blocks - (size_t)length, " to %u",
                 split->most_blocks);
    format_bytes(split, out->each, sizeof out->each);
}

/* Only for text, because JSON contains these in each site. */
#define SPLIT_FIELDS(COLUMN, MEMBER, LIST)                                \
    COLUMN(NULL, "calls", 1, MV_UNIT_COUNT, 0, texts.calls)               \
    COLUMN(NULL, "blocks each", 2, MV_UNIT_COUNT, 0, texts.blocks)        \
    COLUMN(NULL, "bytes each", 3, MV_UNIT_COUNT, 0, texts.each)           \
    COLUMN(NULL, "called from", 4, MV_UNIT_TEXT | MV_UNIT_SPARE, 0, line) \
    COLUMN(NULL, "by", 5, MV_UNIT_TEXT, 0,                                \
           mv_value_label(labels, i, r->trace, r->kinds, site->stack))

/* Returns how many of the shown sites are split by layer. These are the largest ones, unless all
 * are shown. */
static uint32_t split_rows(const peak_report *r, const device_peak *d)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < d->found.count && i < r->limit; i++)
        count += d->split[i].loop != MV_NO_ROW;
    return count > SPLIT_ROWS && r->limit < d->found.count ? SPLIT_ROWS : count;
}

static void list_splits(mv_rows *rows)
{
    const peak_report *r = mv_rows_all(rows);
    const device_peak *d = mv_rows_one(rows);
    const char **labels = labels_of(r, &d->found, shown_of(r, &d->found));
    uint32_t count = d->found.count < r->limit ? d->found.count : (uint32_t)r->limit;
    uint32_t left = split_rows(r, d);
    char line[LINE_TEXT];

    for (uint32_t i = 0; i < count && left > 0; i++) {
        const mv_peak_site *site = &d->found.sites[i];
        const mv_layer_loop *loop = loop_of(r, d, i, line);
        layer_texts texts;
        if (!loop)
            continue;
        left--;
        format_layers(&d->split[i], loop->count, &texts);
        MV_ROWS_ADD(rows, SPLIT_FIELDS);
    }
}

static const mv_table split_table = {MV_TABLE(SPLIT_FIELDS, list_splits)};

#define RANGE_FIELDS(COLUMN, MEMBER, LIST)                             \
    COLUMN("annotation", "allocated within", 3, MV_UNIT_TEXT, 0, name) \
    COLUMN("bytes", "bytes", 1, MV_UNIT_BYTES, 9, range->bytes)        \
    COLUMN(NULL, "share", 2, MV_UNIT_COUNT, 5, mv_value_share(range->bytes, whole))

static void list_ranges(mv_rows *rows)
{
    const peak_report *r = mv_rows_all(rows);
    const mv_attribution *found = mv_rows_one(rows);
    uint64_t whole = found->at.bytes.allocated;
    bool is_text = mv_rows_are_text(rows);
    bool says_nothing = found->range_count == 1 && found->ranges[0].name.row == MV_NO_ROW;
    uint64_t limit = is_text ? r->limit : UINT64_MAX;
    uint32_t count = is_text && says_nothing ? 0 : mv_rows_take(rows, found->range_count, limit);

    for (uint32_t i = 0; i < count; i++) {
        const mv_peak_range *range = &found->ranges[i];
        mv_value name = mv_value_string(r->trace, range->name);
        if (range->name.row == MV_NO_ROW)
            name.shown = "(outside of annotations)";
        MV_ROWS_ADD(rows, RANGE_FIELDS);
    }
}

static const mv_table range_table = {MV_TABLE(RANGE_FIELDS, list_ranges)};

#define CATEGORY_FIELDS(COLUMN, MEMBER, LIST)     \
    MEMBER("category", found->categories.name[i]) \
    MEMBER("bytes", found->category_bytes[i])

static void list_categories(mv_rows *rows)
{
    const mv_attribution *found = mv_rows_one(rows);

    for (uint32_t i = 0; i < found->categories.count; i++)
        if (found->category_bytes[i] > 0)
            MV_ROWS_ADD(rows, CATEGORY_FIELDS);
}

static const mv_table category_table = {MV_TABLE(CATEGORY_FIELDS, list_categories),
                                        .shape = MV_SHAPE_MAP};

#define TARGET_SITE_FIELDS(COLUMN, MEMBER, LIST)                         \
    MEMBER("fall", d->target.fall[i])                                    \
    MEMBER("category", d->found.categories.name[part->category])         \
    MEMBER("culprit", mv_value_culprit(r->trace, r->kinds, part->stack)) \
    MEMBER("frames", mv_value_frames(r->trace, part->stack))

MV_LIST_ROWS_OF(list_target_sites, peak_report, r, device_peak, d, d->target.count,
                const mv_peak_part *part = &d->found.parts[d->target.part[i]], TARGET_SITE_FIELDS)

static const mv_table target_site_table = {MV_TABLE(TARGET_SITE_FIELDS, list_target_sites)};

/* The report for the top-level device, and for each device. */
#define MOMENT_FIELDS(COLUMN, MEMBER, LIST)                 \
    MV_AT_FIELDS(MEMBER, "at.", &found->at)                 \
    MEMBER("peak.event", mv_value_event(found->peak_event)) \
    MEMBER("peak.allocated", found->peak)                   \
    LIST("sites", &site_table, mv_value_rows(d))

/* A null `reaches` means that the recording does not show whether the target is reached. */
#define TARGET_FIELDS(COLUMN, MEMBER, LIST)                                              \
    MEMBER("target.bytes",                                                               \
           has_target ? mv_value_u64(d->target.bytes) : mv_value_of(MV_VALUE_NO_OBJECT)) \
    MEMBER("target.reaches",                                                             \
           mv_value_or_null(d->target.is_known, mv_value_bool(d->target.reaches)))       \
    MEMBER("target.known", mv_value_bool(d->target.bound == MV_BOUND_EXACT))             \
    MEMBER("target.least", d->target.is_least)                                           \
    MEMBER("target.peak", d->target.peak)                                                \
    LIST("target.sites", &target_site_table, mv_value_rows(d))

#define HELD_FIELDS(MEMBER) \
    MEMBER("held_bytes", mv_value_if(d->held.points, mv_value_u64(d->held.bytes)))

#define DEVICE_FIELDS(COLUMN, MEMBER, LIST)                                        \
    MEMBER("device", d->device)                                                    \
    MV_DOUBT_FIELDS(MEMBER, &d->doubts)                                            \
    MEMBER("peak_of_allocator", mv_value_if(d->least > 0, mv_value_u64(d->least))) \
    MV_REST_FIELDS(MEMBER, r->cli, &d->rest)                                       \
    HELD_FIELDS(MEMBER)                                                            \
    MOMENT_FIELDS(COLUMN, MEMBER, LIST)                                            \
    LIST("annotations", &range_table, mv_value_rows(found))                        \
    TARGET_FIELDS(COLUMN, MEMBER, LIST)                                            \
    LIST("categories", &category_table, mv_value_rows(found))                      \
    MEMBER("unattributed", found->unattributed)                                    \
    LIST("unattributed_tensors", &mv_tensor_table, mv_value_rows(&tensors))

static void list_devices(mv_rows *rows)
{
    const peak_report *r = mv_rows_all(rows);
    bool has_target = mv_option_given(&r->cli->options, MV_HAS(TARGET));

    for (uint32_t i = 0; i < r->count; i++) {
        const device_peak *d = &r->devices[i];
        const mv_attribution *found = &d->found;
        mv_tensor_list tensors = tensors_of(r, d, found->count);
        MV_ROWS_ADD(rows, DEVICE_FIELDS);
    }
}

static const mv_table device_table = {MV_TABLE(DEVICE_FIELDS, list_devices)};

#define REPORT_FIELDS(COLUMN, MEMBER, LIST)                                                     \
    MV_WITH_FIELDS(MEMBER, r->cli)                                                              \
    MEMBER("device", d->device)                                                                 \
    HELD_FIELDS(MEMBER)                                                                         \
    MOMENT_FIELDS(COLUMN, MEMBER, LIST)                                                         \
    LIST("categories", &category_table, mv_value_rows(found))                                   \
    MEMBER("unattributed", found->unattributed)                                                 \
    LIST("unattributed_tensors", &mv_tensor_table, mv_value_rows(&tensors))                     \
    LIST("annotations", &range_table, mv_value_rows(found))                                     \
    TARGET_FIELDS(COLUMN, MEMBER, LIST)                                                         \
    MEMBER("by",                                                                                \
           mv_value_if(r->is_grouped, mv_value_text(mv_group_by_name(d->grouped.grouping.by)))) \
    LIST("groups", &mv_group_table, mv_value_if(r->is_grouped, mv_value_rows(&d->grouped)))     \
    LIST("devices", &device_table, mv_value_rows(NULL))

static void list_report(mv_rows *rows)
{
    const peak_report *r = mv_rows_all(rows);
    const device_peak none = {0}, *d = r->count ? fullest(r) : &none;
    const mv_attribution *found = &d->found;
    bool has_target = mv_option_given(&r->cli->options, MV_HAS(TARGET));
    mv_tensor_list tensors = tensors_of(r, d, found->count);

    MV_ROWS_ADD(rows, REPORT_FIELDS);
}

const mv_table mv_report_peak = {MV_TABLE(REPORT_FIELDS, list_report), .main = "devices.sites"};

/* ---- text -------------------------------------------------------------------------------- */

/* Returns the text that distinguishes the largest site from all others, including those not in the
 * table: its label, and also its category if another site has the same label. The percentage refers
 * to the site, not to everything on its line. */
static const char *largest_label(const peak_report *r, const mv_attribution *found)
{
    const char **labels = labels_of(r, found, found->count);
    const char *first = labels ? labels[0] : "";

    for (uint32_t i = 1; labels && i < found->count; i++)
        if (strcmp(labels[i], first) == 0) {
            const char *both = mv_arena_printf(&r->cli->scratch, "%s, %s", first,
                                               found->categories.name[found->sites[0].category]);
            return both ? both : first;
        }
    return first;
}

static void put_verdict(const peak_report *r, const device_peak *d)
{
    const mv_attribution *found = &d->found;
    const char *at = r->cli->options.at ? r->cli->options.at : "peak";
    bool is_peak = d->has_peak && strcmp(at, "peak") == 0;
    const char *moment = d->is_held ? " held when the file was written"
                         : is_peak && d->least > found->peak
                             ? " allocated at the highest point of the events"
                         : is_peak ? " allocated at the peak"
                                   : " allocated";
    char size[MV_SIZE_TEXT], share[MV_SIZE_TEXT], place[MV_PLACE_TEXT];
    bool has_largest = found->count > 0 && found->sites[0].bytes >= found->unattributed;
    uint32_t column;

    mv_out_style(r->out, MV_STYLE_BOLD);
    column = mv_prose_part(r->out, 0, 2, "%s: %s%s%s", mv_level_place(r->trace, d->device, place),
                           mv_size_text(size, found->at.bytes.allocated), moment,
                           has_largest || found->unattributed > 0 ? ";" : "");
    mv_out_style(r->out, MV_STYLE_NONE);
    if (has_largest) {
        column =
            mv_prose_part(r->out, column, 2, " %s by",
                          mv_percent_text(share, found->sites[0].bytes, found->at.bytes.allocated));
        mv_out_style(r->out, MV_STYLE_BOLD);
        mv_prose_put_name(r->out, column, 2, largest_label(r, found));
        mv_out_style(r->out, MV_STYLE_NONE);
    } else if (found->unattributed > 0) {
        mv_prose_put(r->out, column, 2, " %s without a stack",
                     mv_percent_text(share, found->unattributed, found->at.bytes.allocated));
    } else {
        mv_out_char(r->out, '\n');
    }
}

static void put_levels(const peak_report *r, const device_peak *d)
{
    const mv_attribution *found = &d->found;
    const mv_levels *l = &found->at.bytes;
    char requested[MV_SIZE_TEXT], active[MV_SIZE_TEXT], reserved[MV_SIZE_TEXT];
    char at[MV_AT_TEXT], peak[MV_SIZE_TEXT], lower[64] = "", held[48] = "", low[MV_LOW_TEXT];

    if (d->has_peak && found->peak != l->allocated)
        snprintf(lower, sizeof lower, "; the peak is %s", mv_size_text(peak, found->peak));
    if (!mv_trace_is_missing_reserved(r->trace)) /* otherwise, it is unknown */
        snprintf(held, sizeof held, ", %s reserved", mv_size_text(reserved, l->reserved));
    mv_prose_put_item(r->out, "%s: %s requested, %s active%s%s",
                      d->is_held ? "then" : mv_at_text(at, r->trace, &found->at),
                      mv_size_text(requested, l->requested), mv_size_text(active, l->active), held,
                      lower);
    if (*mv_low_held_text(r->trace, r->kinds, &d->held, low))
        mv_prose_put_item(r->out, "%s", low);
}

/* Finds the categories in use, those with the most bytes first. Returns how many there are. */
static uint32_t sort_categories(const mv_attribution *found, uint32_t *order)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < found->categories.count; i++) {
        uint32_t at = count;
        if (found->category_bytes[i] == 0)
            continue;
        for (; at > 0 && found->category_bytes[order[at - 1]] < found->category_bytes[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
        count++;
    }
    return count;
}

static void put_categories(const peak_report *r, const mv_attribution *found)
{
    uint32_t *order = mv_push_array(&r->cli->scratch, uint32_t, found->categories.count);
    uint32_t count = order ? sort_categories(found, order) : 0;
    char size[MV_SIZE_TEXT], share[MV_SIZE_TEXT], text[1024] = "";

    for (uint32_t i = 0; i < count; i++) {
        uint64_t bytes = found->category_bytes[order[i]];
        mv_prose_add(text, sizeof text, "%s%s %s (%s)", i ? ", " : "",
                     found->categories.name[order[i]], mv_size_text(size, bytes),
                     mv_percent_text(share, bytes, found->at.bytes.allocated));
    }
    if (count == 0)
        return;
    mv_out_text(r->out, "  ");
    mv_prose_put(r->out, 2, 2, "%s", text);
}

static void put_stacks(const peak_report *r, const mv_attribution *found)
{
    char size[MV_SIZE_TEXT], label[64];

    for (uint32_t i = 0; i < found->count && i < r->limit; i++) {
        const mv_peak_site *site = &found->sites[i];
        mv_out_format(r->out, "\n  %s ", mv_size_text(size, site->bytes));
        mv_out_clean_text(r->out, found->categories.name[site->category]);
        if (site->stack.row == MV_EMPTY_STACK.row)
            mv_out_format(r->out, "  %s",
                          mv_culprit_label(r->trace, r->kinds, site->stack, label, sizeof label));
        mv_out_char(r->out, '\n');
        mv_stack_put(r->out, r->trace, r->kinds, site->stack, r->cli->options.all_frames, 6);
    }
}

static void put_target(const peak_report *r, const device_peak *d)
{
    const mv_peak_target *t = &d->target;
    char bytes[MV_SIZE_TEXT], text[160], label[512];

    mv_out_text(r->out, "\n  ");
    mv_prose_put(r->out, 2, 4, "%s", mv_peak_target_text(t, text, sizeof text));
    for (uint32_t i = 0; i < t->count && i < r->limit; i++) {
        const mv_peak_part *part = &d->found.parts[t->part[i]];
        mv_out_format(r->out, "  -%9s  ", mv_size_text(bytes, t->fall[i]));
        mv_prose_put(r->out, 14, 14, "%s  %s", d->found.categories.name[part->category],
                     mv_stack_label(r->trace, r->kinds, part->stack, label, sizeof label));
    }
    mv_rows_put_hidden(r->out, t->count, r->limit);
}

/* Names are more useful than more sites, but there may be thousands of them. */
static uint64_t tensor_rows(const peak_report *r)
{
    return mv_option_given(&r->cli->options, MV_HAS(LIMIT)) ? r->limit : TENSOR_ROWS;
}

static void put_device(const peak_report *r, const device_peak *d)
{
    if (is_idle(r, d)) {
        mv_captured_put_idle(r->out, r->trace, d->device);
        return;
    }
    put_verdict(r, d);
    put_levels(r, d);
    mv_doubts_put(r->cli, &d->doubts);
    put_categories(r, &d->found);
    mv_rest_put(r->cli, &d->rest);
    if (r->is_grouped) {
        mv_table_print(r->cli, &mv_group_table, r, &d->grouped, "\n");
    } else {
        mv_table_print(r->cli, &site_table, r, d, "\n");
        mv_table_print(r->cli, &split_table, r, d, "\n");
        mv_table_print(r->cli, &range_table, r, &d->found, "\n");
        mv_tensors_put(r->cli, r->trace, &d->found, &d->tensors, tensor_rows(r));
    }
    if (mv_option_given(&r->cli->options, MV_HAS(TARGET)))
        put_target(r, d);
    if (mv_option_given(&r->cli->options, MV_HAS(FRAMES)))
        put_stacks(r, &d->found);
}

/* ---- both -------------------------------------------------------------------------------- */

static bool load_rules(peak_report *r)
{
    const char *path = r->cli->options.rules;
    mv_err err = {.offset = MV_NO_OFFSET};
    char why[200];
    mv_span text;

    if (!path)
        return true;
    if (mv_text_file_read(&r->cli->arena, path, &text, &err) != MV_OK) {
        mv_complain(path, &err);
        return false;
    }
    if (!mv_rules_read(&r->cli->arena, text, &r->rules, why, sizeof why)) {
        mv_complain_of(path, "%s", why);
        return false;
    }
    return true;
}

static mv_code evaluate_gates(peak_report *r, const mv_lives *lives, mv_window window,
                              mv_totals *totals, uint64_t peak, mv_err *err)
{
    mv_moment_query ask = {.kind = MV_MOMENT_RESERVED_PEAK, .window = window};
    mv_moment reserved;

    if (mv_moment_find(&r->cli->arena, lives, ask, &reserved, err) != MV_OK)
        return err->code;
    if (window.end - window.first < lives->events.count) {
        totals->peak.bytes.allocated = peak;
        totals->peak.bytes.reserved = reserved.bytes.reserved;
    }
    if (window.first > 0)
        totals->audit.peak = mv_bounds_within(lives);
    mv_gate_evaluate_totals(&r->cli->gates, r->trace, totals);
    return MV_OK;
}

/* Answers the options that need the exact peak: --target and --fail-on. */
static mv_code find_answers(peak_report *r, const mv_lives *lives, mv_window window, device_peak *d,
                            mv_err *err)
{
    const mv_options *o = &r->cli->options;
    mv_peak_aim aim = {.bytes = o->target};
    mv_totals totals;

    if (!mv_option_given(o, MV_HAS(TARGET) | MV_HAS(FAIL_ON)))
        return MV_OK;
    if (mv_totals_find(&r->cli->arena, r->trace, lives, &totals, err) != MV_OK)
        return err->code;
    aim.bound = window.first > 0 ? mv_bounds_within(lives).allocated : totals.audit.peak.allocated;
    if (mv_option_given(o, MV_HAS(TARGET)) &&
        mv_peak_reach(&r->cli->arena, &d->found, aim, &d->target, err) != MV_OK)
        return err->code;
    if (mv_option_given(o, MV_HAS(FAIL_ON)))
        return evaluate_gates(r, lives, window, &totals, d->found.peak, err);
    return MV_OK;
}

static bool find_device(peak_report *r, uint32_t device, device_peak *d)
{
    mv_cli *cli = r->cli;
    mv_peak_opts opts = {.kinds = r->kinds, .rules = &r->rules};
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_doubted about;
    mv_moment at;
    mv_leaks leaks;
    mv_lives lives;

    if (mv_input_lives(cli, &cli->arena, r->trace, device, &lives, &err) != MV_OK) {
        mv_complain(mv_input_name(cli), &err);
        return false;
    }
    *d = (device_peak){.device = device, .has_peak = !mv_recording_is_state_only(&lives)};
    if (!mv_window_find(cli, r->trace, device, &opts.window) ||
        !mv_at_find(cli, r->trace, &lives, d->has_peak ? "peak" : "end", &at))
        return false;
    d->least = mv_fact_of_device(r->trace, MV_FACT_PEAK, device);
    d->is_held = !d->has_peak && at.event + 1 == lives.events.count; /* MV_BEFORE + 1 is 0 */
    about = opts.window.first > 0 ? MV_DOUBTED_MOMENT : MV_DOUBTED_PEAK;
    if (mv_doubts_find(cli, &lives, about, &d->doubts, &err) == MV_OK)
        mv_peak_attribute(&cli->arena, r->trace, &lives, at, opts, &d->found, &err);
    if (err.code == MV_OK)
        mv_site_tensors_find(&cli->arena, &lives, &d->found, &d->tensors, &err);
    if (err.code == MV_OK &&
        !mv_peak_doubts_add_known(&cli->arena, r->trace, device, d->found.peak, &d->doubts.words))
        mv_fail(&err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    if (err.code == MV_OK && mv_layers_find(&cli->arena, r->trace, &lives, &d->found.categories,
                                            &d->layers, &err) == MV_OK) {
        d->split = mv_site_layers_find(&cli->arena, &lives, &d->layers, &d->found);
        if (!d->split)
            mv_fail(&err, MV_NOMEM, MV_NO_OFFSET, "layers");
    }
    if (err.code == MV_OK)
        mv_rest_find(cli, device, at.time_us, at.bytes.reserved, &d->rest, &err);
    if (err.code == MV_OK && r->is_grouped)
        mv_by_find(cli, r->trace, &lives, r->kinds, at.event, r->limit, &d->grouped, &err);
    if (err.code == MV_OK)
        find_answers(r, &lives, opts.window, d, &err);
    if (err.code == MV_OK && cli->options.at && strncmp(cli->options.at, "low", 3) == 0 &&
        mv_leaks_find(&cli->arena, r->trace, &lives, &leaks, &err) == MV_OK)
        mv_low_held_find(&cli->arena, r->trace, &lives, &leaks.floor.all, leaks.floor.steps,
                         &d->held, &err);
    if (err.code == MV_OK && d->has_peak && opts.window.first == 0 &&
        opts.window.end >= lives.events.count && at.event == d->found.peak_event)
        mv_without_sites(&cli->arena, r->trace, &lives, &d->found, TEXT_ROWS, &d->falls, &err);
    if (err.code != MV_OK)
        mv_complain(mv_input_name(cli), &err);
    return err.code == MV_OK;
}

/* The screen shows fewer sites if layers are shown, too. */
static void leave_room(peak_report *r)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < r->count && !r->is_grouped; i++) {
        uint32_t rows = split_rows(r, &r->devices[i]);
        most = rows > most ? rows : most;
    }
    if (most > 0)
        r->limit = mv_rows_wanted(r->cli, TEXT_ROWS, 1, OTHER_LINES + most + 2);
}

static void put_text_report(peak_report *r)
{
    bool follows = false;

    leave_room(r);
    for (uint32_t i = 0; i < r->count; i++) {
        if (!mv_device_is_reported(r->trace, r->first, r->end, r->devices[i].device))
            continue;
        if (follows)
            mv_out_char(r->out, '\n');
        put_device(r, &r->devices[i]);
        follows = true;
    }
    mv_idle_put_others(r->out, r->trace, r->first, r->end, follows);
}

static int put_report(peak_report *r)
{
    int status = MV_EXIT_DONE;

    if (mv_table_is_wanted(r->cli))
        status = mv_table_put(r->cli, r);
    else
        put_text_report(r);
    mv_gate_evaluate_idle(&r->cli->gates, r->trace, r->first, r->end);
    return mv_gate_status(&r->cli->gates, status);
}

int mv_cmd_peak(mv_cli *cli)
{
    mv_trace trace;
    peak_report r = {.cli = cli,
                     .out = &cli->out,
                     .trace = &trace,
                     .limit = mv_rows_wanted(cli, TEXT_ROWS, 1, OTHER_LINES)};

    r.is_grouped = mv_option_given(&cli->options, MV_HAS(BY));
    if (!load_rules(&r))
        return MV_EXIT_FAILED;
    cli->columns = MV_EVENT_action | MV_EVENT_tag;
    cli->columns_if_few = ~0u; /* they are replayed (analyze/advice/without_sites.h) */
    if (!mv_input_read(cli, &trace) || !mv_input_devices(cli, &trace, &r.first, &r.end))
        return MV_EXIT_FAILED;
    r.kinds = mv_frame_kinds(&cli->arena, &trace);
    r.devices = mv_push_array(&cli->arena, device_peak, r.end - r.first);
    if (!r.kinds || !r.devices)
        return mv_complain_of(mv_input_name(cli), "%s", mv_code_text(MV_NOMEM));
    for (uint32_t i = r.first; i < r.end; i++)
        if (!mv_at_is_elsewhere(cli, &trace, i) && !find_device(&r, i, &r.devices[r.count++]))
            return MV_EXIT_FAILED;
    return put_report(&r);
}
