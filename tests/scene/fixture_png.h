/* PNG files in tests, read by libpng and not by memviz. */
#pragma once

#include "viz/scene/raster.h"

/* Reads a file as RGBA into mvt_memory(). The width is 0 if the file is not a picture. */
mv_image mvt_png_read(const char *path);

/* Writes a picture as memviz does. */
void mvt_png_write(const mv_image *image, const char *path);
