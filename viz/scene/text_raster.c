#include "viz/scene/text_raster.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include <ft2build.h>
#include FT_FREETYPE_H
#include FT_ADVANCES_H
#include FT_MODULE_H
#include FT_OUTLINE_H

#include "base/resource_path.h"
#include "base/utf8.h"
#include "viz/scene/bitmap_font.h"
#include "viz/scene/font_memory.h"
#include "viz/scene/stroke.h"

/* The paths at which fonts are looked up. The first is relative to the program, for fonts that are
 * installed with a release. The others are those of Debian (two paths), Fedora and Arch. */
static const struct {
    const char *regular, *bold;
} places[] = {
    {"../share/memviz/fonts/DejaVuSans.ttf", "../share/memviz/fonts/DejaVuSans-Bold.ttf"},
    {"/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
     "/usr/share/fonts/truetype/dejavu/DejaVuSans-Bold.ttf"},
    {"/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf",
     "/usr/share/fonts/truetype/liberation/LiberationSans-Bold.ttf"},
    {"/usr/share/fonts/dejavu-sans-fonts/DejaVuSans.ttf",
     "/usr/share/fonts/dejavu-sans-fonts/DejaVuSans-Bold.ttf"},
    {"/usr/share/fonts/TTF/DejaVuSans.ttf", "/usr/share/fonts/TTF/DejaVuSans-Bold.ttf"},
};

enum { CURVE_PARTS = 6, BITMAP_SIZE = 11 /* text size in pixels at which a dot is one pixel */ };

struct mv_font {
    mv_font_memory memory; /* memory of the font library */
    FT_Library library;
    FT_Face regular, bold; /* faces of a scalable font, which may be the same; NULL: the bitmap font
                            * is used */
};

static bool open_face(mv_font *font, const char *place, FT_Face *face)
{
    char path[PATH_MAX];

    if (*place != '/') {
        if (!mv_resource_path(path, sizeof path, place))
            return false;
        place = path;
    }
    if (FT_New_Face(font->library, place, 0, face) == 0 && FT_IS_SCALABLE(*face))
        return true;
    *face = NULL; /* closes a font that the library has opened */
    return false;
}

static bool open_library(mv_font *font, mv_arena *arena)
{
    mv_font_memory_init(&font->memory, arena);
    if (FT_New_Library(&font->memory.calls, &font->library) != 0)
        return false;
    FT_Add_Default_Modules(font->library);
    FT_Set_Default_Properties(font->library);
    return true;
}

mv_font *mv_font_open(mv_arena *arena, mv_font_choice choice)
{
    mv_font *font = mv_push_struct(arena, mv_font);
    bool open = font && choice != MV_FONT_BITMAP && open_library(font, arena);

    if (!font)
        return NULL;
    for (size_t i = 0; open && i < sizeof places / sizeof *places && !font->regular; i++) {
        if (!open_face(font, places[i].regular, &font->regular))
            continue;
        if (!open_face(font, places[i].bold, &font->bold))
            font->bold = font->regular;
    }
    if (!font->memory.lacked)
        return font;
    mv_font_close(font);
    return NULL;
}

void mv_font_close(mv_font *font)
{
    if (font && font->library)
        FT_Done_Library(font->library);
    if (font)
        *font = (mv_font){0};
}

bool mv_font_is_scalable(const mv_font *font)
{
    return font->regular != NULL;
}

bool mv_font_ran_out_of_memory(mv_font *font)
{
    bool lacked = font->memory.lacked;

    font->memory.lacked = false;
    return lacked;
}

uint32_t mv_text_next(const char **at)
{
    uint32_t code = mv_utf8_next_at(at);

    return code == MV_UTF8_BAD || mv_utf8_is_hidden(code) ? 0xfffd : code;
}

/* ---- scalable fonts ---------------------------------------------------------------------- */

typedef struct {
    mv_coverage *out;
    double x, y;      /* position of the letter's origin */
    FT_Vector at;     /* end of the last line */
    FT_Vector origin; /* start of the contour */
} contour;

static void edge_to(contour *c, FT_Vector to)
{
    mv_coverage_edge(c->out, mv_stroke_unit(c->x + (double)c->at.x / 64),
                     mv_stroke_unit(c->y - (double)c->at.y / 64),
                     mv_stroke_unit(c->x + (double)to.x / 64),
                     mv_stroke_unit(c->y - (double)to.y / 64));
    c->at = to;
}

static int move_to(const FT_Vector *to, void *data)
{
    contour *c = data;

    edge_to(c, c->origin);
    c->at = c->origin = *to;
    return 0;
}

static int line_to(const FT_Vector *to, void *data)
{
    edge_to(data, *to);
    return 0;
}

static int cubic_to(const FT_Vector *a, const FT_Vector *b, const FT_Vector *to, void *data)
{
    contour *c = data;
    FT_Vector from = c->at;

    for (int i = 1; i <= CURVE_PARTS; i++) {
        FT_Pos t = i, s = CURVE_PARTS - i, whole = CURVE_PARTS * CURVE_PARTS * CURVE_PARTS;
        FT_Pos w[] = {s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t};
        FT_Vector point = {(w[0] * from.x + w[1] * a->x + w[2] * b->x + w[3] * to->x) / whole,
                           (w[0] * from.y + w[1] * a->y + w[2] * b->y + w[3] * to->y) / whole};
        edge_to(c, point);
    }
    return 0;
}

