#include "view/sdl/glyphs.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    SIDE = 1024, /* of the texture */
    CELL = 128,  /* pixels in which one letter is drawn */
    PEN_X = 32,
    PEN_Y = 88,   /* of its origin there */
    SLOTS = 8192, /* twice what is ever used */
    PHASES = 4
};

bool mv_glyphs_init(mv_glyphs *g, mv_arena *arena, const mv_sdl *sdl, SDL_Renderer *renderer,
                    mv_font_choice font)
{
    *g = (mv_glyphs){.sdl = sdl, .renderer = renderer};
    g->font = mv_font_open(arena, font);
    g->pixels = mv_push_array(arena, uint32_t, CELL * CELL);
    g->slots = mv_push_array(arena, mv_glyph, SLOTS);
    return g->font && g->pixels && g->slots &&
           mv_coverage_init(&g->cover, arena->budget, CELL, CELL);
}

void mv_glyphs_release(mv_glyphs *g)
{
    if (g->texture)
        g->sdl->DestroyTexture(g->texture);
    mv_font_close(g->font);
    mv_coverage_release(&g->cover);
    *g = (mv_glyphs){0};
}

/* Clears the texture. */
static void clear(mv_glyphs *g)
{
    memset(g->slots, 0, SLOTS * sizeof *g->slots);
    g->count = 0;
    g->row_x = g->row_y = g->row_h = 0;
}

/* ---- drawing one letter ------------------------------------------------------------------ */

typedef struct {
    uint32_t *pixels;
    int left, top, right, bottom; /* coverage of the pixels */
} cell;

static void take_row(void *to, int32_t x, int32_t y, uint32_t count, const uint8_t *coverage)
{
    cell *c = to;

    for (uint32_t i = 0; i < count; i++)
        c->pixels[y * CELL + x + (int32_t)i] = (uint32_t)coverage[i] << 24 | 0xffffff;
    c->left = x < c->left ? x : c->left;
    c->right = x + (int)count > c->right ? x + (int)count : c->right;
    c->top = y < c->top ? y : c->top;
    c->bottom = y >= c->bottom ? y + 1 : c->bottom;
}

/* Finds room in the texture; false when it is full. */
static bool find_room(mv_glyphs *g, int w, int h, SDL_Rect *out)
{
    if (g->row_x + w > SIDE) {
        g->row_x = 0;
        g->row_y += g->row_h + 1;
        g->row_h = 0;
    }
    if (g->row_y + h > SIDE)
        return false;
    *out = (SDL_Rect){g->row_x, g->row_y, w, h};
    g->row_x += w + 1;
    g->row_h = h > g->row_h ? h : g->row_h;
    return true;
}

static bool make_texture(mv_glyphs *g)
{
    if (g->texture)
        return true;
    g->texture = g->sdl->CreateTexture(g->renderer, SDL_PIXELFORMAT_ARGB8888,
                                       SDL_TEXTUREACCESS_STATIC, SIDE, SIDE);
    if (!g->texture)
        return false;
    g->sdl->SetTextureBlendMode(g->texture, SDL_BLENDMODE_BLEND);
    return true;
}

/* Draws the character, UTF-8 in `text`, as the glyph; false when the texture has no room. */
static bool draw_letter(mv_glyphs *g, const char *text, const mv_text_style *style, double phase,
                        mv_glyph *out)
{
    cell c = {.pixels = g->pixels, .left = CELL, .top = CELL};

    out->advance = (float)mv_font_width(g->font, text, style);
    out->place = (SDL_Rect){0};
    memset(g->pixels, 0, CELL * CELL * sizeof *g->pixels);
    mv_font_draw(g->font, text, style, PEN_X + phase, PEN_Y, &g->cover);
    mv_coverage_take(&g->cover, take_row, &c);
    if (c.right <= c.left || !make_texture(g))
        return true;
    if (!find_room(g, c.right - c.left, c.bottom - c.top, &out->place))
        return false;
    g->sdl->UpdateTexture(g->texture, &out->place, g->pixels + c.top * CELL + c.left, CELL * 4);
    out->left = c.left - PEN_X;
    out->top = c.top - PEN_Y;
    return true;
}

/* ---- texts ------------------------------------------------------------------------------- */

/* The slot of a key: its own, or the free one where it belongs. */
static mv_glyph *slot_of(mv_glyphs *g, uint64_t key)
{
    uint32_t at = (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 51);

    static_assert(SLOTS == 1 << 13, "13 bits of the hash are used");
    while (g->slots[at].key != 0 && g->slots[at].key != key)
        at = (at + 1) % SLOTS;
    return &g->slots[at];
}

/* The letter at *text, which is moved after it. */
static const mv_glyph *glyph_of(mv_glyphs *g, const char **text, const mv_text_style *style,
                                uint32_t phase)
{
    const char *start = *text;
    uint64_t key = (uint64_t)mv_text_next(text) | (uint64_t)phase << 21 |
                   (uint64_t)style->is_bold << 23 | (uint64_t)(style->size * 16) << 24 |
                   UINT64_C(1) << 63;
    mv_glyph *slot = slot_of(g, key);
    char letter[8] = {0};

    if (slot->key == key)
        return slot;
    memcpy(letter, start, (size_t)(*text - start));
    if (g->count >= SLOTS / 2) {
        clear(g);
        slot = slot_of(g, key);
    }
    if (!draw_letter(g, letter, style, (double)phase / PHASES, slot)) {
        clear(g);
        slot = slot_of(g, key);
        draw_letter(g, letter, style, (double)phase / PHASES, slot);
    }
    slot->key = key;
    g->count++;
    return slot;
}

static float width_of(mv_glyphs *g, const char *text, const mv_text_style *style)
{
    float width = 0;

    while (*text)
        width += glyph_of(g, &text, style, 0)->advance;
    return width;
}

void mv_glyphs_draw(mv_glyphs *g, const mv_shape *s, mv_point at)
{
    mv_text_style style = {.size = s->width, .scale_x = 1, .scale_y = 1, .is_bold = s->is_bold};
    const char *text = s->text;
    float x = at.x, y = floorf(at.y + 0.5f);

    if (!text || !(s->width > 0 && s->width < CELL) || (s->fill & 0xff) == 0)
        return;
    if (s->anchor != MV_ANCHOR_START)
        x -= width_of(g, text, &style) * (s->anchor == MV_ANCHOR_END ? 1 : 0.5f);
    if (!mv_font_is_scalable(g->font))
        x = floorf(x + 0.5f);
    if (make_texture(g)) {
        g->sdl->SetTextureColorMod(g->texture, (uint8_t)(s->fill >> 24), (uint8_t)(s->fill >> 16),
                                   (uint8_t)(s->fill >> 8));
        g->sdl->SetTextureAlphaMod(g->texture, (uint8_t)s->fill);
    }
    while (*text) {
        float whole = floorf(x);
        uint32_t phase = mv_font_is_scalable(g->font) ? (uint32_t)((x - whole) * PHASES) : 0;
        const mv_glyph *glyph = glyph_of(g, &text, &style, phase);
        SDL_Rect place = {(int)whole + glyph->left, (int)y + glyph->top, glyph->place.w,
                          glyph->place.h};
        if (place.w > 0)
            g->sdl->RenderCopy(g->renderer, g->texture, &glyph->place, &place);
        x += glyph->advance;
    }
}
