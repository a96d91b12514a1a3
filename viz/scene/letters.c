#include "viz/scene/letters.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/grow.h"

enum {
    CELL = 192, /* size in pixels of the cell in which a letter is drawn */
    PEN_X = 48,
    PEN_Y = 132, /* position of the letter's origin in the cell */
    MOST_SIZE = 96,
    SLOTS = 8192, /* number of slots, twice as many as are ever used */
    SLOT_BITS = 13,
    MOST_MASKS = 8 << 20, /* bytes */
    PHASES = 4
};

bool mv_letters_init(mv_letters *l, mv_budget *budget, mv_font *font)
{
    *l = (mv_letters){.font = font};
    mv_arena_init(&l->arena, budget);
    l->cell = mv_push_array(&l->arena, uint8_t, CELL * CELL);
    l->slots = mv_push_array(&l->arena, mv_letter, SLOTS);
    return l->cell && l->slots && mv_coverage_init(&l->cover, budget, CELL, CELL);
}

void mv_letters_release(mv_letters *l)
{
    mv_coverage_release(&l->cover);
    mv_arena_release(&l->arena);
}

static void clear(mv_letters *l)
{
    memset(l->slots, 0, SLOTS * sizeof *l->slots);
    l->count = l->mask_count = 0;
}

bool mv_letters_take(const mv_text_style *style)
{
    return style->size * style->scale_x <= MOST_SIZE && style->size * style->scale_y <= MOST_SIZE;
}

/* ---- drawing one letter ------------------------------------------------------------------ */

typedef struct {
    uint8_t *pixels;
    int32_t left, top, right, bottom; /* bounds of the covered pixels */
} cell;

static void take_row(void *to, int32_t x, int32_t y, uint32_t count, const uint8_t *coverage)
{
    cell *c = to;

    memcpy(c->pixels + y * CELL + x, coverage, count);
    c->left = x < c->left ? x : c->left;
    c->right = x + (int32_t)count > c->right ? x + (int32_t)count : c->right;
    c->top = y < c->top ? y : c->top;
    c->bottom = y >= c->bottom ? y + 1 : c->bottom;
}

/* Draws a letter. Returns false when out of memory; the letter is then left out. */
static bool draw_letter(mv_letters *l, const char *text, const mv_text_style *style, double phase,
                        mv_letter *out)
{
    cell c = {.pixels = l->cell, .left = CELL, .top = CELL};
    uint32_t bytes;

    out->advance = mv_font_width(l->font, text, style);
    memset(l->cell, 0, CELL * CELL);
    mv_font_draw(l->font, text, style, PEN_X + phase, PEN_Y, &l->cover);
    mv_coverage_take(&l->cover, take_row, &c);
    if (mv_font_ran_out_of_memory(l->font))
        return false;
    if (c.right <= c.left)
        return true;
    bytes = (uint32_t)((c.right - c.left) * (c.bottom - c.top));
    if (!mv_room_for(&l->arena, l->masks, l->mask_count + bytes, l->mask_capacity))
        return false;
    out->left = c.left - PEN_X;
    out->top = c.top - PEN_Y;
    out->width = c.right - c.left;
    out->height = c.bottom - c.top;
    out->mask = l->mask_count;
    for (int32_t y = c.top; y < c.bottom; y++, l->mask_count += (uint32_t)out->width)
        memcpy(l->masks + l->mask_count, l->cell + y * CELL + c.left, (size_t)out->width);
    return true;
}

/* ---- drawing text ------------------------------------------------------------------------ */

static bool is_letter(const mv_letter *slot, uint64_t key, double size_x, double size_y)
{
    return slot->key == key && slot->size_x == size_x && slot->size_y == size_y;
}

/* Returns the slot of a letter, or the free slot where it belongs. */
static mv_letter *slot_of(mv_letters *l, uint64_t key, double size_x, double size_y)
{
    uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15) ^
                    (uint64_t)(size_x * 64 + size_y * 4096) * UINT64_C(0xff51afd7ed558ccd);
    uint32_t at = (uint32_t)(hash >> (64 - SLOT_BITS));

    static_assert(SLOTS == 1 << SLOT_BITS, "the hash chooses a slot");
    while (l->slots[at].key != 0 && !is_letter(&l->slots[at], key, size_x, size_y))
        at = (at + 1) % SLOTS;
    return &l->slots[at];
}

/* Returns the letter at *text, and moves *text past it. */
static const mv_letter *letter_of(mv_letters *l, const char **text, const mv_text_style *style,
                                  uint32_t phase)
{
    const char *start = *text;
    uint64_t key = (uint64_t)mv_text_next(text) | (uint64_t)phase << 21 |
                   (uint64_t)style->is_bold << 23 | UINT64_C(1) << 63;
    double size_x = style->size * style->scale_x, size_y = style->size * style->scale_y;
    mv_letter *slot = slot_of(l, key, size_x, size_y);
    char letter[8] = {0};

    if (slot->key == key)
        return slot;
    memcpy(letter, start, (size_t)(*text - start));
    if (l->count >= SLOTS / 2 || l->mask_count > MOST_MASKS) {
        clear(l);
        slot = slot_of(l, key, size_x, size_y);
    }
    if (!draw_letter(l, letter, style, (double)phase / PHASES, slot)) {
        l->cover.failed = true;
        *slot = (mv_letter){0};
        return slot;
    }
    slot->key = key;
    slot->size_x = size_x;
    slot->size_y = size_y;
    l->count++;
    return slot;
}

double mv_letters_width(mv_letters *l, const char *text, const mv_text_style *style)
{
    double width = 0;

    while (*text)
        width += letter_of(l, &text, style, 0)->advance;
    return width;
}

void mv_letters_draw(mv_letters *l, const char *text, const mv_text_style *style, double x,
                     double y, mv_letter_put *put, void *to)
{
    bool has_phases = mv_font_is_scalable(l->font);
    int32_t row = (int32_t)floor(y + 0.5);

    if (!has_phases)
        x = floor(x + 0.5);
    while (*text) {
        double whole = floor(x);
        uint32_t phase = has_phases ? (uint32_t)((x - whole) * PHASES) : 0;
        const mv_letter *letter = letter_of(l, &text, style, phase);
        if (letter->width > 0)
            put(to, (int32_t)whole + letter->left, row + letter->top, letter->width, letter->height,
                l->masks + letter->mask);
        x += letter->advance;
    }
}
