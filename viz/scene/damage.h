/* Which part of a picture differs from the scene that was drawn before.
 *
 * The picture is cut into cells of 64 x 64 pixels. A cell's key is made of all shapes that touch
 * it, in drawing order: of what they are, not of where they are kept. Where keys are equal, the
 * pixels are: nothing is drawn there.
 *
 *     mv_damage_begin, mv_damage_add for each shape ..., mv_damage_end ──► rectangles to draw
 *
 * Time: the shapes with their points, and for each the cells that it touches. */
#ifndef MV_DAMAGE_H
#define MV_DAMAGE_H

#include "viz/scene/pixel_rect.h"
#include "viz/scene/scene.h"

enum { MV_DAMAGE_CELL = 64, MV_MOST_DAMAGE = 12 };

typedef struct {
    mv_arena arena;
    uint32_t width, height; /* pixels */
    uint32_t columns, rows; /* cells */
    uint64_t *now, *before; /* [rows][columns] keys */
    bool is_known;          /* `before` is what the picture shows */
    uint64_t turn;
    uint32_t count;
    mv_pixel_rect rects[MV_MOST_DAMAGE]; /* [count] apart from each other */
} mv_damage;

void mv_damage_init(mv_damage *damage, mv_budget *budget);
void mv_damage_release(mv_damage *damage);

/* Begins with the scene's background. Another size makes everything differ. False when memory is
 * out. */
bool mv_damage_begin(mv_damage *damage, const mv_scene *scene, uint32_t width, uint32_t height);

/* A shape that may change pixels of `box` and no others. Images without a key differ always. */
void mv_damage_add(mv_damage *damage, const mv_scene *scene, const mv_shape *shape,
                   mv_pixel_rect box);

/* Finds `rects`. What is drawn there makes the picture that of the scene. */
void mv_damage_end(mv_damage *damage);

/* The picture is not what the last scene made it: the next one is drawn whole. */
void mv_damage_forget(mv_damage *damage);

#endif
