/* For fuzz targets: requirements for every scene and every file that memviz draws, from any input.
 * The linker replaces the back ends with mv_svg_write and mv_scene_write_png of this file
 * (-Wl,--wrap), which check the scene and then call the back ends. */
#ifndef MV_WRITTEN_FILES_H
#define MV_WRITTEN_FILES_H

#include "viz/scene/scene.h"

/* Bounds for a picture of a file of some KB: columns of a plot times the shapes in one column. */
#define MVT_MOST_SHAPES (1u << 20)
#define MVT_MOST_POINTS (1u << 22)
#define MVT_MOST_SVG    (64u << 20)

/* Every point is finite and belongs to its shape; the numbers of points and shapes are within
 * the bounds. */
void mvt_check_scene(const mv_scene *scene);

/* Writes the page that pages are made from into the private folder, and lets memviz find it. */
void mvt_put_page(void);

/* Takes a file out of the private folder and checks it by its ending: .svg, .png (with the size
 * of the last scene), .html, and text for everything else. Without `is_wanted` the file must
 * not exist. */
void mvt_check_written(const char *name, bool is_wanted);

/* Prints the error and its file, and aborts. */
_Noreturn void mvt_finding(const char *what, const char *of);

#endif
