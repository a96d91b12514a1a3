/* Scenes as pixels: the pixels of each kind of shape, and whole pictures compared with golden
 * files, byte for byte. */
#include "tests/fixture/fixture_scene.h"
#include "tests/scene/fixture_png.h"
#include "view/paper/paper.h"
#include "viz/scene/png.h"

typedef struct {
    mv_arena *arena;
    mv_scene scene;
    mv_image image;
} drawing;

static drawing d;

static void begin(float width, float height)
{
    d = (drawing){.arena = mvt_memory()};
    mv_scene_init(&d.scene, d.arena, width, height, 0xffffffff);
}

static void draw(void)
{
    mvt_ok(mv_raster_draw(d.arena, &d.scene, &(mv_raster_opts){.font = MV_FONT_BITMAP}, &d.image,
                          mvt_err()));
}

/* 0xRRGGBBAA, multiplied by alpha. */
static uint32_t pixel(uint32_t x, uint32_t y)
{
    const uint8_t *p = d.image.pixels + ((uint64_t)y * d.image.width + x) * 4;

    cr_assert(x < d.image.width && y < d.image.height);
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* ---- shapes ------------------------------------------------------------------------------ */

Test(raster, rectangles_cover_their_pixels)
{
    begin(10, 10);
    mvt_scene_rect(&d.scene, 2, 3, 4, 2, 0x102030ff);
    mvt_scene_rect(&d.scene, 7.5f, 0, 1, 1, 0x000000ff);
    mvt_scene_rect(&d.scene, 0, 9, 1, 1, 0x00000080);
    draw();
    for (uint32_t y = 0; y < 9; y++)
        for (uint32_t x = 0; x < 7; x++)
            cr_expect_eq(pixel(x, y), x >= 2 && x < 6 && y >= 3 && y < 5 ? 0x102030ff : 0xffffffff);
    cr_expect_eq(pixel(7, 0), 0x7f7f7fff);
    cr_expect_eq(pixel(8, 0), 0x7f7f7fff);
    cr_expect_eq(pixel(9, 0), 0xffffffff);
    cr_expect_eq(pixel(0, 9), 0x7f7f7fff);
}

/* Crisp shapes that meet at any position must leave no seam, on any background. */
Test(raster, crisp_shapes_leave_no_seam)
{
    begin(40, 40);
    for (int i = 0; i < 30; i++) {
        mv_scene_point(&d.scene, 0, (float)i * 40 / 30);
        mv_scene_point(&d.scene, 40, (float)(i + 1) * 40 / 30);
        mv_scene_add(&d.scene,
                     (mv_shape){.kind = MV_SHAPE_RECTS, .fill = 0x004080ff, .is_crisp = true});
    }
    draw();
    for (uint32_t i = 0; i < 1600; i++)
        cr_assert_eq(pixel(i % 40, i / 40), 0x004080ff);
}

Test(raster, strokes_have_their_width_corners_and_dashes)
{
    begin(30, 30);
    mv_scene_line(&d.scene, 2, 5, 12, 5, 0x000000ff, 2);
    mv_scene_point(&d.scene, 4, 10);
    mv_scene_point(&d.scene, 10, 10);
    mv_scene_point(&d.scene, 10, 16);
    mv_scene_add(&d.scene, (mv_shape){.kind = MV_SHAPE_LINE, .stroke = 0xff0000ff, .width = 2});
    mv_scene_point(&d.scene, 1, 25);
    mv_scene_point(&d.scene, 30, 25);
    mv_scene_add(
        &d.scene,
        (mv_shape){.kind = MV_SHAPE_LINE, .stroke = 0x0000ffff, .width = 2, .is_dashed = true});
    draw();
    for (uint32_t x = 0; x < 16; x++) {
        uint32_t want = x >= 2 && x < 12 ? 0x000000ff : 0xffffffff;
        cr_expect_eq(pixel(x, 4), want);
        cr_expect_eq(pixel(x, 5), want);
        cr_expect_eq(pixel(x, 3), 0xffffffff);
        cr_expect_eq(pixel(x, 6), 0xffffffff);
    }
    cr_expect_eq(pixel(10, 9), 0xff0000ff, "the tip of the corner");
    cr_expect_eq(pixel(11, 9), 0xffffffff);
    cr_expect_eq(pixel(10, 15), 0xff0000ff);
    cr_expect_eq(pixel(10, 16), 0xffffffff, "ends are cut off");
    for (uint32_t x = 1; x < 30; x++)
        cr_expect_eq(pixel(x, 24), (x - 1) % 11 < 7 ? 0x0000ffff : 0xffffffff, "%u", x);
}

Test(raster, frames_are_closed)
{
    begin(20, 20);
    mv_scene_point(&d.scene, 3, 3);
    mv_scene_point(&d.scene, 17, 12);
    mv_scene_add(
        &d.scene,
        (mv_shape){.kind = MV_SHAPE_RECTS, .fill = 0x00ff00ff, .stroke = 0x000000ff, .width = 2});
    draw();
    for (uint32_t y = 0; y < 20; y++)
        for (uint32_t x = 0; x < 20; x++) {
            bool is_out = x < 2 || x >= 18 || y < 2 || y >= 13;
            bool is_in = x >= 4 && x < 16 && y >= 4 && y < 11;
            cr_assert_eq(pixel(x, y),
                         is_out  ? 0xffffffff
                         : is_in ? 0x00ff00ff
                                 : 0x000000ff,
                         "%u,%u", x, y);
        }
}

Test(raster, clips_hide_and_end)
{
    begin(20, 20);
    mv_scene_clip(&d.scene, 5, 5, 10, 10);
    mvt_scene_rect(&d.scene, -100, -100, 300, 300, 0x000000ff);
    mv_scene_clip(&d.scene, 30, 30, 5, 5);
    mvt_scene_rect(&d.scene, -100, -100, 300, 300, 0xff0000ff);
    mv_scene_unclip(&d.scene);
    mvt_scene_rect(&d.scene, 0, 19, 20, 1, 0x0000ffff);
    draw();
    for (uint32_t i = 0; i < 19 * 20; i++) {
        bool is_in = i % 20 >= 5 && i % 20 < 15 && i / 20 >= 5 && i / 20 < 15;
        cr_assert_eq(pixel(i % 20, i / 20), is_in ? 0x000000ff : 0xffffffff);
    }
    cr_expect_eq(pixel(0, 19), 0x0000ffff);
}

/* A strip is filled between its edges, in whole and partial pixels. */
Test(raster, strips_are_filled_between_their_edges)
{
    static const mv_point points[] = {{2, 2}, {2, 10}, {6, 4}, {6, 8}, {10, 4}, {10, 20}};

    begin(12, 24);
    for (size_t i = 0; i < sizeof points / sizeof *points; i++)
        mv_scene_point(&d.scene, points[i].x, points[i].y);
    mv_scene_add(&d.scene, (mv_shape){.kind = MV_SHAPE_STRIP, .fill = 0x000000ff});
    draw();
    for (uint32_t y = 0; y < 24; y++)
        for (uint32_t x = 0; x < 12; x++) {
            double middle = x + 0.5, top = middle < 6 ? 2 + (middle - 2) / 2 : 4;
            double bottom = middle < 6 ? 10 - (middle - 2) / 2 : 8 + (middle - 6) * 3;
            bool is_in = x >= 2 && x < 10 && y >= top + 1 && y + 1 <= bottom - 2;
            bool is_out = x < 2 || x >= 10 || y + 1 <= top - 1 || y >= bottom + 2;
            if (is_in || is_out)
                cr_expect_eq(pixel(x, y), is_in ? 0x000000ff : 0xffffffff, "%u,%u", x, y);
        }
}

static const uint32_t square[] = {0xff0000ff, 0x00ff00ff, 0x0000ffff, 0x00000000};

/* An image's pixels must become squares, the picture must show through transparent parts, and the
 * clip must apply. */
Test(raster, images_show_the_nearest_pixel)
{
    mv_pixels image = {.width = 2, .height = 2, .pixels = square};

    begin(12, 12);
    mv_scene_clip(&d.scene, 0, 0, 12, 9);
    mv_scene_image(&d.scene, (mv_box){1, 2, 8, 8}, (mv_box){0, 0, 2, 2}, &image);
    draw();
    for (uint32_t y = 0; y < 12; y++)
        for (uint32_t x = 0; x < 12; x++) {
            uint32_t want = 0xffffffff;
            if (x >= 1 && x < 9 && y >= 2 && y < 9)
                want = square[(y - 2) / 4 * 2 + (x - 1) / 4];
            cr_expect_eq(pixel(x, y), want & 0xff ? want : 0xffffffff, "%u,%u", x, y);
        }
}

/* The part of the image may begin and end anywhere. It is cut off at the picture's edge; outside
 * the image, the image's edge is repeated. */
Test(raster, images_show_a_part)
{
    uint32_t stripes[16];
    mv_pixels image = {.width = 16, .height = 1, .pixels = stripes};

    for (uint32_t i = 0; i < 16; i++)
        stripes[i] = i << 28 | 0xff;
    begin(20, 2);
    mv_scene_image(&d.scene, (mv_box){-10, -5, 40, 10}, (mv_box){2.5f, 0, 20, 1}, &image);
    draw();
    for (uint32_t x = 0; x < 20; x++) {
        uint32_t column = (uint32_t)(2.5 + (x + 10.5) * 0.5);
        cr_expect_eq(pixel(x, 1), stripes[column < 16 ? column : 15], "%u", x);
    }
}

/* Hatching consists of lines in the stroke's colour, aligned across adjacent shapes. It covers 1.2
 * of 10 of the area and shows the fill below. */
Test(raster, hatching_covers_its_share)
{
    uint64_t dark = 0;

    begin(100, 100);
    mv_scene_point(&d.scene, 0, 0);
    mv_scene_point(&d.scene, 100, 100);
    mv_scene_add(&d.scene,
                 (mv_shape){.kind = MV_SHAPE_RECTS, .is_hatched = true, .stroke = 0x000000ff});
    draw();
    for (uint32_t i = 0; i < 10000; i++)
        dark += 255 - (pixel(i % 100, i / 100) >> 24);
    cr_expect_float_eq((double)dark / 2550000, 0.12, 0.001);
    cr_expect_eq(pixel(3, 4), pixel(4, 3));
}

/* Texts must be at their anchor, and within the width from mv_text_width. */
Test(raster, texts_fit_the_width_of_the_layout)
{
    static const char *const texts[] = {"train.py:62 forward", "1.15 GiB", "illicit flights (tt)",
                                        "peak 257 MiB at event 8,407", "\"#$%&'*+,-/:;<=>?@"};

    for (int choice = MV_FONT_FOUND; choice <= MV_FONT_BITMAP; choice++) {
        mv_font *font = mv_font_open(mvt_memory(), (mv_font_choice)choice);
        cr_assert(font != NULL);
        cr_expect(choice == MV_FONT_FOUND || !mv_font_is_scalable(font));
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            for (double size = 9; size < 30; size += 1) {
                mv_text_style style = {.size = size, .scale_x = 1, .scale_y = 1};
                double width = mv_font_width(font, texts[i], &style);
                cr_expect_leq(width, (double)mv_text_width(texts[i], (float)size) + 0.6,
                              "font %d: \"%s\" at %g is %g wide", choice, texts[i], size, width);
                cr_expect_gt(width, (double)mv_text_width(texts[i], (float)size) * 0.4);
            }
        mv_font_close(font);
    }
}

static void ink(uint32_t *left, uint32_t *right)
{
    *left = d.image.width;
    *right = 0;
    for (uint32_t i = 0; i < d.image.width * d.image.height; i++)
        if (pixel(i % d.image.width, i / d.image.width) != 0xffffffff) {
            *left = i % d.image.width < *left ? i % d.image.width : *left;
            *right = i % d.image.width >= *right ? i % d.image.width + 1 : *right;
        }
}

Test(raster, texts_are_at_their_anchors)
{
    static const struct {
        mv_anchor anchor;
        uint32_t left, right;
    } all[] = {{MV_ANCHOR_START, 50, 59}, {MV_ANCHOR_MIDDLE, 45, 54}, {MV_ANCHOR_END, 40, 49}};

    for (int i = 0; i < 3; i++) {
        uint32_t left, right;
        begin(100, 20);
        mv_scene_text(&d.scene, 50, 15, 12, 0x000000ff, all[i].anchor, "HH"); /* 4 + 1 + 4 dots */
        draw();
        ink(&left, &right);
        cr_expect_eq(left, all[i].left, "%d: %u", i, left);
        cr_expect_eq(right, all[i].right, "%d: %u", i, right);
    }
}

Test(raster, a_scene_is_stretched_to_its_shown_size)
{
    begin(100, 50);
    d.scene.shown_width = 20;
    d.scene.shown_height = 20;
    mvt_scene_rect(&d.scene, 0, 0, 50, 50, 0x000000ff);
    draw();
    cr_expect_eq(d.image.width, 20);
    cr_expect_eq(d.image.height, 20);
    for (uint32_t i = 0; i < 400; i++)
        cr_assert_eq(pixel(i % 20, i / 20), i % 20 < 10 ? 0x000000ff : 0xffffffff);
    d.scene.shown_width = d.scene.shown_height = 1;
    draw();
    cr_expect_eq(pixel(0, 0), 0x7f7f7fff, "one pixel is the mean");
}

Test(raster, scenes_of_any_size_keep_room_for_the_layout)
{
    static const struct {
        uint32_t width, height;
        float scene_width, scene_height;
    } all[] = {{1400, 760, 1400, 760}, {400, 360, 800, 720},   {800, 180, 1600, 360},
               {1, 1, 800, 800},       {1, 16384, 800, 16384}, {16384, 1, 16384, 360}};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        mv_scene s;
        mv_scene_init_shown(&s, NULL, all[i].width, all[i].height, 800, 360, 0);
        cr_expect_eq(s.width, all[i].scene_width, "%zu: %g", i, (double)s.width);
        cr_expect_eq(s.height, all[i].scene_height, "%zu: %g", i, (double)s.height);
        cr_expect_eq(s.shown_width, i ? (float)all[i].width : 0);
    }
}

