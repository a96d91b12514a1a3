/* What the colours mean, with the bytes of each at the cursor. They are added up a part in each
 * frame, so that no frame waits. */
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "base/sort.h"
#include "view/timeline/plot.h"

enum { PART = 10000, GROUPS = 4096, ROW = 19, SWATCH = 11, LABEL = 256 };

static const uint64_t is_leak_key = 1ull << 40, no_stack_key = 1ull << 41, rest_key = 1ull << 42;

/* ---- groups ------------------------------------------------------------------------------- */

static bool is_by_line(const mv_plot *p)
{
    return p->view->now->colour == MV_COLOUR_SITE || p->view->now->colour == MV_COLOUR_STACK;
}

/* The row of a stream or pool is that of the segment, like its colour. */
static uint32_t segment_row(const mv_plot *p, uint32_t alloc)
{
    const mv_segment_lives *s = &p->device->lives.segments;
    uint32_t segment = p->device->lives.allocs.segment[alloc];

    if (segment >= s->count)
        return MV_NO_ROW;
    return p->view->now->colour == MV_COLOUR_STREAM ? s->stream[segment].row : s->pool[segment].row;
}

/* What the allocations of one row have in common. */
static uint64_t group_key(const mv_plot *p, uint32_t alloc)
{
    const mv_alloc_lives *a = &p->device->lives.allocs;
    bool is_judged = mv_view_is_judged(p->view);
    uint64_t leak = is_judged && p->device->leaks.is_leaked[alloc] ? is_leak_key : 0;

    switch (p->view->now->colour) {
    case MV_COLOUR_CATEGORY:
        return is_judged ? p->device->attribution.categories.of_alloc[alloc] : MV_CATEGORY_UNKNOWN;
    case MV_COLOUR_SIZE:
        return mv_size_step(a->block[alloc]);
    case MV_COLOUR_LIFETIME:
        return mv_life_step(a, alloc);
    case MV_COLOUR_STREAM:
    case MV_COLOUR_POOL:
        return segment_row(p, alloc);
    default:
        break;
    }
    if (a->stack[alloc].row >= p->trace->stacks.count)
        return no_stack_key | leak;
    return mv_culprit_frame(p->trace, p->document->sites.kinds, a->stack[alloc]).row | leak;
}

/* When the table is half full, all new groups share one row: no one reads that many. */
static mv_legend_group *group_of(mv_legend *l, uint64_t key)
{
    uint32_t at = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 40) % GROUPS;

    while (l->groups[at].blocks && l->groups[at].key != key)
        at = (at + 1) % GROUPS;
    if (l->groups[at].blocks == 0) {
        if (l->count >= GROUPS / 2 && key != rest_key)
            return group_of(l, rest_key);
        l->groups[at].key = key;
        l->count++;
    }
    return &l->groups[at];
}

static void count_alloc(const mv_plot *p, mv_legend *l, uint32_t alloc)
{
    const mv_index *x = &p->device->index;
    mv_legend_group *g = group_of(l, group_key(p, alloc));

    if (g->blocks == 0 || x->bytes[alloc] > x->bytes[g->alloc])
        g->alloc = alloc;
    g->bytes += x->bytes[alloc];
    g->blocks++;
    l->bytes += x->bytes[alloc];
}

static int most_bytes_first(const void *left, const void *right, const void *context)
{
    const mv_legend_group *a = left, *b = right;

    (void)context;
    if ((a->key & is_leak_key) != (b->key & is_leak_key) && a->blocks && b->blocks)
        return a->key & is_leak_key ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return a->key < b->key ? -1 : a->key > b->key;
}

/* Continues counting; a finished count is the one that is shown. */
static void count_part(mv_plot *p)
{
    mv_legend *l = &p->pane->counting;
    const mv_index *x = &p->device->index;
    uint32_t born = mv_index_born(x, l->event), left = PART;
    bool is_whole = !p->view->opts.is_threaded;
    mv_legend shown;

    for (l->next = mv_index_next(x, l->next, born, l->event);
         l->next < born && (is_whole || left > 0); left--) {
        if (mv_index_is_alive(x, l->next, l->event))
            count_alloc(p, l, l->next);
        l->next = mv_index_next(x, l->next + 1, born, l->event);
    }
    if (l->next < born) {
        p->ui->is_animating = true;
        return;
    }
    mv_sort_by(&p->pane->arena, l->groups, GROUPS, sizeof *l->groups, most_bytes_first, NULL);
    l->is_done = true;
    shown = p->pane->legend;
    p->pane->legend = *l;
    *l = shown;
    l->device = NULL;
}

