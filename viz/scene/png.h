/* Pictures as PNG files. */
#ifndef MV_PNG_H
#define MV_PNG_H

#include "viz/scene/raster.h"

/* Without an alpha channel if no pixel of the picture is transparent. Temporary memory counts
 * against `budget`. Fails when out of memory; mv_sink_commit reports failed writes. */
mv_code mv_png_write(mv_budget *budget, const mv_image *image, mv_sink *sink, mv_err *err);

/* The PNG file as bytes in `arena`. */
mv_code mv_png_encode(mv_arena *arena, const mv_image *image, mv_span *out, mv_err *err);

/* Back end: the scene as one PNG file, in the font found on the system. MV_LIMIT when it is larger
 * than MV_IMAGE_MOST. */
mv_code mv_scene_write_png(mv_budget *budget, const mv_scene *scene, mv_sink *sink, mv_err *err);

#endif
