#include "view/sdl/scene_painter.h"

#include <math.h>
#include <string.h>

#include "viz/scene/raster.h"

enum { HATCH_SIDE = 32 * MV_HATCH_PERIOD, FAR_PIXELS = 1000000 };

bool mv_scene_painter_init(mv_scene_painter *p, mv_budget *budget, const mv_sdl *sdl,
                           SDL_Renderer *renderer, mv_font_choice font, uint64_t image_bytes)
{
    SDL_RendererInfo info = {0};

    *p = (mv_scene_painter){.sdl = sdl, .renderer = renderer};
    mv_arena_init(&p->arena, budget);
    sdl->GetRendererInfo(renderer, &info);
    p->fill_rects = (mv_fill_rects){.sdl = sdl, .renderer = renderer};
    p->scaler = (mv_image_scaler){.sdl = sdl, .renderer = renderer, .arena = &p->arena};
    mv_image_cache_init(&p->images, sdl, renderer, info.flags & SDL_RENDERER_SOFTWARE, image_bytes);
    return mv_glyphs_init(&p->glyphs, &p->arena, sdl, renderer, font);
}

void mv_scene_painter_release(mv_scene_painter *p)
{
    if (p->sdl) {
        mv_glyphs_release(&p->glyphs);
        mv_image_cache_clear(&p->images);
        mv_fill_rects_release(&p->fill_rects);
        mv_image_scaler_release(&p->scaler);
        if (p->hatch)
            p->sdl->DestroyTexture(p->hatch);
        mv_arena_release(&p->arena);
    }
    *p = (mv_scene_painter){0};
}

static int nearest(double pixels)
{
    if (!(pixels > -FAR_PIXELS)) /* also when it is NaN */
        return -FAR_PIXELS;
    return (int)floor((pixels < FAR_PIXELS ? pixels : FAR_PIXELS) + 0.5);
}

static void set_clip(mv_scene_painter *p, const mv_scene *scene, const mv_shape *s)
{
    SDL_Rect all = {0, 0, p->fill_rects.width, p->fill_rects.height}, clip = all;

    if (s->count >= 2)
        clip = mv_rect_intersect(
            mv_rect_between(scene->points[s->first], scene->points[s->first + 1]), all);
    mv_fill_rects_clip(&p->fill_rects, clip);
    if (clip.w > 0 && clip.h > 0)
        p->sdl->RenderSetClipRect(p->renderer, &clip);
}

/* ---- hatches ----------------------------------------------------------------------------- */

static SDL_Texture *make_hatch(mv_scene_painter *p)
{
    uint32_t width = HATCH_SIDE + MV_HATCH_PERIOD;
    uint32_t *pixels = mv_arena_grow(&p->arena, NULL, (uint64_t)width * HATCH_SIDE * 4);
    SDL_Texture *texture = NULL;

    if (pixels)
        texture = p->sdl->CreateTexture(p->renderer, SDL_PIXELFORMAT_ARGB8888,
                                        SDL_TEXTUREACCESS_STATIC, (int)width, HATCH_SIDE);
    if (texture) {
        for (uint32_t i = 0; i < width * HATCH_SIDE; i++)
            pixels[i] =
                (uint32_t)mv_hatch[(i % width + i / width) % MV_HATCH_PERIOD] << 24 | 0xffffff;
        p->sdl->SetTextureBlendMode(texture, SDL_BLENDMODE_BLEND);
        p->sdl->UpdateTexture(texture, NULL, pixels, (int)width * 4);
    }
    mv_arena_drop(&p->arena, pixels);
    return texture;
}

/* The lines of all hatches meet: the place decides where in the texture a hatch begins. */
static void hatch_rect(void *to, SDL_Rect area)
{
    mv_scene_painter *p = to;

    for (int y = area.y; y < area.y + area.h; y += HATCH_SIDE)
        for (int x = area.x; x < area.x + area.w; x += HATCH_SIDE) {
            SDL_Rect tile = {x, y, HATCH_SIDE, HATCH_SIDE};
            SDL_Rect place = mv_rect_intersect(tile, area);
            SDL_Rect from = {(x + y) % MV_HATCH_PERIOD, 0, place.w, place.h};
            p->sdl->RenderCopy(p->renderer, p->hatch, &from, &place);
        }
}