static int conic_to(const FT_Vector *a, const FT_Vector *to, void *data)
{
    contour *c = data;
    FT_Vector from = c->at;

    for (int i = 1; i <= CURVE_PARTS; i++) {
        FT_Pos t = i, s = CURVE_PARTS - i, whole = CURVE_PARTS * CURVE_PARTS;
        FT_Vector point = {(s * s * from.x + 2 * s * t * a->x + t * t * to->x) / whole,
                           (s * s * from.y + 2 * s * t * a->y + t * t * to->y) / whole};
        edge_to(c, point);
    }
    return 0;
}

/* Returns the face at the size of the style; NULL: it is not available. */
static FT_Face face_at(mv_font *font, const mv_text_style *style)
{
    FT_Face face = style->is_bold ? font->bold : font->regular;
    double width = style->size * style->scale_x * 64, height = style->size * style->scale_y * 64;

    if (!(width >= 1 && width < 1 << 20 && height >= 1 && height < 1 << 20))
        return NULL;
    /* A resolution of 72 dots per inch makes a point equal to a pixel. */
    return FT_Set_Char_Size(face, (FT_F26Dot6)width, (FT_F26Dot6)height, 72, 72) ? NULL : face;
}

/* Letters keep the widths that they were designed with, so that a text is as wide as the layout
 * assumed. Only heights are fitted to the pixel grid, which keeps letters crisp. */
enum { LOAD = FT_LOAD_TARGET_LIGHT | FT_LOAD_NO_BITMAP };

static double advance_of(FT_Face face, FT_UInt glyph)
{
    FT_Fixed advance;

    if (FT_Get_Advance(face, glyph, FT_LOAD_NO_HINTING, &advance) != 0)
        return 0;
    return (double)advance / 65536;
}

static void draw_letter(FT_Face face, FT_UInt glyph, double x, double y, mv_coverage *out)
{
    static const FT_Outline_Funcs functions = {
        .move_to = move_to, .line_to = line_to, .conic_to = conic_to, .cubic_to = cubic_to};
    contour c = {.out = out, .x = x, .y = y};

    if (FT_Load_Glyph(face, glyph, LOAD) != 0 || face->glyph->format != FT_GLYPH_FORMAT_OUTLINE)
        return;
    if (FT_Outline_Decompose(&face->glyph->outline, &functions, &c) == 0)
        edge_to(&c, c.origin);
}

/* ---- the bitmap font --------------------------------------------------------------------- */

static double dot_size(double pixels)
{
    if (pixels < BITMAP_SIZE - 2)
        return pixels / BITMAP_SIZE;
    return pixels < BITMAP_SIZE ? 1 : floor(pixels / BITMAP_SIZE + 0.3);
}

static void draw_dot(mv_coverage *out, double x, double y, double w, double h)
{
    int32_t left = mv_stroke_unit(x), right = mv_stroke_unit(x + w);
    int32_t top = mv_stroke_unit(y), bottom = mv_stroke_unit(y + h);

    mv_coverage_edge(out, left, bottom, left, top);
    mv_coverage_edge(out, right, top, right, bottom);
}

static void draw_bitmap(uint32_t character, double x, double y, double w, double h,
                        mv_coverage *out)
{
    for (uint32_t row = 0; row < MV_BITMAP_ROWS; row++)
        for (uint32_t column = 0; column < mv_bitmap_width(character); column++)
            if (mv_bitmap_dot(character, column, row))
                draw_dot(out, x + column * w, y + ((double)row - MV_BITMAP_ASCENT) * h, w, h);
}

/* ---- both -------------------------------------------------------------------------------- */

/* Draws the text if `out` is set. Returns its width. */
static double set_text(mv_font *font, const char *text, const mv_text_style *style, double x,
                       double y, mv_coverage *out)
{
    FT_Face face = font->regular ? face_at(font, style) : NULL;
    double w = dot_size(style->size * style->scale_x), h = dot_size(style->size * style->scale_y);
    double start = x;

    if (font->regular && !face)
        return 0;
    while (*text) {
        uint32_t character = mv_text_next(&text);
        FT_UInt glyph = face ? FT_Get_Char_Index(face, character) : 0;
        if (out && face)
            draw_letter(face, glyph, x, y, out);
        else if (out)
            draw_bitmap(character, x, y, w, h, out);
        x += face ? advance_of(face, glyph) : (mv_bitmap_width(character) + 1) * w;
    }
    return x - start;
}

double mv_font_width(mv_font *font, const char *text, const mv_text_style *style)
{
    return set_text(font, text, style, 0, 0, NULL);
}

void mv_font_draw(mv_font *font, const char *text, const mv_text_style *style, double x, double y,
                  mv_coverage *out)
{
    bool is_fine = font->regular || dot_size(style->size * style->scale_y) < 1;

    /* Letters are placed on a row of pixels, and dots are whole pixels. */
    set_text(font, text, style, is_fine ? x : floor(x + 0.5), floor(y + 0.5), out);
    if (style->is_bold && !font->regular)
        set_text(font, text, style, floor(x + 0.5) + dot_size(style->size * style->scale_x) / 2,
                 floor(y + 0.5), out);
}
