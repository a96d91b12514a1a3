/* Scenes through SDL's software renderer, compared with the same scenes from viz/scene/raster.c:
 * letters of the bitmap font, areas, strokes, hatches, images, clips. */
#include "analyze/leaks/leaks.h"
#include "tests/fixture/fixture.h"
#include "view/sdl/canvas.h"
#include "view/sdl/scene_painter.h"
#include "viz/pictures/timeline.h"

typedef struct {
    mv_arena *arena;
    mv_scene scene;
    mv_sdl sdl;
    mv_canvas canvas;
    mv_scene_painter painter;
} drawing;

static void begin(drawing *d, uint32_t width, uint32_t height, mv_font_choice font)
{
    *d = (drawing){.arena = mvt_arena_new()};
    mv_scene_init(&d->scene, d->arena, (float)width, (float)height, 0xf8f4f0ff);
    mvt_ok(mv_sdl_load(&d->sdl, mvt_err()));
    mvt_ok(mv_canvas_open(&d->canvas, &d->sdl, width, height, mvt_err()));
    cr_assert(mv_scene_painter_init(&d->painter, d->arena->budget, &d->sdl, d->canvas.renderer,
                                    font, 1 << 20));
}

static void end(drawing *d)
{
    mv_scene_painter_release(&d->painter);
    mv_canvas_close(&d->canvas);
    mv_sdl_unload(&d->sdl);
}

static mv_image paint(drawing *d)
{
    uint32_t width = (uint32_t)d->scene.width, height = (uint32_t)d->scene.height;
    mv_image image;

    cr_assert(mv_scene_painter_draw(&d->painter, &d->scene, (int)width, (int)height));
    mvt_ok(mv_canvas_read(d->arena, &d->sdl, d->canvas.renderer, width, height, &image, mvt_err()));
    return image;
}

static mv_image expected(drawing *d, mv_font_choice font)
{
    mv_image image;

    mvt_ok(mv_raster_draw(d->arena, &d->scene, &(mv_raster_opts){.font = font}, &image, mvt_err()));
    return image;
}

static int difference(const mv_image *a, const mv_image *b, uint64_t i)
{
    int most = 0;

    for (int part = 0; part < 3; part++) {
        int by = abs(a->pixels[4 * i + part] - b->pixels[4 * i + part]);
        most = by > most ? by : most;
    }
    return most;
}

/* Every pixel is within `most` of what the other back end makes of it, but for `spared` in a
 * thousand. */
static void compare(drawing *d, int most, double spared, const char *name)
{
    mv_image is = paint(d), want = expected(d, MV_FONT_BITMAP);
    uint64_t wrong = 0, count = (uint64_t)is.width * is.height, first = 0;
    int worst = 0;

    for (uint64_t i = 0; i < count; i++) {
        int by = difference(&is, &want, i);
        worst = by > worst ? by : worst;
        if (by > most && wrong++ == 0)
            first = i;
    }
    cr_expect_leq((double)wrong * 1000, spared * (double)count,
                  "%s: %llu pixels differ, by up to %d, the first at %llu,%llu", name,
                  (unsigned long long)wrong, worst, (unsigned long long)(first % is.width),
                  (unsigned long long)(first / is.width));
}

/* ---- shapes ------------------------------------------------------------------------------ */

Test(scene_painter, rectangles_anywhere)
{
    uint64_t state = 7;
    drawing d;

    begin(&d, 120, 90, MV_FONT_BITMAP);
    for (int i = 0; i < 60; i++) {
        float at[4];
        for (int j = 0; j < 4; j++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            at[j] = (float)(state >> 40) / (float)(1 << 24) * 140 - 10;
        }
        mv_scene_point(&d.scene, at[0], at[1]);
        mv_scene_point(&d.scene, at[2], at[3]);
        mv_scene_add(&d.scene,
                     (mv_shape){.kind = MV_SHAPE_RECTS,
                                .fill = (uint32_t)(state >> 32) << 8 | (i % 3 ? 0xff : 0x60),
                                .is_crisp = i % 4 == 0,
                                .stroke = i % 5 ? 0 : 0x203040ff,
                                .width = i % 5 ? 0 : 1.5f});
    }
    compare(&d, 8, 3, "rectangles"); /* corners of strokes between pixels: blended twice */
    end(&d);
}