static void draw_hatched(mv_scene_painter *p, const mv_scene *scene, const mv_shape *s)
{
    if (!p->hatch)
        p->hatch = make_hatch(p);
    if (!p->hatch)
        return;
    p->sdl->SetTextureColorMod(p->hatch, (uint8_t)(s->stroke >> 24), (uint8_t)(s->stroke >> 16),
                               (uint8_t)(s->stroke >> 8));
    p->sdl->SetTextureAlphaMod(p->hatch, (uint8_t)s->stroke);
    mv_fill_rects_rows(&p->fill_rects, scene, s, hatch_rect, p);
}

/* ---- images ------------------------------------------------------------------------------ */

/* How an image is placed; false when none of it is visible. */
static bool place_image(const mv_scene *scene, const mv_shape *s, mv_stretch *out)
{
    const mv_point *at = scene->points + s->first;

    if (s->count < 4 || !s->image || s->image->width == 0 || s->image->height == 0)
        return false;
    *out = (mv_stretch){.place = mv_rect_between(at[0], at[1]), .x = at[2].x, .y = at[2].y};
    out->step_x = ((double)at[3].x - at[2].x) / out->place.w;
    out->step_y = ((double)at[3].y - at[2].y) / out->place.h;
    return out->place.w > 0 && out->place.h > 0 && out->step_x > 0 && out->step_y > 0;
}

/* A driver's copy of whole pixels. A part that begins within a pixel is drawn from that pixel on,
 * at the place where it would begin, and clipped. */
static void copy_scaled(mv_scene_painter *p, const mv_pixels *image, const mv_stretch *s,
                        SDL_Rect seen)
{
    SDL_Texture *texture = mv_image_cache_get(&p->images, &p->arena, image);
    double left = s->x + (seen.x - s->place.x) * s->step_x, right = left + seen.w * s->step_x;
    double top = s->y + (seen.y - s->place.y) * s->step_y, bottom = top + seen.h * s->step_y;
    SDL_Rect part = mv_rect_intersect((SDL_Rect){(int)floor(left), (int)floor(top),
                                                 (int)ceil(right) - (int)floor(left),
                                                 (int)ceil(bottom) - (int)floor(top)},
                                      (SDL_Rect){0, 0, (int)image->width, (int)image->height});
    SDL_Rect to;

    to.x = nearest(s->place.x + (part.x - s->x) / s->step_x);
    to.y = nearest(s->place.y + (part.y - s->y) / s->step_y);
    to.w = nearest(s->place.x + (part.x + part.w - s->x) / s->step_x) - to.x;
    to.h = nearest(s->place.y + (part.y + part.h - s->y) / s->step_y) - to.y;
    if (!texture || part.w == 0 || part.h == 0)
        return;
    p->sdl->RenderSetClipRect(p->renderer, &seen);
    p->sdl->RenderCopy(p->renderer, texture, &part, &to);
    p->sdl->RenderSetClipRect(p->renderer, &p->fill_rects.clip);
}

static void draw_seen(mv_scene_painter *p, const mv_pixels *image, const mv_stretch *s,
                      SDL_Rect seen)
{
    bool is_plain = s->step_x == 1 && s->step_y == 1 && floor(s->x) == s->x && floor(s->y) == s->y;

    if (is_plain || !p->images.is_software)
        copy_scaled(p, image, s, seen);
    else
        mv_image_scaler_draw(&p->scaler, image, s, seen);
}

