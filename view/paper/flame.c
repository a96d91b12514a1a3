/* The headings of printed flame graphs. The tree belongs to the caller. */
#include "analyze/events/recorder.h"
#include "base/size.h"
#include "base/sort.h"
#include "view/panes/panels.h"
#include "view/paper/paper.h"
#include "viz/scene/axis.h"

enum { MOST_LEVELS = 100, MOST_BOXES = 6000, HEADING = 340 /* maximum height of the heading */ };

/* ---- text -------------------------------------------------------------------------------- */

/* Describes how the bytes of segments are used; NULL: the tree does not show segments. */
static const char *state_note(mv_scene *scene, const mv_flame_tree *tree)
{
    uint64_t bytes[MV_FLAME_OTHER + 1] = {0};
    char used[MV_SIZE_TEXT], waiting[MV_SIZE_TEXT], idle[MV_SIZE_TEXT];
    bool is_reported = false;

    for (uint32_t i = 1; i < tree->count; i++)
        if (tree->nodes[i].kind == MV_FLAME_STATE) {
            bytes[tree->nodes[i].part] += tree->nodes[i].bytes;
            is_reported |= tree->nodes[i].part != MV_FLAME_OTHER;
        }
    if (!is_reported)
        return NULL;
    return mv_scene_format(scene, "%s allocated \xc2\xb7 %s%s%s free",
                           mv_size_text(used, bytes[MV_FLAME_ALLOCATED] + bytes[MV_FLAME_OTHER]),
                           bytes[MV_FLAME_PENDING] ? mv_size_text(waiting, bytes[MV_FLAME_PENDING])
                                                   : "",
                           bytes[MV_FLAME_PENDING] ? " waiting for a stream \xc2\xb7 " : "",
                           mv_size_text(idle, bytes[MV_FLAME_FREE]));
}

/* Finds the user's frame that requested the most bytes without another user frame in between; NULL:
 * there is none. */
static const char *heaviest_note(mv_view *view, const mv_flame_tree *tree)
{
    const uint8_t *kinds = mv_view_document(view)->sites.kinds;
    uint64_t *others = mv_push_array(view->ui.frame, uint64_t, tree->count), most = 0;
    uint32_t best = 0;
    char size[MV_SIZE_TEXT];

    if (!others) {
        view->ui.ran_out_of_memory = true;
        return NULL;
    }
    for (uint32_t i = tree->count; i-- > 1;) {
        const mv_flame_node *node = &tree->nodes[i];
        bool is_user = node->kind == MV_FLAME_FRAME && kinds[node->frame.row] == MV_FRAME_USER;
        if (is_user && node->bytes - others[i] > most) {
            most = node->bytes - others[i];
            best = i;
        }
        others[node->parent] += is_user ? node->bytes : others[i];
    }
    if (best == 0)
        return NULL;
    return mv_scene_format(&view->ui.scene, "most: %s holds %s, %.1f %%", tree->nodes[best].label,
                           mv_size_text(size, most),
                           100.0 * (double)most / (double)tree->nodes[0].bytes);
}

/* Returns a note about data that the picture cannot show, or if all data is shown, a note about the
 * result. */
static const char *note_of(mv_view *view, const char *measure)
{
    const mv_flame_tree *tree = view->sheet->opts.flame;
    mv_scene *scene = &view->ui.scene;
    const char *note = state_note(scene, tree);
    char size[MV_SIZE_TEXT];

    if (tree->nodes[0].bytes == 0)
        return mv_scene_format(scene, "nothing to draw: no bytes are %s at this moment", measure);
    if (tree->unrecorded > 0 && !note && tree->unrecorded == tree->nodes[0].bytes)
        return mv_recorder_of(&mv_view_document(view)->trace)->no_stacks;
    if (!note)
        note = heaviest_note(view, tree);
    if (tree->unrecorded > 0)
        note = mv_scene_format(scene, "%s%sno stacks of %s were recorded", note ? note : "",
                               note ? " \xc2\xb7 " : "", mv_size_text(size, tree->unrecorded));
    return note;
}