Test(scene_painter, polygons_strips_and_lines)
{
    static const mv_point star[] = {{60, 5}, {75, 50}, {115, 50}, {82, 62}, {95, 85}, {60, 70}};
    drawing d;

    begin(&d, 120, 90, MV_FONT_BITMAP);
    for (size_t i = 0; i < sizeof star / sizeof *star; i++)
        mv_scene_point(&d.scene, star[i].x, star[i].y);
    mv_scene_add(&d.scene, (mv_shape){.kind = MV_SHAPE_POLYGON, .fill = 0x3060c0ff});
    for (int i = 0; i <= 10; i++) {
        mv_scene_point(&d.scene, (float)i * 10, 40 + (float)(i * i % 7));
        mv_scene_point(&d.scene, (float)i * 10, 60 + (float)(i * 5 % 11));
    }
    mv_scene_add(&d.scene, (mv_shape){.kind = MV_SHAPE_STRIP, .fill = 0xc0206080});
    mv_scene_line(&d.scene, 3, 80, 110, 12, 0x000000ff, 1.5f);
    for (int i = 0; i < 12; i++) {
        mv_scene_point(&d.scene, (float)(i / 2 + i % 2) * 9 + 4.5f, (float)(i / 2 * 13 % 60) + 8);
    }
    mv_scene_add(&d.scene, (mv_shape){.kind = MV_SHAPE_LINE, .stroke = 0x008040ff, .width = 2});
    mv_scene_point(&d.scene, 2, 3);
    mv_scene_point(&d.scene, 118, 3);
    mv_scene_add(
        &d.scene,
        (mv_shape){.kind = MV_SHAPE_LINE, .stroke = 0x000000ff, .width = 2, .is_dashed = true});
    compare(&d, 12, 10, "shapes"); /* a strip's sides are steps of whole columns */
    end(&d);
}

Test(scene_painter, texts_have_the_same_dots)
{
    drawing d;

    begin(&d, 300, 90, MV_FONT_BITMAP);
    mv_scene_text(&d.scene, 5, 20, 11, 0x102030ff, MV_ANCHOR_START, "peak 1.15 GiB \xc3\xa9\xff");
    mv_scene_text(&d.scene, 150.4f, 40.6f, 12, 0x802030ff, MV_ANCHOR_MIDDLE, "in the middle");
    mv_scene_text(&d.scene, 295, 70, 22, 0x102030ff, MV_ANCHOR_END, "at its end");
    compare(&d, 1, 0, "texts");
    end(&d);
}

/* Widths are those of the design: within a pixel at the end of a text. */
Test(scene_painter, letters_of_a_font_are_where_they_should_be)
{
    mv_image is, want;
    uint32_t rights[2] = {0, 0}, lefts[2] = {300, 300};
    drawing d;

    begin(&d, 300, 40, MV_FONT_FOUND);
    mv_scene_text(&d.scene, 5.3f, 20, 12, 0x000000ff, MV_ANCHOR_START,
                  "illicit flights over wide meadows: 12,345,678");
    is = paint(&d);
    want = expected(&d, MV_FONT_FOUND);
    for (uint32_t i = 0; i < 300 * 40; i++)
        for (int j = 0; j < 2; j++)
            if ((j ? want : is).pixels[4 * i] < 0xa0) {
                rights[j] = i % 300 > rights[j] ? i % 300 : rights[j];
                lefts[j] = i % 300 < lefts[j] ? i % 300 : lefts[j];
            }
    cr_expect_leq(abs((int)rights[0] - (int)rights[1]), 1);
    cr_expect_leq(abs((int)lefts[0] - (int)lefts[1]), 1);
    cr_expect_gt(rights[1], 200);
    end(&d);
}

/* More letters than the texture has room for: it is begun anew, and nothing is wrong. */
Test(scene_painter, more_letters_than_the_texture_holds_are_drawn)
{
    drawing d;

    begin(&d, 400, 100, MV_FONT_BITMAP);
    for (int round = 0; round < 40; round++) {
        mv_scene_clear(&d.scene, 400, 100, 0xffffffff);
        mv_scene_text(&d.scene, 2, 70, (float)(30 + round), 0x000000ff, MV_ANCHOR_START,
                      "abcdefghijklmnopqrstuvwxyz");
        mv_scene_text(&d.scene, 2, 98, 11, 0x000000ff, MV_ANCHOR_START, "and small ones");
        compare(&d, 1, 0, "letters");
    }
    end(&d);
}

Test(scene_painter, hatches_meet)
{
    drawing d;

    begin(&d, 700, 400, MV_FONT_BITMAP);
    for (int i = 0; i < 2; i++) {
        mv_scene_point(&d.scene, 10, (float)(10 + 180 * i));
        mv_scene_point(&d.scene, 690, (float)(190 + 180 * i));
        mv_scene_add(&d.scene,
                     (mv_shape){.kind = MV_SHAPE_RECTS, .is_hatched = true, .stroke = 0x404040c0});
    }
    compare(&d, 2, 0, "hatches");
    end(&d);
}