Test(raster, invalid_numbers_and_texts_of_any_bytes_do_no_harm)
{
    const float odd[] = {NAN, INFINITY, -INFINITY, 1e30f, -1e30f, 5, -0.0f};

    begin(50, 50);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        mvt_scene_rect(&d.scene, odd[i], 5, 10, odd[i], 0x000000ff);
        mv_scene_clip(&d.scene, odd[i], 1, odd[i], 1);
        mv_scene_line(&d.scene, 5, odd[i], 20, 20, 0x000000ff, odd[i]);
        mv_scene_unclip(&d.scene);
        mv_scene_text(&d.scene, odd[i], 20, odd[i], 0x000000ff, MV_ANCHOR_MIDDLE,
                      "\xff\xc3\xe2\x82 \xf0\x9f\x98\x80 \x01\n\xed\xa0\x80");
        mv_scene_text(&d.scene, 10, 20, 12, 0x000000ff, MV_ANCHOR_MIDDLE, "\xe2");
    }
    draw();
}

Test(raster, too_large_a_picture_and_too_little_memory_are_errors)
{
    mv_budget budget = {0};
    mv_arena arena;
    mv_err err;

    begin(20000, 10);
    cr_expect_eq(mv_raster_draw(d.arena, &d.scene, &(mv_raster_opts){0}, &d.image, &err), MV_LIMIT);
    d.scene.width = 100;
    mv_scene_text(&d.scene, 5, 5, 12, 0x000000ff, MV_ANCHOR_START, "text");
    for (; budget.limit < 1 << 19; budget.limit += 4096) {
        mv_arena_init(&arena, &budget);
        mv_code code = mv_raster_draw(&arena, &d.scene, &(mv_raster_opts){.font = MV_FONT_BITMAP},
                                      &d.image, &err);
        cr_expect(code == MV_OK || code == MV_NOMEM);
        mv_arena_release(&arena);
        cr_assert_eq(budget.used, 0);
    }
    d.scene.failed = true;
    cr_expect_eq(mv_raster_draw(d.arena, &d.scene, &(mv_raster_opts){0}, &d.image, &err), MV_NOMEM);
}

