/* memviz memory: live bytes by stack, as a tree in text, or with -o as a flame graph. */

#include "analyze/flame/module_tree.h"
#include "analyze/ranks/summary.h"
#include "base/sort.h"
#include "cli/complain.h"
#include "cli/input/filter_option.h"
#include "cli/input/idle_devices.h"
#include "cli/input/input.h"
#include "cli/input/moment_option.h"
#include "cli/pictures/pictures.h"
#include "cli/report/by_group.h"
#include "cli/report/captured.h"
#include "cli/report/device_rest.h"
#include "cli/report/doubts.h"
#include "cli/report/prose.h"
#include "cli/report/rows.h"

enum {
    TEXT_ROWS = 30,
    OTHER_LINES = 8,
    SMALL = 100,      /* without --limit, text omits rows below 1% */
    MOST_INDENT = 12, /* rows deeper than this are not indented further */
    FIGURES = 28,     /* columns before the stack */
    LINE = 1024,
    ROW = LINE + 2 * MOST_INDENT
};

typedef struct {
    uint32_t device;
    mv_moment at;
    mv_flame_tree tree;
    mv_grouped grouped;  /* --by */
    mv_device_rest rest; /* memory of the device that is not in the tree */
    mv_doubts doubts;
} device_tree;

typedef struct {
    mv_cli *cli;
    mv_drawing drawing; /* the selection made by --filter, --top and --frames, as in flame graphs */
    uint32_t count;
    device_tree *devices; /* [count] */
    uint64_t limit;
    bool is_grouped; /* --by */
    bool by_module;  /* like `sites`, except that with --by module the tree consists of modules */
} tree_report;

static const char *group_name(const tree_report *r, const device_tree *d)
{
    return mv_group_by_name(r->by_module ? MV_BY_MODULE : d->grouped.grouping.by);
}

/* ---- rows -------------------------------------------------------------------------------- */

/* A node of the tree. In text, a row can be a chain of nodes, in which each node is the only child
 * of the one before and has all of its bytes. */
typedef struct {
    uint32_t first, last;
    uint32_t depth;
} tree_row;

static uint32_t chain_end(const mv_flame_tree *tree, uint32_t node)
{
    const mv_flame_node *n = tree->nodes;

    while (node && n[node].child && n[n[node].child].bytes == n[node].bytes)
        node = n[node].child;
    return node;
}

static bool is_of_torch(const tree_report *r, const mv_flame_node *node)
{
    return node->kind == MV_FLAME_FRAME && !r->cli->options.all_frames &&
           r->drawing.sites.kinds[node->frame.row] == MV_FRAME_FRAMEWORK;
}

/* Whether a chain consists only of torch's internal path between lines. All of its bytes then
 * belong to the lines below it, which are more useful. */
static bool is_passage(const tree_report *r, const mv_flame_tree *tree, uint32_t first,
                       uint32_t last)
{
    const mv_flame_node *n = tree->nodes;
    uint64_t below = 0;

    for (uint32_t i = first;; i = n[i].child) {
        if (!is_of_torch(r, &n[i]))
            return false;
        if (i == last)
            break;
    }
    for (uint32_t i = n[last].child; i; i = n[i].next)
        below += n[i].bytes;
    return below == n[last].bytes;
}

/* Builds the rows, with callers before callees. Returns NULL if memory runs out. In text, a chain
 * is a single row, and internal paths are omitted. */
static tree_row *rows_of(const tree_report *r, const mv_flame_tree *tree, bool is_text,
                         uint32_t *count)
{
    tree_row *rows = mv_push_array(&r->cli->scratch, tree_row, tree->count);
    uint32_t *depth = mv_push_array(&r->cli->scratch, uint32_t, tree->count);

    *count = 0;
    for (uint32_t node = 0; rows && depth;) {
        uint32_t last = is_text ? chain_end(tree, node) : node;
        bool is_row = !is_text || !is_passage(r, tree, node, last);
        if (is_row)
            rows[(*count)++] = (tree_row){node, last, depth[node]};
        depth[last] = depth[node] - !is_row;
        if (tree->nodes[last].child) {
            node = tree->nodes[last].child;
            depth[node] = depth[last] + 1;
            continue;
        }
        /* Continues to a node that has a sibling. The chain's first node inherits the sibling of
         * the whole chain. */
        for (node = last; node && !tree->nodes[node].next;)
            node = tree->nodes[node].parent;
        if (!node)
            break;
        depth[tree->nodes[node].next] = depth[node];
        node = tree->nodes[node].next;
    }
    return depth ? rows : NULL;
}

/* Returns the minimum number of bytes for a row to be shown: at most `limit` rows have that many.
 * In text without --limit, it is 1% of the total. */