/* ---- images and clips -------------------------------------------------------------------- */

static uint32_t square[64 * 64];

static mv_pixels image_of(uint64_t key, uint32_t salt, bool is_opaque)
{
    for (uint32_t i = 0; i < 64 * 64; i++)
        square[i] = (i / 64 / 8 * 0x1f3d + i % 64 / 8 * 0x97b1 + salt) * 0x9e3779b1u >> 8 << 8 |
                    (is_opaque ? 0xff : i % 251);
    return (mv_pixels){64, 64, square, key, is_opaque};
}

Test(scene_painter, images_are_drawn_whole_stretched_and_in_part)
{
    mv_pixels image = image_of(0, 1, true);
    drawing d;

    begin(&d, 300, 300, MV_FONT_BITMAP);
    mv_scene_image(&d.scene, (mv_box){5, 7, 64, 64}, (mv_box){0, 0, 64, 64}, &image);
    mv_scene_image(&d.scene, (mv_box){80, 7, 128, 192}, (mv_box){0, 0, 64, 64}, &image);
    mv_scene_image(&d.scene, (mv_box){5, 80, 60, 60}, (mv_box){16, 8, 15, 30}, &image);
    mv_scene_clip(&d.scene, 210, 20, 50, 60);
    mv_scene_image(&d.scene, (mv_box){200, 0, 64, 128}, (mv_box){0, 0, 64, 64}, &image);
    mv_scene_clip(&d.scene, 30, 30, 0, 10);
    mv_scene_image(&d.scene, (mv_box){0, 0, 300, 300}, (mv_box){0, 0, 64, 64}, &image);
    mv_scene_unclip(&d.scene);
    mv_scene_rect(&d.scene, 280, 280, 30, 30, 0x000000ff);
    compare(&d, 1, 0, "images");
    end(&d);
}

/* Shrunk and at fractions: the pixel shown may be a neighbour of the one that the middle falls on.
 */
Test(scene_painter, images_are_drawn_at_fractions_of_a_pixel)
{
    mv_pixels image = image_of(0, 1, true);
    drawing d;

    begin(&d, 300, 300, MV_FONT_BITMAP);
    mv_scene_image(&d.scene, (mv_box){5, 5, 290, 290}, (mv_box){10.3f, 20.7f, 31.1f, 40.2f},
                   &image);
    compare(&d, 1, 0, "fractions");
    end(&d);
}

/* So far into an image that a pixel of it is larger than the picture: as quick as anything else. */
Test(scene_painter, images_are_drawn_from_far_inside)
{
    mv_pixels image = image_of(3, 1, true);
    drawing d;

    begin(&d, 300, 300, MV_FONT_BITMAP);
    mv_scene_image(&d.scene, (mv_box){-4e5f, 5, 9e5f, 290}, (mv_box){0, 0, 64, 64}, &image);
    mv_scene_image(&d.scene, (mv_box){20, 40, 50, 60}, (mv_box){10.25f, 3.5f, 1e-4f, 2e-5f},
                   &image);
    mv_scene_image(&d.scene, (mv_box){100, 40, 50, 60}, (mv_box){9, 31, 0.75f, 1.5f}, &image);
    compare(&d, 1, 0, "far inside");
    end(&d);
}

/* Opaque images hide what is below them, others do not: whatever lies over whatever. */
Test(scene_painter, images_hide_or_show_images_below_them)
{
    static uint32_t other[64 * 64];
    mv_pixels opaque = image_of(0, 1, true), clear = {64, 64, other, 0, false};
    uint64_t state = 3;
    drawing d;

    for (uint32_t i = 0; i < 64 * 64; i++)
        other[i] = i % 64 > 20 && i / 64 > 20 ? 0x20a060ff : 0;
    begin(&d, 300, 200, MV_FONT_BITMAP);
    for (int round = 0; round < 20; round++) {
        mv_scene_clear(&d.scene, 300, 200, 0xffffffff);
        for (int i = 0; i < 14; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            mv_scene_image(&d.scene,
                           (mv_box){(float)(state >> 40 & 0xff), (float)(state >> 50 & 0x7f),
                                    (float)(20 + (state >> 20 & 0x7f)),
                                    (float)(20 + (state >> 30 & 0x7f))},
                           (mv_box){(float)i, 0.5f, 40, 50}, state >> 60 < 8 ? &opaque : &clear);
        }
        compare(&d, 1, 0, "above");
    }
    end(&d);
}

