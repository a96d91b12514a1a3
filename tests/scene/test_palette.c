/* Colours must be distinguishable, even for people who cannot see red, green or blue. */
#include <criterion/criterion.h>
#include <math.h>

#include "viz/scene/palette.h"

typedef struct {
    double l, a, b;
} lab;

/* G. M. Machado, M. M. Oliveira, L. A. F. Fernandes, "A Physiologically-based Model for Simulation
 * of Color Vision Deficiency", 2009: severity 1, on linear sRGB. */
static const struct {
    const char *name;
    double see[3][3];
} visions[] = {
    {"normal", {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
    {"without red",
     {{0.152286, 1.052583, -0.204868},
      {0.114503, 0.786281, 0.099216},
      {-0.003882, -0.048116, 1.051998}}},
    {"without green",
     {{0.367322, 0.860646, -0.227968},
      {0.280085, 0.672501, 0.047413},
      {-0.011820, 0.042940, 0.968881}}},
    {"without blue",
     {{1.255528, -0.076749, -0.178779},
      {-0.078411, 0.930809, 0.147602},
      {0.004733, 0.691367, 0.303900}}},
};
enum { NORMAL, NO_RED, NO_GREEN, NO_BLUE, VISIONS };

static double linear(uint32_t part)
{
    double c = part / 255.0;

    return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

static double lightness(double t)
{
    return t > 216.0 / 24389 ? cbrt(t) : (24389.0 / 27 * t + 16) / 116;
}

/* Converts the colour as that person sees it to CIELAB under D65. */
static lab seen(uint32_t colour, int vision)
{
    double in[3] = {linear(colour >> 24), linear(colour >> 16 & 0xff), linear(colour >> 8 & 0xff)};
    double c[3], x, y, z;

    for (int i = 0; i < 3; i++) {
        const double *row = visions[vision].see[i];
        c[i] = fmin(1, fmax(0, row[0] * in[0] + row[1] * in[1] + row[2] * in[2]));
    }
    x = lightness((0.4124564 * c[0] + 0.3575761 * c[1] + 0.1804375 * c[2]) / 0.95047);
    y = lightness(0.2126729 * c[0] + 0.7151522 * c[1] + 0.0721750 * c[2]);
    z = lightness((0.0193339 * c[0] + 0.1191920 * c[1] + 0.9503041 * c[2]) / 1.08883);
    return (lab){116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

/* A difference of 2.3 is just noticeable side by side. */
static double distance(uint32_t one, uint32_t other, int vision)
{
    lab a = seen(one, vision), b = seen(other, vision);

    return sqrt((a.l - b.l) * (a.l - b.l) + (a.a - b.a) * (a.a - b.a) + (a.b - b.b) * (a.b - b.b));
}

static void apart(uint32_t one, uint32_t other, int vision, double least)
{
    cr_expect_geq(distance(one, other, vision), least, "%06x and %06x are %.1f apart, %s", one >> 8,
                  other >> 8, distance(one, other, vision), visions[vision].name);
}

Test(palette, the_simulation_equals_the_published_one)
{
    cr_expect_float_eq(seen(0xffffffff, NORMAL).l, 100, 0.01);
    for (int v = NORMAL; v < VISIONS; v++) {
        cr_expect_float_eq(seen(0x808080ff, v).a, 0, 0.05, "greys stay grey");
        cr_expect_float_eq(seen(0x808080ff, v).b, 0, 0.05);
    }
    cr_expect_lt(distance(0x9c6c00ff, 0xd0021bff, NO_GREEN), 3, "brown is red without green");
    cr_expect_gt(distance(0x9c6c00ff, 0xd0021bff, NORMAL), 50);
}

Test(palette, sites_are_distinguished)
{
    static const double base[VISIONS] = {26, 20, 16, 16}, any[VISIONS] = {14, 8.5, 8.5, 4.4};

    for (uint32_t i = 0; i < MV_SITE_COLOURS; i++)
        for (uint32_t j = 0; j < i; j++)
            for (int v = NORMAL; v < VISIONS; v++)
                apart(mv_site_colour(i), mv_site_colour(j), v,
                      i < MV_BASE_COLOURS ? base[v] : any[v]);
}

/* Code lines and holders of the whole device are shown in one window, so no colour may mean two
 * things. */
Test(palette, no_holder_looks_like_a_site)
{
    for (uint32_t i = 0; i < MV_HOLDER_COLOURS; i++) {
        for (uint32_t j = 0; j < MV_SITE_COLOURS; j++)
            apart(mv_holder_colour(i), mv_site_colour(j), NORMAL, 19.5);
        for (uint32_t j = 0; j < i; j++)
            for (int v = NORMAL; v < NO_BLUE; v++)
                apart(mv_holder_colour(i), mv_holder_colour(j), v, 19.5);
        apart(mv_holder_colour(i), mv_theme_of(false)->leak, NORMAL, 36);
        apart(mv_holder_colour(i), mv_theme_of(true)->leak, NORMAL, 36);
    }
}

/* Red is only for leaks, grey only for blocks without a stack. */
Test(palette, leaks_and_greys_do_not_look_like_a_site)
{
    static const double grey[VISIONS] = {11, 6.8, 6.8, 3.4};

    for (int dark = 0; dark < 2; dark++) {
        const mv_theme *t = mv_theme_of(dark);
        const uint32_t greys[] = {t->unknown, t->native, t->rest};
        for (int v = NORMAL; v < VISIONS; v++) {
            for (uint32_t i = 0; i < MV_SITE_COLOURS; i++) {
                apart(mv_site_colour(i), t->leak, v, v == NO_BLUE ? 36 : 19.5);
                for (int g = 0; g < 3; g++)
                    apart(mv_site_colour(i), greys[g], v, grey[v]);
            }
            for (uint32_t i = 0; i < MV_MUTED_COLOURS; i++)
                apart(mv_muted_colour(i), t->leak, v, 19.5);
            for (uint32_t i = 0; i < MV_HASH_COLOURS; i++)
                apart(mv_hash_colour(i), t->leak, v, 14);
            for (int g = 0; g < 3; g++) {
                apart(greys[g], t->leak, v, 19.5);
                apart(greys[g], greys[(g + 1) % 3], v, v == NO_BLUE ? 5 : 9.5);
            }
        }
    }
}

/* WCAG 2. */
static double contrast(uint32_t one, uint32_t other)
{
    double a = 0.2126 * linear(one >> 24) + 0.7152 * linear(one >> 16 & 0xff) +
               0.0722 * linear(one >> 8 & 0xff) + 0.05;
    double b = 0.2126 * linear(other >> 24) + 0.7152 * linear(other >> 16 & 0xff) +
               0.0722 * linear(other >> 8 & 0xff) + 0.05;

    return a > b ? a / b : b / a;
}

Test(palette, texts_and_lines_stand_out)
{
    for (int dark = 0; dark < 2; dark++) {
        const mv_theme *t = mv_theme_of(dark);
        const uint32_t texts[] = {t->text, t->faint_text, t->reserved, t->alarm};
        const uint32_t lines[] = {t->outline, t->reserved, t->active, t->alarm};
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            cr_expect_geq(contrast(texts[i], t->background), 4.5, "%06x", texts[i] >> 8);
            cr_expect_geq(contrast(texts[i], t->plot), 4.5, "%06x", texts[i] >> 8);
        }
        for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
            cr_expect_geq(contrast(lines[i], t->plot), 3);
    }
}

/* Sites must get different hues as long as there are any left, the plain ones first, and the same
 * hash must get the same hue. */
Test(palette, each_hue_is_used_once)
{
    uint32_t used = 0, again = 0, seen = 0;

    for (uint32_t i = 0; i < MV_SITE_COLOURS; i++) {
        uint32_t hue = mv_site_hue(7, &used);
        cr_assert_lt(hue, MV_SITE_COLOURS);
        cr_assert_eq(hue < MV_BASE_COLOURS, i < MV_BASE_COLOURS);
        cr_assert_not(seen >> hue & 1);
        seen |= 1u << hue;
    }
    cr_assert_eq(used, (1u << MV_SITE_COLOURS) - 1);
    for (uint64_t hash = 0; hash < 100; hash++) {
        again = 0;
        cr_assert_eq(mv_site_hue(hash, &again), hash % MV_BASE_COLOURS);
    }
    cr_assert_lt(mv_site_hue(3, &used), MV_SITE_COLOURS, "and one more when all are taken");
}