/* Images come in runs, finer ones above coarser ones. */
static void draw_image(mv_scene_painter *p, const mv_scene *scene, uint32_t shape)
{
    const mv_shape *s = &scene->shapes[shape];
    SDL_Rect pieces[MV_MOST_PIECES];
    mv_stretch own;
    uint32_t count;

    if (!place_image(scene, s, &own))
        return;
    count = mv_occlusion_rest(&p->occlusion, shape,
                              mv_rect_intersect(own.place, p->fill_rects.clip), pieces);
    for (uint32_t i = 0; i < count; i++)
        if (pieces[i].w > 0 && pieces[i].h > 0)
            draw_seen(p, s->image, &own, pieces[i]);
}

/* The visible part of a large rectangle. */
static void fill_seen(mv_scene_painter *p, uint32_t shape, SDL_Rect rect, uint32_t colour)
{
    SDL_Rect pieces[MV_MOST_PIECES];
    uint32_t count = mv_occlusion_rest(&p->occlusion, shape, rect, pieces);

    p->sdl->SetRenderDrawBlendMode(p->renderer, SDL_BLENDMODE_NONE);
    p->sdl->SetRenderDrawColor(p->renderer, (uint8_t)(colour >> 24), (uint8_t)(colour >> 16),
                               (uint8_t)(colour >> 8), (uint8_t)colour);
    if (count > 0)
        p->sdl->RenderFillRects(p->renderer, pieces, (int)count);
}

/* ---- the picture ------------------------------------------------------------------------- */

/* Whether any part of a text may be visible. */
static bool is_text_shown(const mv_scene_painter *p, const mv_shape *s, mv_point at)
{
    SDL_Rect clip = p->fill_rects.clip;

    return at.y + s->width >= (float)clip.y && at.y - s->width <= (float)(clip.y + clip.h) &&
           (s->anchor != MV_ANCHOR_START || at.x <= (float)(clip.x + clip.w));
}

static void draw_shape(mv_scene_painter *p, const mv_scene *scene, uint32_t shape)
{
    const mv_shape *s = &scene->shapes[shape];
    const SDL_Rect *plain = mv_occlusion_plain(&p->occlusion, scene, shape);

    if (plain) {
        fill_seen(p, shape, *plain, s->fill);
        return;
    }
    switch (s->kind) {
    case MV_SHAPE_TEXT:
        if (is_text_shown(p, s, scene->points[s->first]))
            mv_glyphs_draw(&p->glyphs, s, scene->points[s->first]);
        return;
    case MV_SHAPE_IMAGE:
        draw_image(p, scene, shape);
        return;
    case MV_SHAPE_LINE:
        break;
    default:
        if (s->is_hatched)
            draw_hatched(p, scene, s);
        else if (s->fill & 0xff)
            mv_fill_rects_fill(&p->fill_rects, scene, s);
    }
    if (!s->is_hatched && s->width > 0 && (s->stroke & 0xff))
        mv_fill_rects_stroke(&p->fill_rects, scene, s);
}

bool mv_scene_painter_draw(mv_scene_painter *p, const mv_scene *scene, int width, int height)
{
    if (!mv_fill_rects_resize(&p->fill_rects, &p->arena, width, height) ||
        !mv_image_scaler_resize(&p->scaler, width, height))
        return false;
    p->fill_rects.failed = false;
    mv_image_cache_begin(&p->images);
    p->sdl->RenderSetClipRect(p->renderer, NULL);
    mv_occlusion_find(&p->occlusion, scene, width, height);
    fill_seen(p, MV_BACKGROUND, (SDL_Rect){0, 0, width, height}, scene->background);
    for (uint32_t i = 0; i < scene->shape_count; i++) {
        const mv_shape *s = &scene->shapes[i];
        if (s->kind == MV_SHAPE_CLIP)
            set_clip(p, scene, s);
        else if (s->count > 0 && p->fill_rects.clip.w > 0 && p->fill_rects.clip.h > 0)
            draw_shape(p, scene, i);
    }
    return !scene->failed && !p->fill_rects.failed && !p->fill_rects.cover.failed;
}