Test(scene_painter, clear_pixels_are_blended)
{
    mv_pixels image = image_of(0, 5, false);
    drawing d;

    begin(&d, 80, 80, MV_FONT_BITMAP);
    mv_scene_rect(&d.scene, 0, 0, 40, 80, 0x205080ff);
    mv_scene_image(&d.scene, (mv_box){8, 8, 64, 64}, (mv_box){0, 0, 64, 64}, &image);
    compare(&d, 4, 0, "alpha");
    end(&d);
}

/* An image of a known key is not read again; another key is another image; what was not used goes
 * when textures take too much. */
Test(scene_painter, images_are_kept_by_key)
{
    drawing d;

    begin(&d, 80, 80, MV_FONT_BITMAP);
    for (uint64_t round = 0; round < 400; round++) {
        mv_pixels image = image_of(1 + round % 100, (uint32_t)(round % 100), true);
        mv_scene_clear(&d.scene, 80, 80, 0xffffffff);
        mv_scene_image(&d.scene, (mv_box){8, 8, 64, 64}, (mv_box){0, 0, 64, 64}, &image);
        compare(&d, 1, 0, "key");
        compare(&d, 1, 0, "same key");
    }
    cr_expect_leq(d.painter.images.bytes, 1u << 20);
    cr_expect_eq(d.painter.images.uploads,
                 400); /* 64 of 100 fit: each is gone when it comes again */
    end(&d);
}

/* Large opaque rectangles and images hide what is below, cut by clips, with and without strokes: in
 * any order the picture is what the order says. */
Test(scene_painter, what_is_hidden_is_not_missed)
{
    mv_pixels image = image_of(0, 9, true);
    uint64_t state = 11;
    drawing d;

    begin(&d, 400, 300, MV_FONT_BITMAP);
    for (int round = 0; round < 60; round++) {
        mv_scene_clear(&d.scene, 400, 300, 0xf0e8e0ff);
        for (int i = 0; i < 24; i++) {
            float at[4];
            for (int j = 0; j < 4; j++) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                at[j] = (float)(state >> 32 & 0x1ff) - 60 + (state >> 62 ? 0 : 0.4f);
            }
            if (i % 7 == 3) {
                mv_scene_clip(&d.scene, at[0], at[1], 200, 150);
                continue;
            }
            if (i % 7 == 6)
                mv_scene_unclip(&d.scene);
            if (i % 5 == 1) {
                mv_scene_image(&d.scene, (mv_box){at[0], at[1], 150, 120}, (mv_box){0, 0, 64, 64},
                               &image);
                continue;
            }
            mv_scene_point(&d.scene, at[0], at[1]);
            mv_scene_point(&d.scene, at[2], at[3]);
            mv_scene_add(&d.scene,
                         (mv_shape){.kind = MV_SHAPE_RECTS,
                                    .fill = (uint32_t)(state >> 30) << 8 | (i % 6 ? 0xff : 0x50),
                                    .is_crisp = i % 3 == 0,
                                    .stroke = 0x102030ff,
                                    .width = i % 8 ? 0 : 2});
        }
        compare(&d, 8, 3, "hidden");
    }
    end(&d);
}

/* ---- whole pictures ---------------------------------------------------------------------- */

static void compare_timeline(const char *file, bool is_dark)
{
    mv_timeline_opts opts = {.width = 1200, .height = 700, .is_dark = is_dark, .title = file};
    mv_timeline timeline;
    mv_trace trace;
    mv_lives lives;
    drawing d;

    begin(&d, 1200, 700, MV_FONT_BITMAP);
    trace = mvt_load(d.arena, file);
    lives = mvt_lives(d.arena, &trace, 0);
    mvt_ok(mv_timeline_find(d.arena, &trace, &lives, &opts, &timeline, mvt_err()));
    d.scene = timeline.scene;
    compare(&d, 16, 2, file);
    end(&d);
}

Test(scene_painter, timelines_are_those_of_the_raster)
{
    compare_timeline("leak_in_training", false);
    compare_timeline("gpt_train", true);
}

Test(scene_painter, memory_that_runs_out_is_told)
{
    drawing d;

    begin(&d, 300, 300, MV_FONT_BITMAP);
    for (int i = 0; i < 300; i++)
        mv_scene_rect(&d.scene, 0.5f, (float)i, 100, 0.5f, 0x000000ff);
    d.arena->budget->limit = d.arena->budget->used;
    cr_expect_not(mv_scene_painter_draw(&d.painter, &d.scene, 300, 300));
    d.arena->budget->limit = UINT64_C(1) << 32;
    cr_expect(mv_scene_painter_draw(&d.painter, &d.scene, 300, 300));
    end(&d);
}
