/* For fuzz targets: what every scene and every file must be that memviz draws, whatever it was made
 * from. The linker gives mv_svg_write and mv_scene_write_png of this file in place of the back ends
 * (-Wl,--wrap), which draw afterwards. */
#ifndef MV_WRITTEN_FILES_H
#define MV_WRITTEN_FILES_H

#include "viz/scene/scene.h"

/* Bounds of a picture of a file of some KB: columns of a plot times what is drawn in one. */
#define MVT_MOST_SHAPES (1u << 20)
#define MVT_MOST_POINTS (1u << 22)
#define MVT_MOST_SVG    (64u << 20)

/* Every point is finite and belongs to its shape; there are no more than the bounds say. */
void mvt_check_scene(const mv_scene *scene);

/* Writes the page that pages are made from into the private folder, and has it found. */
void mvt_put_page(void);

/* Takes a file out of the private folder, and looks at it by its ending: .svg, .png (of the size of
 * the last scene), .html, and text for everything else. Without `is_wanted` it must not be there.
 */
void mvt_check_written(const char *name, bool is_wanted);

/* For a finding: prints the error and its file, and aborts. */
_Noreturn void mvt_finding(const char *what, const char *of);

#endif
