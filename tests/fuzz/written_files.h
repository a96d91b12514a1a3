/* For fuzz targets: checks on every scene and every file that memviz draws from any input. The
 * linker replaces the back ends with mv_svg_write and mv_scene_write_png from this file
 * (-Wl,--wrap). They check the scene and then call the back ends. */
#pragma once

#include "tests/fixture/soundness.h"
#include "view/state/session.h"
#include "viz/scene/scene.h"

/* Limits for a picture of a file of a few KB: the number of columns in a plot times the number of
 * shapes in one column. */
#define MVT_MOST_SHAPES (1u << 20)
#define MVT_MOST_POINTS (1u << 22)
#define MVT_MOST_SVG    (64u << 20)

/* Checks that every point is finite and belongs to its shape, and that the numbers of points and
 * shapes are within the limits. */
void mvt_check_scene(const mv_scene *scene);

/* Writes the template from which pages are made into the private folder, and makes memviz find
 * it. */
void mvt_put_page(void);

/* Reads a file in the private folder, removes it, and checks it by its extension: .svg, .png (which
 * must have the size of the last scene), .html, and text for everything else. If `is_wanted` is
 * false, the file must not exist. */
void mvt_check_written(const char *name, bool is_wanted);

/* Checks that a session (or a link) is the same when it has been written, read and written again. */
typedef mv_code mvt_session_read(mv_arena *arena, mv_span text, mv_session *out, mv_err *err);
typedef const char *mvt_session_write(mv_arena *arena, const mv_session *session);
void mvt_check_session(mv_arena *arena, const mv_session *session, mvt_session_read *read,
                       mvt_session_write *write);