static uint64_t least_bytes(const tree_report *r, const mv_flame_tree *tree, const tree_row *rows,
                            uint32_t count, bool is_text)
{
    bool cuts = is_text && !mv_option_given(&r->cli->options, MV_HAS(LIMIT));
    uint64_t least = cuts ? tree->nodes[0].bytes / SMALL : 0;
    uint64_t *bytes;

    if (count <= r->limit)
        return least;
    bytes = mv_push_array(&r->cli->scratch, uint64_t, count);
    for (uint32_t i = 0; bytes && i < count; i++)
        bytes[i] = tree->nodes[rows[i].first].bytes;
    if (bytes)
        mv_sort_rows(&r->cli->scratch, bytes, count, MV_FALLING_VALUES(uint64_t));
    return bytes && bytes[r->limit - 1] > least ? bytes[r->limit - 1] : least;
}

/* ---- fields ------------------------------------------------------------------------------ */

/* Describes a chain's lines in at most `room` characters. If the chain is long, only the first line
 * and the last two remain, or only the last one. Torch's own lines are omitted unless there are no
 * others. */
static void print_chain(const tree_report *r, const mv_flame_tree *tree, const tree_row *row,
                        uint32_t room, char *text, size_t size)
{
    const mv_flame_node *n = tree->nodes;
    const char *first = NULL, *before = NULL, *last = NULL;
    uint32_t count = 0;

    for (uint32_t i = row->first;; i = n[i].child) {
        if ((n[i].kind != MV_FLAME_ROOT && !is_of_torch(r, &n[i])) ||
            (count == 0 && i == row->last)) {
            before = last;
            last = n[i].label;
            first = first ? first : last;
            count++;
        }
        if (i == row->last)
            break;
    }
    snprintf(text, size, "%s%s%s%s%s%s", first, count > 3 ? " > .." : "", count > 2 ? " > " : "",
             count > 2 ? before : "", count > 1 ? " > " : "", count > 1 ? last : "");
    if (mv_prose_width(text) > room)
        snprintf(text, size, "%s", last);
}

/* Describes a row's lines, indented by two blanks for each level, or by less if the name would not
 * fit. */
static void print_row(const tree_report *r, const mv_flame_tree *tree, const tree_row *row,
                      char text[ROW])
{
    uint32_t indent = 2 * (row->depth < MOST_INDENT ? row->depth : MOST_INDENT), width;
    uint32_t room = mv_prose_room(&r->cli->out, FIGURES);
    char chain[LINE];

    print_chain(r, tree, row, room > indent ? room - indent : 0, chain, sizeof chain);
    width = mv_prose_width(chain);
    if (width + indent > room)
        indent = room > width ? room - width : 0;
    snprintf(text, ROW, "%*s%s", (int)indent, "", chain);
}

#define TREE_FIELDS(COLUMN, MEMBER, LIST)                                             \
    COLUMN("bytes", "bytes", 1, MV_UNIT_BYTES, 9, node->bytes)                        \
    COLUMN("share", "share", 2, MV_UNIT_COUNT, 5, mv_value_share(node->bytes, whole)) \
    COLUMN("blocks", "blocks", 3, MV_UNIT_COUNT | MV_UNIT_SPARE, 0, node->blocks)     \
    MEMBER("depth", at[i].depth)                                                      \
    COLUMN("frame", "by", 4, MV_UNIT_TEXT, 0, mv_value_shown(mv_value_text(node->label), text))

/* Keeps only the rows that are shown, and returns how many there are. */
static uint32_t choose(const tree_report *r, const mv_flame_tree *tree, tree_row *rows,
                       uint32_t *count, bool is_text)
{
    uint64_t depth = r->cli->options.depth, least;
    uint32_t all = 0, kept = 0;

    for (uint32_t i = 0; i < *count; i++)
        if (depth == 0 || rows[i].depth <= depth)
            rows[all++] = rows[i];
    least = least_bytes(r, tree, rows, all, is_text);
    for (uint32_t i = 0; i < all && kept < r->limit; i++)
        if (tree->nodes[rows[i].first].bytes >= least)
            rows[kept++] = rows[i];
    *count = kept;
    return all;
}

static void list_tree(mv_rows *rows)
{
    const tree_report *r = mv_rows_all(rows);
    const device_tree *d = mv_rows_one(rows);
    bool is_text = mv_rows_are_text(rows);
    uint64_t whole = d->tree.nodes[0].bytes;
    uint32_t count;
    tree_row *at = rows_of(r, &d->tree, is_text, &count);
    uint32_t of = at ? choose(r, &d->tree, at, &count, is_text) : 0;

    mv_rows_take(rows, of, at ? count : 0);
    for (uint32_t i = 0; at && i < count; i++) {
        const mv_flame_node *node = &d->tree.nodes[at[i].first];
        char text[ROW] = "";
        if (is_text)
            print_row(r, &d->tree, &at[i], text);
        MV_ROWS_ADD(rows, TREE_FIELDS);
    }
}