/* ---- files ------------------------------------------------------------------------------- */

/* The picture must equal the file in testdata/golden. With MV_BLESS=1 in the environment, that file
 * is rewritten. */
static void check_golden(const char *name)
{
    const char *path = mvt_format(MV_TESTDATA "/golden/%s.png", name);
    uint32_t wrong = 0;

    draw();
    if (getenv("MV_BLESS"))
        mvt_png_write(&d.image, path);
    mv_image want = mvt_png_read(path);
    cr_assert(want.width == d.image.width && want.height == d.image.height, "%s", path);
    for (uint32_t i = 0; i < want.width * want.height; i++)
        wrong += memcmp(want.pixels + 4 * (uint64_t)i, d.image.pixels + 4 * (uint64_t)i, 4) != 0;
    cr_expect_eq(wrong, 0, "%u pixels differ from %s", wrong, path);
}

Test(raster, letters_equal_the_golden_picture)
{
    begin(250, 130);
    for (int c = ' '; c <= '~'; c++)
        mv_scene_text(&d.scene, 10 + (float)(c % 32) * 7, 14 + (float)(c / 32 - 1) * 14, 12,
                      0x000000ff, MV_ANCHOR_START, mv_scene_format(&d.scene, "%c", c));
    mv_scene_text(&d.scene, 10, 62, 12, 0x404040ff, MV_ANCHOR_START,
                  "train.py:62 forward keeps 2.00 MiB a step");
    mv_scene_text(&d.scene, 10, 78, 12, 0xd0021bff, MV_ANCHOR_START,
                  "a\xc2\xb7z \xe2\x80\xa6 \xc3\xa9");
    mv_scene_point(&d.scene, 240, 78);
    mv_scene_add(&d.scene, (mv_shape){.kind = MV_SHAPE_TEXT,
                                      .anchor = MV_ANCHOR_END,
                                      .is_bold = true,
                                      .fill = 0x0000ffff,
                                      .width = 13,
                                      .text = "bold, at its end"});
    mv_scene_text(&d.scene, 125, 105, 24, 0x000000ff, MV_ANCHOR_MIDDLE, "twice as large");
    mv_scene_text(&d.scene, 10, 122, 7, 0x000000ff, MV_ANCHOR_START, "too small for whole dots");
    check_golden("letters");
}