static bool is_of(const mv_legend *l, const mv_plot *p, uint64_t colours, uint32_t event)
{
    return l->device == p->device && l->colours == colours && l->event == event;
}

static bool begin_count(mv_plot *p, uint64_t colours, uint32_t event)
{
    mv_legend *l = &p->pane->counting;
    mv_legend_group *groups = l->groups;

    if (!groups)
        groups = mv_push_array(&p->pane->arena, mv_legend_group, GROUPS);
    if (!groups)
        return false;
    memset(groups, 0, GROUPS * sizeof *groups);
    *l = (mv_legend){.device = p->device, .colours = colours, .event = event, .groups = groups};
    return true;
}

static void update(mv_plot *p, uint32_t event)
{
    mv_timeline_pane *pane = p->pane;
    uint64_t colours = mv_view_colour_key(p->view);

    if (pane->legend.is_done && is_of(&pane->legend, p, colours, event))
        return;
    if (is_of(&pane->counting, p, colours, event) || begin_count(p, colours, event))
        count_part(p);
}

/* ---- labels ------------------------------------------------------------------------------- */

const char *mv_plot_stream(mv_plot *p, mv_stream_id stream)
{
    const mv_streams *s = &p->trace->streams;

    if (stream.row >= s->count)
        return "stream not known";
    if (s->value[stream.row] == 0)
        return "default stream";
    return mv_scene_format(&p->ui->scene, "stream 0x%llx",
                           (unsigned long long)s->value[stream.row]);
}

const char *mv_plot_pool(mv_plot *p, mv_pool_id pool)
{
    const mv_pools *pools = &p->trace->pools;

    if (pool.row >= pools->count)
        return "pool not known";
    if (pool.row == MV_DEFAULT_POOL.row)
        return "default pool";
    return mv_scene_format(&p->ui->scene, "pool (%llu, %llu)",
                           (unsigned long long)pools->a[pool.row],
                           (unsigned long long)pools->b[pool.row]);
}

static const char *line_label(mv_plot *p, const mv_legend_group *g)
{
    char label[LABEL];

    mv_culprit_label(p->trace, p->document->sites.kinds, p->device->lives.allocs.stack[g->alloc],
                     label, sizeof label);
    return mv_scene_format(&p->ui->scene, "%s%s", g->key & is_leak_key ? "leak: " : "", label);
}

static const char *label_of(mv_plot *p, const mv_legend_group *g)
{
    static const char *const sizes[MV_COLOUR_STEPS] = {"below 64 KiB", "below 1 MiB",
                                                       "below 16 MiB", "below 256 MiB",
                                                       "below 4 GiB",  "4 GiB and more"};
    static const char *const lives[MV_COLOUR_STEPS] = {
        "lives below 10 events", "below 100 events",     "below 1,000 events",
        "below 10,000 events",   "below 100,000 events", "100,000 events and more"};

    if (g->key == rest_key)
        return "others";
    switch (p->view->now->colour) {
    case MV_COLOUR_CATEGORY:
        return mv_view_is_judged(p->view) ? p->device->attribution.categories.name[g->key]
                                          : "not known yet";
    case MV_COLOUR_SIZE:
        return sizes[g->key % MV_COLOUR_STEPS];
    case MV_COLOUR_LIFETIME:
        return g->key == MV_NEVER_FREED ? "never freed" : lives[g->key % MV_COLOUR_STEPS];
    case MV_COLOUR_STREAM:
        return mv_plot_stream(p, (mv_stream_id){(uint32_t)g->key});
    case MV_COLOUR_POOL:
        return mv_plot_pool(p, (mv_pool_id){(uint32_t)g->key});
    default:
        return line_label(p, g);
    }
}

