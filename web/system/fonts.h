/* The page's fonts, which are stored as files at the paths that the rasteriser searches
 * (viz/scene/text_raster.c). web/make_fonts.py generates the table from system fonts. */
#ifndef MV_WEB_FONTS_H
#define MV_WEB_FONTS_H

#include <stdint.h>

typedef struct {
    const char *path;
    const uint8_t *bytes; /* [length] */
    uint32_t length;
} mv_page_font;

enum { MV_PAGE_FONTS = 2 };

extern const mv_page_font mv_page_fonts[MV_PAGE_FONTS];

#endif