static const mv_table tree_table = {MV_TABLE(TREE_FIELDS, list_tree)};

#define DEVICE_FIELDS(COLUMN, MEMBER, LIST)                                                   \
    MEMBER("device", d->device)                                                               \
    MV_AT_FIELDS(MEMBER, "at.", &d->at)                                                       \
    MEMBER("bytes", d->tree.nodes[0].bytes)                                                   \
    MEMBER("unrecorded", d->tree.unrecorded)                                                  \
    MV_DOUBT_FIELDS(MEMBER, &d->doubts)                                                       \
    MV_REST_FIELDS(MEMBER, r->cli, &d->rest)                                                  \
    LIST("tree", &tree_table, mv_value_rows(d))                                               \
    MEMBER("by", mv_value_if(r->is_grouped || r->by_module, mv_value_text(group_name(r, d)))) \
    LIST("groups", &mv_group_table, mv_value_if(r->is_grouped, mv_value_rows(&d->grouped)))

MV_LIST_ROWS(list_devices, tree_report, r, r->count, const device_tree *d = &r->devices[i],
             DEVICE_FIELDS)

static const mv_table device_table = {MV_TABLE(DEVICE_FIELDS, list_devices)};

#define REPORT_FIELDS(COLUMN, MEMBER, LIST) LIST("devices", &device_table, mv_value_rows(NULL))

const mv_table mv_report_memory = {MV_TABLE(REPORT_FIELDS, mv_rows_list_lists),
                                   .main = "devices.tree"};

/* ---- text -------------------------------------------------------------------------------- */

static void put_device(const tree_report *r, const device_tree *d)
{
    char size[MV_SIZE_TEXT], at[MV_AT_TEXT], head[160], place[MV_PLACE_TEXT];

    if (d->tree.nodes[0].bytes == 0 && !mv_device_is_used(r->drawing.trace, d->device)) {
        mv_captured_put_idle(&r->cli->out, r->drawing.trace, d->device);
        return;
    }
    snprintf(head, sizeof head, "%s: %s %s", mv_level_place(r->drawing.trace, d->device, place),
             mv_size_text(size, d->tree.nodes[0].bytes),
             r->drawing.filter.count ? "match the filter" : "allocated");
    mv_out_styled(&r->cli->out, MV_STYLE_BOLD, head);
    mv_prose_put(&r->cli->out, (uint32_t)strlen(head), 2, " %s%s, by %s",
                 d->at.event == MV_BEFORE ? "" : "after ", mv_at_text(at, r->drawing.trace, &d->at),
                 r->is_grouped || r->by_module ? group_name(r, d) : "stack");
    if (r->by_module && r->drawing.trace->tensors.count == 0)
        mv_prose_put(&r->cli->out, 0, 2,
                     "  the file has no tensor names: memviz.record(\"run.pickle\", names=model) "
                     "writes them");
    mv_rest_put(r->cli, &d->rest);
    mv_doubts_put(r->cli, &d->doubts);
    if (r->is_grouped)
        mv_table_print(r->cli, &mv_group_table, r, &d->grouped, "\n");
    else
        mv_table_print(r->cli, &tree_table, r, d, "\n");
}

static void put_text_report(const tree_report *r)
{
    const mv_drawing *d = &r->drawing;
    bool follows = false;

    for (uint32_t i = 0; i < r->count; i++) {
        if (!mv_device_is_reported(d->trace, d->first, d->end, r->devices[i].device))
            continue;
        if (follows)
            mv_out_char(&r->cli->out, '\n');
        put_device(r, &r->devices[i]);
        follows = true;
    }
    mv_idle_put_others(&r->cli->out, d->trace, d->first, d->end, follows);
}

/* ---- both -------------------------------------------------------------------------------- */

static mv_doubted doubted(const mv_cli *cli, const mv_lives *lives, uint32_t event)
{
    const char *at = cli->options.at;

    if (at && (strcmp(at, "peak") == 0 || strcmp(at, "reserved-peak") == 0))
        return MV_DOUBTED_PEAK;
    return event + 1 == lives->events.count ? MV_DOUBTED_END : MV_DOUBTED_MOMENT;
}