/* The words of a search for one row; false: there is none. */
static bool search_words(const mv_plot *p, const mv_legend_group *g, char out[MV_SEARCH_TEXT])
{
    const mv_trace *t = p->trace;
    mv_frame_id frame = {(uint32_t)g->key};
    const char *file, *slash, *function;

    if (!is_by_line(p) || g->key & (no_stack_key | rest_key) || frame.row >= t->frames.count)
        return false;
    function = mv_string_text(t, t->frames.function[frame.row]);
    file = mv_string_text(t, t->frames.file[frame.row]);
    slash = strrchr(file, '/');
    if (t->frames.line[frame.row] == MV_NO_LINE || !*file)
        snprintf(out, MV_SEARCH_TEXT, "\"%.200s\"", function);
    else
        snprintf(out, MV_SEARCH_TEXT, "\"%.120s:%lld:%.100s\"", slash ? slash + 1 : file,
                 (long long)t->frames.line[frame.row], function);
    return strchr(out + 1, '"') == out + strlen(out) - 1;
}

bool mv_legend_search(mv_view *view, uint64_t row, char out[MV_SEARCH_TEXT])
{
    const mv_legend *legend = &view->timeline->legend;
    mv_plot p;

    return mv_plot_open(&p, view, view->main_box) && legend->is_done && row < GROUPS &&
           legend->device == p.device && search_words(&p, &legend->groups[row], out);
}

/* ---- painting ----------------------------------------------------------------------------- */

static const char *share_of(mv_plot *p, uint64_t bytes, uint64_t all)
{
    double share = all ? 100.0 * (double)bytes / (double)all : 0;

    return bytes > 0 && share < 1 ? "<1 %" : mv_scene_format(&p->ui->scene, "%.0f %%", share);
}

static void row_texts(mv_plot *p, mv_box row, const char *label, uint64_t bytes, uint64_t all)
{
    const mv_theme *theme = p->ui->theme;
    char size[MV_SIZE_TEXT];
    mv_box share = mv_box_cut_right(&row, mv_ui_px(p->ui, 40));
    mv_box amount = mv_box_cut_right(&row, mv_ui_px(p->ui, 60));

    mv_ui_text(p->ui, share, MV_UI_SMALL, theme->faint_text, MV_ANCHOR_END,
               share_of(p, bytes, all));
    mv_ui_text(p->ui, amount, MV_UI_SMALL, theme->text, MV_ANCHOR_END, mv_size_text(size, bytes));
    row.w -= mv_ui_px(p->ui, 4);
    mv_ui_text(p->ui, row, MV_UI_SMALL, theme->text, MV_ANCHOR_START, label);
}

static void paint_group(mv_plot *p, mv_box row, uint32_t index)
{
    const mv_legend *l = &p->pane->legend;
    const mv_legend_group *g = &l->groups[index];
    mv_box swatch = mv_box_cut_left(&row, mv_ui_px(p->ui, SWATCH + 6));
    mv_box all = {swatch.x, row.y, swatch.w + row.w, row.h};

    if (is_by_line(p)) {
        if (mv_ui_is_hot(p->ui, all))
            mv_ui_fill(p->ui, all, p->ui->theme->grid);
        mv_ui_zone(p->ui, all, MV_DO_legend_row, index, NULL);
    }
    swatch.w = swatch.h = mv_ui_px(p->ui, SWATCH);
    swatch.y += roundf((row.h - swatch.h) / 2);
    mv_ui_fill(p->ui, swatch, mv_view_colour(p->view, g->alloc));
    row_texts(p, row, label_of(p, g), g->bytes, l->bytes);
}

static void paint_groups(mv_plot *p, mv_box *box)
{
    const mv_legend *l = &p->pane->legend;
    float high = mv_ui_px(p->ui, ROW);
    uint32_t rows = box->h > high ? (uint32_t)(box->h / high) : 0;
    uint32_t named = l->count <= rows ? l->count : rows > 0 ? rows - 1 : 0;
    uint64_t rest = l->bytes;

    for (uint32_t i = 0; i < named; i++) {
        rest -= l->groups[i].bytes;
        paint_group(p, mv_box_cut_top(box, high), i);
    }
    if (named < l->count && rows > 0) {
        mv_box row = mv_box_cut_top(box, high);
        mv_box_cut_left(&row, mv_ui_px(p->ui, SWATCH + 6));
        row_texts(p, row,
                  mv_scene_format(&p->ui->scene,
                                  is_by_line(p) ? "%u other lines of code" : "%u others",
                                  l->count - named),
                  rest, l->bytes);
    }
}

