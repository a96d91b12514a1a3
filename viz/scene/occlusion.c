#include "viz/scene/occlusion.h"

enum { LEAST_AREA = 8192 };

/* ---- finding covers ---------------------------------------------------------------------- */

/* Returns the rectangle of whole pixels that the shape covers. It is empty if the shape cannot hide
 * anything. */
static mv_pixel_rect covered_by(const mv_scene *scene, const mv_shape *s, double scale_x,
                                double scale_y)
{
    const mv_point *at = scene->points + s->first;
    bool is_image = s->kind == MV_SHAPE_IMAGE && s->count >= 4 && s->image && s->image->is_opaque &&
                    s->image->width > 0 && s->image->height > 0;
    bool is_rect =
        s->kind == MV_SHAPE_RECTS && s->count == 2 && (s->fill & 0xff) == 0xff && !s->is_hatched;
    double left, top, right, bottom;

    if (!is_image && !is_rect)
        return (mv_pixel_rect){0};
    left = fmin(at[0].x, at[1].x) * scale_x;
    right = fmax(at[0].x, at[1].x) * scale_x;
    top = fmin(at[0].y, at[1].y) * scale_y;
    bottom = fmax(at[0].y, at[1].y) * scale_y;
    if (is_rect && !s->is_crisp) {
        left = ceil(left);
        top = ceil(top);
        right = floor(right);
        bottom = floor(bottom);
    }
    return mv_pixel_rect_between(mv_nearest_pixel(left), mv_nearest_pixel(top),
                                 mv_nearest_pixel(right), mv_nearest_pixel(bottom));
}

void mv_occlusion_add(mv_occlusion *occlusion, const mv_scene *scene, uint32_t shape,
                      mv_pixel_rect box, double scale_x, double scale_y)
{
    mv_pixel_rect rect;

    if (occlusion->count == MV_MOST_COVERS || (int64_t)box.w * box.h < LEAST_AREA)
        return;
    rect = mv_pixel_rect_common(covered_by(scene, &scene->shapes[shape], scale_x, scale_y), box);
    if ((int64_t)rect.w * rect.h >= LEAST_AREA)
        occlusion->all[occlusion->count++] = (mv_cover){shape, rect};
}

/* ---- the remaining parts ----------------------------------------------------------------- */

/* Keeps the parts of the pieces that are outside `cover`. Returns the new number of pieces. If
 * there would be too many, some pieces stay whole. */
static uint32_t subtract(mv_pixel_rect *pieces, uint32_t count, mv_pixel_rect cover)
{
    uint32_t end = count;

    for (uint32_t i = 0; i < end; i++) {
        mv_pixel_rect a = pieces[i], b = mv_pixel_rect_common(a, cover);
        mv_pixel_rect rest[] = {{a.x, a.y, a.w, b.y - a.y},
                                {a.x, b.y, b.x - a.x, b.h},
                                {b.x + b.w, b.y, a.x + a.w - b.x - b.w, b.h},
                                {a.x, b.y + b.h, a.w, a.y + a.h - b.y - b.h}};
        if (mv_pixel_rect_is_empty(b) || count + 4 > MV_MOST_PIECES)
            continue;
        pieces[i].w = 0;
        for (int j = 0; j < 4; j++)
            if (!mv_pixel_rect_is_empty(rest[j]))
                pieces[count++] = rest[j];
    }
    return count;
}

/* Drops empty pieces. */
static uint32_t tidy(mv_pixel_rect *pieces, uint32_t count)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count; i++)
        if (!mv_pixel_rect_is_empty(pieces[i]))
            pieces[kept++] = pieces[i];
    return kept;
}

uint32_t mv_occlusion_rest(const mv_occlusion *occlusion, uint32_t shape, mv_pixel_rect rect,
                           mv_pixel_rect pieces[MV_MOST_PIECES])
{
    uint32_t count;

    pieces[0] = rect;
    count = tidy(pieces, 1);
    for (uint32_t i = 0; i < occlusion->count && count > 0; i++)
        if (shape == MV_BACKGROUND || occlusion->all[i].shape > shape)
            count = tidy(pieces, subtract(pieces, count, occlusion->all[i].rect));
    return count;
}
