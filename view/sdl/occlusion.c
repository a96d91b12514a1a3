#include "view/sdl/occlusion.h"

#include <math.h>

enum { LEAST_AREA = 8192, FAR_PIXELS = 1000000 };

static int nearest(float pixels)
{
    if (!(pixels > -FAR_PIXELS)) /* also when it is NaN */
        return -FAR_PIXELS;
    return (int)floorf((pixels < FAR_PIXELS ? pixels : FAR_PIXELS) + 0.5f);
}

SDL_Rect mv_rect_between(mv_point a, mv_point b)
{
    int x = nearest(a.x), y = nearest(a.y);

    return (SDL_Rect){x, y, nearest(b.x) - x, nearest(b.y) - y};
}

SDL_Rect mv_rect_intersect(SDL_Rect a, SDL_Rect b)
{
    int left = a.x > b.x ? a.x : b.x, top = a.y > b.y ? a.y : b.y;
    int right = a.x + a.w < b.x + b.w ? a.x + a.w : b.x + b.w;
    int bottom = a.y + a.h < b.y + b.h ? a.y + a.h : b.y + b.h;

    return (SDL_Rect){left, top, right > left ? right - left : 0, bottom > top ? bottom - top : 0};
}

/* ---- finding them ------------------------------------------------------------------------ */

/* The rectangle in whole pixels; empty when the shape may hide nothing. */
static SDL_Rect covered_by(const mv_scene *scene, const mv_shape *s)
{
    const mv_point *at = scene->points + s->first;

    if (s->kind == MV_SHAPE_IMAGE && s->count >= 4 && s->image && s->image->is_opaque)
        return mv_rect_between(at[0], at[1]);
    if (s->kind != MV_SHAPE_RECTS || s->count != 2 || (s->fill & 0xff) != 0xff || s->is_hatched)
        return (SDL_Rect){0};
    if (s->is_crisp)
        return mv_rect_between(at[0], at[1]);
    return mv_rect_between((mv_point){ceilf(at[0].x), ceilf(at[0].y)},
                           (mv_point){floorf(at[1].x), floorf(at[1].y)});
}

void mv_occlusion_find(mv_occlusion *occlusion, const mv_scene *scene, int width, int height)
{
    SDL_Rect all = {0, 0, width, height}, clip = all;

    occlusion->count = 0;
    for (uint32_t i = 0; i < scene->shape_count && occlusion->count < MV_MOST_COVERS; i++) {
        const mv_shape *s = &scene->shapes[i];
        const mv_point *at = scene->points + s->first;
        SDL_Rect rect;
        if (s->kind == MV_SHAPE_CLIP) {
            clip = s->count < 2 ? all : mv_rect_intersect(mv_rect_between(at[0], at[1]), all);
            continue;
        }
        rect = mv_rect_intersect(covered_by(scene, s), clip);
        if ((int64_t)rect.w * rect.h >= LEAST_AREA)
            occlusion->all[occlusion->count++] = (mv_cover){i, rect};
    }
}

/* ---- what they leave --------------------------------------------------------------------- */

/* Keeps of the pieces what is outside of `cover`; returns how many there are then. If there would
 * be too many, some stay whole. */
static uint32_t subtract(SDL_Rect *pieces, uint32_t count, SDL_Rect cover)
{
    uint32_t end = count;

    for (uint32_t i = 0; i < end; i++) {
        SDL_Rect a = pieces[i], b = mv_rect_intersect(a, cover);
        SDL_Rect rest[] = {{a.x, a.y, a.w, b.y - a.y},
                           {a.x, b.y, b.x - a.x, b.h},
                           {b.x + b.w, b.y, a.x + a.w - b.x - b.w, b.h},
                           {a.x, b.y + b.h, a.w, a.y + a.h - b.y - b.h}};
        if (b.w == 0 || b.h == 0 || count + 4 > MV_MOST_PIECES)
            continue;
        pieces[i].w = 0;
        for (int j = 0; j < 4; j++)
            if (rest[j].w > 0 && rest[j].h > 0)
                pieces[count++] = rest[j];
    }
    return count;
}

/* Drops those that are empty. */
static uint32_t tidy(SDL_Rect *pieces, uint32_t count)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count; i++)
        if (pieces[i].w > 0 && pieces[i].h > 0)
            pieces[kept++] = pieces[i];
    return kept;
}

uint32_t mv_occlusion_rest(const mv_occlusion *occlusion, uint32_t shape, SDL_Rect rect,
                           SDL_Rect pieces[MV_MOST_PIECES])
{
    uint32_t count = 1;

    pieces[0] = rect;
    for (uint32_t i = 0; i < occlusion->count && count > 0; i++)
        if (shape == MV_BACKGROUND || occlusion->all[i].shape > shape)
            count = tidy(pieces, subtract(pieces, count, occlusion->all[i].rect));
    return count;
}

const SDL_Rect *mv_occlusion_plain(const mv_occlusion *occlusion, const mv_scene *scene,
                                   uint32_t shape)
{
    const mv_shape *s = &scene->shapes[shape];
    const mv_point *at = scene->points + s->first;

    if (s->kind != MV_SHAPE_RECTS || (s->width > 0 && (s->stroke & 0xff)))
        return NULL;
    for (int i = 0; !s->is_crisp && i < 2 && s->count == 2; i++)
        if (at[i].x != floorf(at[i].x) || at[i].y != floorf(at[i].y))
            return NULL;
    for (uint32_t i = 0; i < occlusion->count; i++)
        if (occlusion->all[i].shape == shape)
            return &occlusion->all[i].rect;
    return NULL;
}