void mv_plot_key_line(mv_plot *p, mv_box *box, uint32_t colour, bool is_dashed, const char *text)
{
    mv_box row = mv_box_cut_top(box, mv_ui_px(p->ui, ROW));
    mv_box sign = mv_box_cut_left(&row, mv_ui_px(p->ui, 26));
    float y = roundf(sign.y + sign.h / 2);

    mv_scene_point(&p->ui->scene, sign.x, y);
    mv_scene_point(&p->ui->scene, sign.x + mv_ui_px(p->ui, 20), y);
    mv_scene_add(&p->ui->scene, (mv_shape){.kind = MV_SHAPE_LINE,
                                           .stroke = colour,
                                           .width = 2 * p->ui->scale,
                                           .is_dashed = is_dashed});
    mv_ui_text(p->ui, row, MV_UI_SMALL, p->ui->theme->text, MV_ANCHOR_START, text);
}

static void paint_keys(mv_plot *p, mv_box *box)
{
    const mv_theme *theme = p->ui->theme;

    if (p->of_segments) {
        mv_plot_key_line(p, box, theme->outline, false, "reserved by PyTorch");
        mv_plot_key_line(p, box, theme->active, true, "allocated: in use");
    } else {
        mv_plot_key_line(p, box, theme->outline, false, "allocated: in use");
        if (p->has_pending)
            mv_plot_key_line(p, box, theme->active, true, "active: a stream may use it");
        mv_plot_key_line(p, box, theme->reserved, true, "reserved by PyTorch");
    }
    mv_plot_other_key(p, box);
    mv_box_cut_top(box, mv_ui_px(p->ui, 6));
}

/* How full segments are: the colours from empty to full. */
static void paint_use(mv_plot *p, mv_box *box)
{
    mv_box title = mv_box_cut_top(box, mv_ui_px(p->ui, ROW));

    mv_ui_text(p->ui, title, MV_UI_SMALL, p->ui->theme->faint_text, MV_ANCHOR_START,
               "How full segments are");
    for (uint32_t level = MV_FULLNESS_LEVELS; level-- > 0;) {
        mv_box row = mv_box_cut_top(box, mv_ui_px(p->ui, ROW));
        mv_box swatch = mv_box_cut_left(&row, mv_ui_px(p->ui, 26));
        swatch.w = mv_ui_px(p->ui, 20);
        swatch.y += 4;
        swatch.h -= 8;
        mv_ui_fill(p->ui, swatch, mv_fullness_colour(level, p->view->desk->is_dark));
        mv_ui_text(p->ui, row, MV_UI_SMALL, p->ui->theme->text, MV_ANCHOR_START,
                   mv_fullness_name(level));
    }
}

void mv_plot_colours(mv_plot *p, mv_box box)
{
    static const char *const titles[] = {
#define MV_LEGEND_TITLE(name, text) "By " text,
        MV_COLOUR_LIST(MV_LEGEND_TITLE)
#undef MV_LEGEND_TITLE
    };
    uint32_t event = p->view->now->cursor;
    bool is_peak = event == p->device->peak_event;
    char size[MV_SIZE_TEXT];
    mv_box title;

    update(p, event);
    if (!p->pane->legend.is_done || p->pane->legend.device != p->device)
        return;
    title = mv_box_cut_top(&box, mv_ui_px(p->ui, ROW));
    mv_ui_text(p->ui, title, MV_UI_SMALL, p->ui->theme->faint_text, MV_ANCHOR_START,
               mv_scene_format(&p->ui->scene, "%s, %s %s",
                               titles[p->view->now->colour % MV_COLOUR_COUNT],
                               mv_size_text(size, p->pane->legend.bytes),
                               is_peak ? "of the peak" : "at the cursor"));
    paint_groups(p, &box);
}

void mv_plot_legend(mv_plot *p)
{
    mv_box box = p->legend;

    if (box.w <= 0)
        return;
    paint_keys(p, &box);
    if (p->of_segments)
        paint_use(p, &box);
    else
        mv_plot_colours(p, box);
}
