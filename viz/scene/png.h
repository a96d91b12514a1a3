/* Writes pictures as PNG files. */
#pragma once

#include "viz/scene/raster.h"

/* Writes a PNG file, without an alpha channel if no pixel of the picture is transparent. Temporary
 * memory counts against `budget`. Fails when out of memory. Write errors are reported by
 * mv_sink_commit. */
mv_code mv_png_write(mv_budget *budget, const mv_image *image, mv_sink *sink, mv_err *err);

/* Returns the PNG file as bytes in `arena`. */
mv_code mv_png_encode(mv_arena *arena, const mv_image *image, mv_span *out, mv_err *err);

/* Back end: writes the scene as a PNG file, with the font found on the system. Returns MV_LIMIT if
 * the scene is larger than MV_IMAGE_MOST. */
mv_code mv_scene_write_png(mv_budget *budget, const mv_scene *scene, mv_sink *sink, mv_err *err);
