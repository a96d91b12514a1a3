/* What every picture must keep, whatever it is of. */
#ifndef MV_FIXTURE_SCENE_H
#define MV_FIXTURE_SCENE_H

#include "tests/fixture.h"
#include "viz/scene.h"

/* All of these: no text meets another or leaves the picture, each has a contrast of 4.5 to what is
 * below it, no point is outside, the SVG file is below 5 MB. */
void mvt_scene_check(const mv_scene *scene, const char *name);

void mvt_scene_check_texts(const mv_scene *scene, const char *name);
void mvt_scene_check_contrasts(const mv_scene *scene, const char *name);
void mvt_scene_check_inside(const mv_scene *scene, const char *name);
uint64_t mvt_scene_svg_bytes(const mv_scene *scene);

/* Whether a text contains this; whether a text for the pointer does. */
bool mvt_scene_says(const mv_scene *scene, const char *text);
bool mvt_scene_hovers(const mv_scene *scene, const char *text);

/* Beside testdata/golden/NAME.scene; MV_BLESS=1 in the environment rewrites it. */
void mvt_scene_golden(const mv_scene *scene, const char *name);

typedef struct {
    float top, bottom;
} mvt_extent;

/* Where the vertical line at x crosses a filled shape: pairs of entry and exit, by y. */
uint32_t mvt_scene_cross(const mv_scene *scene, const mv_shape *s, float x, mvt_extent *out,
                         uint32_t most);

bool mvt_shape_is_filled(const mv_shape *s);

#endif