static void star(mv_scene *scene, float x, float y, float radius)
{
    static const float corners[5][2] = {
        {0, -1}, {.588f, .809f}, {-.951f, -.309f}, {.951f, -.309f}, {-.588f, .809f}};

    for (int i = 0; i < 5; i++)
        mv_scene_point(scene, x + corners[i][0] * radius, y + corners[i][1] * radius);
}

Test(raster, shapes_equal_the_golden_picture)
{
    begin(200, 120);
    star(&d.scene, 35, 35, 30);
    mv_scene_add(&d.scene, (mv_shape){.kind = MV_SHAPE_POLYGON, .fill = 0x0072b2ff});
    star(&d.scene, 50, 45, 30);
    mv_scene_add(&d.scene, (mv_shape){.kind = MV_SHAPE_POLYGON,
                                      .fill = 0xe69f0080,
                                      .stroke = 0x000000ff,
                                      .width = 1.5f});
    star(&d.scene, 35, 90, 25);
    mv_scene_add(&d.scene,
                 (mv_shape){.kind = MV_SHAPE_POLYGON, .is_hatched = true, .stroke = 0x009e73ff});
    mv_scene_clip(&d.scene, 90, 10, 100, 40);
    star(&d.scene, 140, 40, 60);
    mv_scene_add(&d.scene, (mv_shape){.kind = MV_SHAPE_LINE, .stroke = 0xcc79a7ff, .width = 6});
    mv_scene_unclip(&d.scene);
    for (int i = 0; i < 12; i++)
        mv_scene_line(&d.scene, 140, 85, 140 + 45 * cosf((float)i * 0.5236f),
                      85 + 30 * sinf((float)i * 0.5236f), 0x000000ff, 0.5f + (float)i * 0.25f);
    mv_scene_point(&d.scene, 5, 118);
    mv_scene_point(&d.scene, 70, 100);
    mv_scene_point(&d.scene, 195, 117);
    mv_scene_add(
        &d.scene,
        (mv_shape){.kind = MV_SHAPE_LINE, .stroke = 0xd0021bff, .width = 2, .is_dashed = true});
    check_golden("shapes");
}