static void describe(mv_view *view, mv_paper_heading *out, const char *measure)
{
    const mv_flame_node *root = &view->sheet->opts.flame->nodes[0];
    const mv_lives *lives = &mv_view_device(view)->lives;
    const char *history = mv_heading_history(lives), *note = note_of(view, measure);
    bool is_filtered = view->sheet->opts.only != NULL;
    mv_heading_part part = {0};
    mv_scene *scene = &view->ui.scene;
    char size[MV_SIZE_TEXT], count[MV_TICK_TEXT];

    mv_paper_heading_add(out, mv_heading_moment(scene, &mv_view_document(view)->trace, lives,
                                                view->sheet->opts.event));
    mv_paper_heading_add(out,
                         mv_scene_format(scene, "%s %s in %s %s", mv_size_text(size, root->bytes),
                                         measure, mv_axis_exact(root->blocks, count),
                                         root->blocks == 1 ? "block" : "blocks"));
    if (*history) /* " \xc2\xb7 recording began late" */
        mv_paper_heading_add(out, history + 4);
    if (is_filtered)
        part = mv_paper_part(view);
    out->part = mv_heading_part_line(scene, part, "blocks", "the allocated");
    mv_paper_add_headline(view, false, out);
    if (note && (!is_filtered || part.matches > 0))
        mv_paper_add_verdict(out, note, false);
}

static void describe_stacks(mv_view *view, mv_paper_heading *out)
{
    describe(view, out, "allocated");
}

static void describe_segment_stacks(mv_view *view, mv_paper_heading *out)
{
    describe(view, out,
             mv_trace_allocator(&mv_view_document(view)->trace) ? "allocated" : "reserved");
}

static void describe_change(mv_view *view, mv_paper_heading *out)
{
    const mv_flame_node *root = &view->sheet->opts.flame->nodes[0];
    char more[MV_SIZE_TEXT], less[MV_SIZE_TEXT];

    mv_paper_heading_add(out, view->sheet->opts.what);
    if (root->bytes == 0)
        mv_paper_add_verdict(out, "nothing changed", false);
    else
        mv_paper_heading_add(out, mv_scene_format(&view->ui.scene, "%s more, %s less, by stack",
                                                  mv_size_text(more, root->bytes - root->less),
                                                  mv_size_text(less, root->less)));
}

/* ---- the picture ------------------------------------------------------------------------- */

/* Returns the height for the number of levels, up to MOST_LEVELS. A picture that is too high is
 * cropped. */
static uint32_t height_of(const mv_paper_opts *opts)
{
    uint32_t levels = opts->flame->depth < MOST_LEVELS ? opts->flame->depth + 1 : MOST_LEVELS;

    return HEADING + levels * MV_FLAME_LEVEL + MV_FLAME_FOOT;
}

/* Returns the number of levels that fit. */
static uint32_t levels_of(const mv_view *view, mv_box box)
{
    float levels =
        (box.h - mv_ui_px(&view->ui, MV_FLAME_FOOT)) / mv_ui_px(&view->ui, MV_FLAME_LEVEL);

    return levels < 1 ? 1 : levels > MOST_LEVELS ? MOST_LEVELS : (uint32_t)levels;
}

static void paint(mv_view *view, mv_box box, mv_flames_source source)
{
    mv_flames_answer a = {.ask = {.source = source}, .levels = levels_of(view, box)};
    const mv_flame_tree *tree = view->sheet->opts.flame;
    mv_err err;

    if (source != MV_FLAMES_CHANGE) {
        a.ask.document = mv_view_document(view);
        a.ask.device = mv_view_device(view);
    }
    a.flames.tree = *tree;
    /* The heaviest nodes are given their tooltips first. */
    if (mv_icicle_lay(view->ui.frame, tree, (uint64_t)((double)tree->nodes[0].bytes / box.w / 2),
                      MOST_BOXES, a.levels - 1, &a.boxes, &err) != MV_OK) {
        view->ui.ran_out_of_memory = true;
        return;
    }
    mv_sort_rows(view->ui.frame, a.boxes.boxes, a.boxes.count, MV_FALLING(mv_icicle_box, bytes),
                 MV_RISING(mv_icicle_box, depth), MV_RISING(mv_icicle_box, offset));
    view->sheet->drawn = tree->nodes[0].bytes ? a.boxes.nodes : 0;
    mv_flame_paint_answer(view, box, &a);
}

static void paint_stacks(mv_view *view, mv_box box)
{
    paint(view, box, MV_FLAMES_CURSOR);
}

static void paint_segment_stacks(mv_view *view, mv_box box)
{
    paint(view, box, MV_FLAMES_SEGMENTS);
}

static void paint_change(mv_view *view, mv_box box)
{
    paint(view, box, MV_FLAMES_CHANGE);
}

const mv_paper_kind mv_paper_stacks = {.is_of_moment = true,
                                       .is_cropped = true,
                                       .height = height_of,
                                       .describe = describe_stacks,
                                       .paint = paint_stacks};
const mv_paper_kind mv_paper_segment_stacks = {.is_of_moment = true,
                                               .is_cropped = true,
                                               .height = height_of,
                                               .describe = describe_segment_stacks,
                                               .paint = paint_segment_stacks};
const mv_paper_kind mv_paper_change = {
    .is_cropped = true, .height = height_of, .describe = describe_change, .paint = paint_change};
