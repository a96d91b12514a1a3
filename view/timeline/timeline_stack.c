/* The stack. Tiles of rank numbers are turned into pictures in the current colours. The picture of
 * a tile is kept until its colours change, so a frame at rest only paints finished pictures. */
#include "base/duration.h"
#include "view/timeline/plot.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { TINT_US = 800 }; /* microseconds in each frame, when other threads make the tiles */

/* ---- coloured tiles ----------------------------------------------------------------------- */

static uint64_t colours_key(const mv_plot *p)
{
    const mv_view *view = p->view;
    struct {
        uint64_t key, matches, rows;
    } parts = {mv_view_colour_key(view), 0, p->ui->theme->plot};

    if (view->matches && view->now->show == MV_SHOW_HIGHLIGHT)
        parts.matches = XXH3_64bits(view->now->search, strlen(view->now->search)) | 1;
    return XXH3_64bits(&parts, sizeof parts);
}

typedef struct {
    mv_colouring colouring;
    const mv_theme *theme;
} tinting;

static uint32_t colour_of(const void *user, uint32_t rank)
{
    const tinting *t = user;

    return mv_group_colour(&t->colouring, t->theme, mv_colour_group(&t->colouring, rank));
}

static void tint_allocs(mv_plot *p, const mv_tile *tile, uint32_t *pixels)
{
    const mv_view *view = p->view;
    bool is_dimmed = view->matches && view->now->show == MV_SHOW_HIGHLIGHT;
    tinting colours = {mv_colouring_of(view), p->ui->theme};
    mv_tile_paint paint = {.colour = colour_of,
                           .user = &colours,
                           .preexisting = p->lives->events.count ? p->index->preexisting : 0,
                           .matches = is_dimmed ? view->matches->words : NULL,
                           .ground = p->ui->theme->plot,
                           .empty = p->ui->theme->plot};

    mv_tile_colour(tile, &paint, pixels);
}

/* Returns the entry of a tile, or the entry that was painted least recently. */
static mv_tinted *entry_of(mv_timeline_pane *pane, const mv_tile *tile)
{
    mv_tinted *oldest = &pane->tinted[0];

    for (uint32_t i = 0; i < MV_MOST_TINTED; i++) {
        if (pane->tinted[i].serial == tile->serial && pane->tinted[i].pixels)
            return &pane->tinted[i];
        if (pane->tinted[i].turn < oldest->turn)
            oldest = &pane->tinted[i];
    }
    return oldest;
}

static bool make_room(mv_timeline_pane *pane, mv_tinted *entry, uint64_t bytes)
{
    if (entry->capacity >= bytes)
        return true;
    mv_arena_drop(&pane->arena, entry->pixels);
    entry->pixels = mv_arena_grow(&pane->arena, NULL, bytes);
    entry->capacity = entry->pixels ? bytes : 0;
    return entry->pixels != NULL;
}

/* Returns the picture of a tile; NULL: not in this frame, or never because memory ran out
 * (ui.ran_out_of_memory). */
static const mv_pixels *tinted(mv_plot *p, const mv_tile *tile, uint64_t colours, int64_t until)
{
    mv_timeline_pane *pane = p->pane;
    mv_tinted *entry = entry_of(pane, tile);
    bool is_it = entry->serial == tile->serial && entry->pixels;
    bool may_tint = !p->view->opts.is_threaded || mv_now_us() < until;

    if (!is_it && entry->turn == pane->turn) /* all entries are in use in this frame */
        return NULL;
    if (!is_it || (entry->colours != colours && may_tint && entry->turn != pane->turn)) {
        uint64_t bytes = (uint64_t)MV_TILE_COLUMNS * tile->rows * sizeof *entry->pixels;
        if (!may_tint)
            return NULL;
        if (!make_room(pane, entry, bytes)) {
            p->ui->ran_out_of_memory = true;
            return NULL;
        }
        if (p->of_segments)
            mv_plot_tint_segments(p, tile, entry->pixels);
        else
            tint_allocs(p, tile, entry->pixels);
        entry->serial = tile->serial;
        entry->colours = colours;
        entry->image = (mv_pixels){MV_TILE_COLUMNS, tile->rows, entry->pixels,
                                   (tile->serial * 0x9e3779b97f4a7c15u ^ colours) | 1, true};
    }
    if (entry->colours != colours)
        p->ui->is_animating = true;
    entry->turn = pane->turn;
    return &entry->image;
}

static void paint_quad(mv_plot *p, const mv_tile_quad *q, const mv_pixels *image)
{
    mv_scene_image(&p->ui->scene, (mv_box){p->plot.x + q->x, p->plot.y + q->y, q->w, q->h},
                   (mv_box){q->from_x, q->from_y, q->from_w, q->from_h}, image);
}

/* Records the allocations that are born and freed within one column of an exact tile. */
static void keep_spikes(mv_plot *p, const mv_tile_quad *q)
{
    if (!q->is_exact || !p->spike_of)
        return;
    for (int32_t c = 0; c < (int32_t)q->w; c++) {
        int32_t from = (int32_t)q->from_x + c, to = (int32_t)q->x + c;
        if (from < MV_TILE_COLUMNS && to >= 0 && to < (int32_t)p->plot.w &&
            q->tile->spikes[from] != MV_NO_ROW)
            p->spike_of[to] = q->tile->spikes[from];
    }
}

/* ---- the frame ---------------------------------------------------------------------------- */

mv_tile_view mv_plot_tile_view(const mv_plot *p)
{
    return (mv_tile_view){.subject = {.id = p->rows->ask.id,
                                      .index = p->index,
                                      .pyramid = p->levels->pyramid,
                                      .scale = &p->rows->scale,
                                      .drawn = p->rows->only},
                          .x = p->at.x,
                          .dx = p->at.dx,
                          .y = p->at.y,
                          .dy = p->at.dy,
                          .width = (uint32_t)p->plot.w,
                          .height = (uint32_t)p->plot.h,
                          .is_zooming = p->pane->is_zooming};
}

void mv_plot_stack(mv_plot *p)
{
    mv_tile_view wanted = mv_plot_tile_view(p);
    mv_tile_frame frame;
    int64_t until = mv_now_us() + TINT_US;
    uint64_t colours;

    if (wanted.width == 0 || wanted.height == 0 || p->index->count == 0)
        return;
    frame = mv_tiles_frame(p->pane->tiles, &wanted, p->pane->turn);
    p->tiles = frame;
    if (frame.failed > 0)
        p->ui->ran_out_of_memory = true;
    colours = p->of_segments ? mv_plot_use_key(p) : colours_key(p);
    p->spike_of = mv_push_array(p->ui->frame, uint32_t, wanted.width);
    for (uint32_t c = 0; p->spike_of && c < wanted.width; c++)
        p->spike_of[c] = MV_NO_ROW;
    for (uint32_t i = 0; i < frame.count; i++) {
        const mv_pixels *image;
        keep_spikes(p, &frame.quads[i]);
        if (frame.quads[i].tile->rows == 0)
            continue;
        image = tinted(p, frame.quads[i].tile, colours, until);
        if (image)
            paint_quad(p, &frame.quads[i], image);
        else if (!p->ui->ran_out_of_memory) /* if a tile can never be made, another frame would not
                                             * help */
            p->ui->is_animating = true;
    }
    mv_plot_labels(p, &frame);
}