static bool find_device(tree_report *r, uint32_t device, device_tree *out)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_cli *cli = r->cli;
    bool is_named = true;
    mv_lives lives;

    *out = (device_tree){.device = device};
    if (mv_lives_find(&cli->arena, r->drawing.trace, device, &lives, &err) == MV_OK) {
        is_named = mv_at_find(cli, r->drawing.trace, &lives, "end", &out->at);
        if (is_named)
            mv_drawing_tree(&r->drawing, &lives, out->at.event, &cli->arena, &out->tree, &err);
        if (is_named && err.code == MV_OK && r->by_module) {
            mv_arena *arena = &r->cli->arena;
            mv_categories categories;
            if (mv_categories_find(arena, r->drawing.trace, &lives, r->drawing.sites.kinds, NULL,
                                   &categories, &err) == MV_OK)
                mv_module_tree_find(arena, r->drawing.trace, &lives, &categories, out->at.event,
                                    &out->tree, &err);
        }
        if (is_named && err.code == MV_OK && r->is_grouped)
            mv_by_find(cli, r->drawing.trace, &lives, r->drawing.sites.kinds, out->at.event,
                       r->limit, &out->grouped, &err);
        if (is_named && err.code == MV_OK)
            mv_rest_find(cli, device, out->at.time_us, out->at.bytes.reserved, &out->rest, &err);
        if (is_named && err.code == MV_OK)
            mv_doubts_find(cli, &lives, doubted(cli, &lives, out->at.event), &out->doubts, &err);
        out->at.event = mv_event_number(r->drawing.trace, device, out->at.event);
    }
    if (err.code != MV_OK)
        mv_complain(mv_input_name(cli), &err);
    return is_named && err.code == MV_OK;
}

static int find_all(tree_report *r)
{
    mv_cli *cli = r->cli;
    mv_drawing *d = &r->drawing;

    if (!mv_filter_option_read(cli, &d->filter))
        return MV_EXIT_USAGE;
    if (!mv_input_read(cli, d->trace) || !mv_input_devices(cli, d->trace, &d->first, &d->end))
        return MV_EXIT_FAILED;
    r->devices = mv_push_array(&cli->arena, device_tree, d->end - d->first);
    if (!r->devices)
        return mv_complain_of(mv_input_name(cli), "%s", mv_code_text(MV_NOMEM));
    for (uint32_t i = d->first; i < d->end; i++)
        if (!mv_at_is_elsewhere(cli, d->trace, i) && !find_device(r, i, &r->devices[r->count++]))
            return MV_EXIT_FAILED;
    return MV_EXIT_DONE;
}

static int put_tree(mv_cli *cli)
{
    mv_trace trace;
    tree_report r = {
        .cli = cli,
        .drawing = {.cli = cli, .picture = &mv_pictures[MV_PICTURE_STACKS], .trace = &trace},
        .limit = mv_rows_wanted(cli, TEXT_ROWS, 1, OTHER_LINES)};
    int status;

    r.by_module = mv_option_given(&cli->options, MV_HAS(BY)) && mv_by_what(cli) == MV_BY_MODULE;
    r.is_grouped = mv_option_given(&cli->options, MV_HAS(BY)) && !r.by_module;
    if (mv_option_given(&cli->options, MV_HAS(BY)) && cli->options.filter)
        return mv_complain_usage(
            "memory", "--by groups all allocated bytes: it cannot be combined with --filter");
    status = find_all(&r);
    if (status == MV_EXIT_DONE && mv_table_is_wanted(cli))
        status = mv_table_put(cli, &r);
    else if (status == MV_EXIT_DONE)
        put_text_report(&r);
    return status;
}

int mv_cmd_memory(mv_cli *cli)
{
    const mv_options *o = &cli->options;
    mv_option_id odd = mv_option_given(o, MV_HAS(SIZE))          ? MV_OPTION_SIZE
                       : mv_option_given(o, MV_HAS(THEME))       ? MV_OPTION_THEME
                       : mv_option_given(o, MV_HAS(TITLE))       ? MV_OPTION_TITLE
                       : mv_option_given(o, MV_HAS(MOST_EVENTS)) ? MV_OPTION_MOST_EVENTS
                                                                 : MV_OPTION_COUNT;

    if (!o->output && odd != MV_OPTION_COUNT)
        return mv_complain_usage("memory", "--%s applies to pictures: name one with -o X.svg",
                                 mv_option_table[odd].name);
    if (o->output && (mv_option_given(o, MV_HAS(DEPTH) | MV_HAS(LIMIT) | MV_HAS(BY)) ||
                      (o->table && !mv_table_has(&mv_report_pictures, o->table))))
        return mv_complain_usage("memory", "--by, --depth, --limit and tables apply to text "
                                           "output: they cannot be combined with -o");
    return o->output ? mv_picture_run(cli, MV_PICTURE_STACKS, NULL) : put_tree(cli);
}
