/* The fonts of the page, as files where the rasteriser looks for them (viz/scene/text_raster.c).
 * web/make_fonts.py makes the table, out of the system's own. */
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