/* A whole timeline, small and dark. */
Test(raster, a_timeline_equals_the_golden_picture)
{
    mv_paper_opts opts = {.width = 800, .height = 420, .is_dark = true};
    mv_paper timeline;

    begin(0, 0);
    mv_trace trace = mvt_load(d.arena, "leak_in_training");
    mv_lives lives = mvt_lives(d.arena, &trace, 0);
    opts.title = "leak_in_training.pickle";
    mvt_ok(mv_paper_find(d.arena, &trace, &lives, &mv_paper_timeline, &opts, &timeline, mvt_err()));
    d.scene = timeline.scene;
    check_golden("timeline");
}

/* Partly transparent pixels keep their alpha, and their colours are divided by it again. */
Test(raster, png_has_alpha_where_the_picture_has)
{
    const char *path = mvt_temp_file((mv_span){0});

    begin(3, 1);
    d.scene.background = 0;
    mvt_scene_rect(&d.scene, 1, 0, 1, 1, 0xff804080);
    mvt_scene_rect(&d.scene, 2, 0, 1, 1, 0x102030ff);
    draw();
    mvt_png_write(&d.image, path);
    mv_image back = mvt_png_read(path);
    cr_assert(back.width == 3 && back.height == 1);
    cr_expect_eq(memcmp(back.pixels, "\0\0\0\0\xff\x80\x40\x80\x10\x20\x30\xff", 12), 0,
                 "%u %u %u %u", back.pixels[4], back.pixels[5], back.pixels[6], back.pixels[7]);
}

Test(raster, a_png_without_memory_is_an_error)
{
    mv_budget budget = {0};
    mv_err err;
    mv_sink sink;

    begin(300, 300);
    draw();
    for (; budget.limit < 1 << 20; budget.limit += 16384) {
        mvt_ok(mv_sink_open(&sink, "/dev/null", mvt_err()));
        mv_code code = mv_png_write(&budget, &d.image, &sink, &err);
        cr_expect(code == MV_OK || code == MV_NOMEM);
        cr_expect_eq(budget.used, 0);
        mv_sink_abort(&sink);
    }
}
