/* Finds the part of a picture in which a scene differs from the one drawn before it.
 *
 * The picture is cut into cells of 64 x 64 pixels. The key of a cell is a hash of all shapes that
 * touch it, in drawing order. It is a hash of their content, and not of their addresses. If the key
 * of a cell has not changed, neither have its pixels, so nothing is drawn there.
 *
 *     mv_damage_begin, mv_damage_add for each shape ..., mv_damage_end ──► rectangles to draw
 *
 * The time is proportional to the number of shapes and points, and to the number of cells that each
 * shape touches. */
#pragma once

#include "viz/scene/pixel_rect.h"
#include "viz/scene/scene.h"

enum { MV_DAMAGE_CELL = 64, MV_MOST_DAMAGE = 12 };

typedef struct {
    mv_arena arena;
    uint32_t width, height; /* size in pixels */
    uint32_t columns, rows; /* size in cells */
    uint64_t *now, *before; /* [rows][columns] keys */
    bool is_known;          /* the picture matches `before` */
    uint64_t turn;
    uint32_t count;
    mv_pixel_rect rects[MV_MOST_DAMAGE]; /* [count] rectangles that do not overlap */
} mv_damage;

void mv_damage_init(mv_damage *damage, mv_budget *budget);
void mv_damage_release(mv_damage *damage);

/* Begins with the scene's background. If the size has changed, everything differs. Returns false
 * when out of memory. */
bool mv_damage_begin(mv_damage *damage, const mv_scene *scene, uint32_t width, uint32_t height);

/* Adds a shape, which may change pixels only inside `box`. Images without a key always differ. */
void mv_damage_add(mv_damage *damage, const mv_scene *scene, const mv_shape *shape,
                   mv_pixel_rect box);

/* Finds `rects`. Drawing the scene inside these makes the picture match the scene. */
void mv_damage_end(mv_damage *damage);

/* Records that the picture no longer matches the last scene, so the next scene is drawn
 * completely. */
void mv_damage_forget(mv_damage *damage);
