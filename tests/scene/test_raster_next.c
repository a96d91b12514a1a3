/* A raster that draws one scene after another: skipping unchanged parts must make no difference.
 * Pictures are compared with a new raster's, and with a painter of rectangles and images that
 * visits every pixel of every shape. */

#include "tests/fixture/fixture_scene.h"
#include "tests/fixture/fixture_view.h"
#include "viz/scene/raster.h"

enum { WIDTH = 420, HEIGHT = 310, IMAGE = 64, SHAPES = 40 };

static void close_raster(void *raster)
{
    mv_raster_close(raster);
}

static mv_raster *open_raster(mv_pixel_order order)
{
    mv_raster *raster =
        mv_raster_open(mvt_memory()->budget, &(mv_raster_opts){MV_FONT_BITMAP, order});

    cr_assert(raster != NULL);
    mvt_at_end(close_raster, raster);
    return raster;
}

static mv_raster_frame next(mv_raster *raster, const mv_scene *scene)
{
    mv_raster_frame frame;

    mvt_ok(mv_raster_next(raster, scene, &frame, mvt_err()));
    return frame;
}

static mv_image anew(mv_arena *arena, const mv_scene *scene)
{
    mv_image image;

    mvt_ok(
        mv_raster_draw(arena, scene, &(mv_raster_opts){.font = MV_FONT_BITMAP}, &image, mvt_err()));
    return image;
}

/* Slanted lines are cut at the edge of the drawn area, which moves them by less than
 * 1/256 pixel. */
static void expect_same(const mv_image *is, const mv_image *want, uint32_t round)
{
    uint64_t bytes = (uint64_t)want->width * want->height * 4;

    cr_assert(is->width == want->width && is->height == want->height);
    for (uint64_t i = 0; i < bytes; i++)
        cr_assert(abs(is->pixels[i] - want->pixels[i]) <= 2, "round %u: %u instead of %u at %u,%u",
                  round, is->pixels[i], want->pixels[i], (uint32_t)(i / 4 % want->width),
                  (uint32_t)(i / 4 / want->width));
}

static uint64_t area(const mv_raster_frame *frame)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < frame->count; i++)
        sum += (uint64_t)frame->drawn[i].w * (uint64_t)frame->drawn[i].h;
    return sum;
}

/* ---- random scenes ----------------------------------------------------------------------- */

typedef struct {
    float at[8];
    uint32_t kind, colour, salt;
} part;

static uint32_t squares[4][IMAGE * IMAGE];

static mv_pixels images[4];

static void make_images(bool with_versions)
{
    for (uint32_t s = 0; s < 4; s++) {
        for (uint32_t i = 0; i < IMAGE * IMAGE; i++)
            squares[s][i] =
                (i / IMAGE / 8 * 0x1f3d + i % IMAGE / 8 * 0x97b1 + s) * 0x9e3779b1u >> 8 << 8 |
                (s % 2 ? 0xff : i % 251);
        images[s] =
            (mv_pixels){IMAGE, IMAGE, squares[s], with_versions && s < 3 ? s + 1 : 0, s % 2};
    }
}

static part random_part(uint64_t *random)
{
    part p = {.kind = mvt_random(random, 10), .salt = mvt_random(random, 1 << 20)};

    for (int i = 0; i < 8; i++) {
        p.at[i] = (float)mvt_random(random, WIDTH + 80) - 40;
        p.at[i] += mvt_random(random, 2) ? 0 : (float)mvt_random(random, 100) / 100;
    }
    p.colour = mvt_random(random, 1 << 24) << 8 | (mvt_random(random, 3) ? 0xff : 0x70);
    return p;
}

static void add_curve(mv_scene *scene, const part *p)
{
    for (uint32_t i = 0; i < 60; i++) {
        float x = floorf(p->at[0]) + (float)i * 3, y = p->at[1] + (float)((i * 37 + p->salt) % 50);
        mv_scene_point(scene, x, y);
        mv_scene_point(scene, x, y + 20 + (float)(i % 7));
        mv_scene_point(scene, x + 3, y);
        mv_scene_point(scene, x + 3, y + 20 + (float)(i % 7));
    }
    mv_scene_add(scene, (mv_shape){.kind = MV_SHAPE_STRIP, .fill = p->colour});
}

static void add_points(mv_scene *scene, const part *p, mv_shape shape, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        mv_scene_point(scene, p->at[2 * i], p->at[2 * i + 1]);
    mv_scene_add(scene, shape);
}

static void build(mv_scene *scene, const part *parts)
{
    mv_scene_clear(scene, WIDTH, HEIGHT, 0xf0e8e0ff);
    for (uint32_t i = 0; i < SHAPES; i++) {
        const part *p = &parts[i];
        const float *at = p->at;
        switch (p->kind) {
        case 0:
            mv_scene_clip(scene, at[0], at[1], 150, 120);
            break;
        case 1:
            mv_scene_unclip(scene);
            break;
        case 2:
            mv_scene_text(scene, at[0], at[1], 8 + (float)(p->salt % 9), p->colour,
                          (mv_anchor)(p->salt % 3), "peak 1.15 GiB \xc3\xa9");
            break;
        case 3:
            mv_scene_image(scene, (mv_box){at[0], at[1], 50 + (float)(p->salt % 100), 90},
                           (mv_box){3, 0.5f, 40, 50}, &images[p->salt % 4]);
            break;
        case 4:
            add_curve(scene, p);
            break;
        case 5:
            add_points(scene, p, (mv_shape){.kind = MV_SHAPE_POLYGON, .fill = p->colour}, 4);
            break;
        case 6:
            add_points(scene, p,
                       (mv_shape){.kind = MV_SHAPE_LINE,
                                  .stroke = p->colour,
                                  .width = 1.5f,
                                  .is_dashed = p->salt % 2},
                       4);
            break;
        case 7:
            add_points(scene, p,
                       (mv_shape){.kind = MV_SHAPE_RECTS, .stroke = p->colour, .is_hatched = true},
                       2);
            break;
        default:
            add_points(scene, p,
                       (mv_shape){.kind = MV_SHAPE_RECTS,
                                  .fill = p->colour,
                                  .is_crisp = p->salt % 2,
                                  .stroke = 0x203040ff,
                                  .width = p->salt % 5 ? 0 : 2},
                       p->salt % 3 ? 2 : 4);
        }
    }
}

LongTest(raster_next, reused_parts_of_the_last_picture_make_no_difference)
{
    mv_arena *arena = mvt_memory();
    mv_raster *raster = open_raster(MV_PIXELS_RGBA);
    part parts[SHAPES];
    uint64_t random = 5, kept = 0, drawn;
    mv_scene scene;

    make_images(true);
    for (uint32_t i = 0; i < SHAPES; i++)
        parts[i] = random_part(&random);
    mv_scene_init(&scene, arena, WIDTH, HEIGHT, 0);
    for (uint32_t round = 0; round < 300; round++) {
        build(&scene, parts);
        mv_raster_frame frame = next(raster, &scene);
        mv_image want = anew(arena, &scene);
        expect_same(&frame.image, &want, round);
        drawn = area(&frame);
        kept += WIDTH * HEIGHT - drawn;
        for (uint32_t i = mvt_random(&random, 3); i > 0; i--)
            parts[mvt_random(&random, SHAPES)] = random_part(&random);
    }
    cr_expect_gt(kept, 300 * WIDTH * HEIGHT / 4, "most of a picture stays: %llu",
                 (unsigned long long)kept);
}

Test(raster_next, nothing_is_drawn_when_nothing_differs)
{
    mv_raster *raster = open_raster(MV_PIXELS_RGBA);
    mv_raster_frame frame;
    mv_scene scene;

    mv_scene_init(&scene, mvt_memory(), WIDTH, HEIGHT, 0);
    for (int round = 0; round < 3; round++) {
        mv_scene_clear(&scene, WIDTH, HEIGHT, 0xffffffff);
        mv_scene_text(&scene, 20, 30, 12, 0x000000ff, MV_ANCHOR_START, "the same");
        mv_scene_line(&scene, 5, 5, 400, 300, 0x803020ff, 2);
        frame = next(raster, &scene);
        cr_expect_eq(frame.count == 0, round > 0);
    }
    mvt_scene_rect(&scene, 300, 20, 10, 10, 0x203040ff);
    frame = next(raster, &scene);
    cr_expect(frame.count == 1 && area(&frame) <= MV_DAMAGE_CELL * MV_DAMAGE_CELL * 4);
}

Test(raster_next, another_size_is_drawn_whole)
{
    mv_raster *raster = open_raster(MV_PIXELS_RGBA);
    mv_scene scene;

    mv_scene_init(&scene, mvt_memory(), WIDTH, HEIGHT, 0);
    for (uint32_t width = 1; width < 300; width += 47) {
        mv_scene_clear(&scene, (float)width, 100, 0xffffffff);
        mvt_scene_rect(&scene, 0, 0, 20, 20, 0x000000ff);
        mv_raster_frame frame = next(raster, &scene);
        cr_expect_eq(area(&frame), (uint64_t)width * 100);
        cr_expect(frame.image.width == width && frame.image.height == 100);
    }
}

Test(raster_next, displays_only_change_the_order_of_bytes)
{
    mv_raster *rgba = open_raster(MV_PIXELS_RGBA), *bgra = open_raster(MV_PIXELS_BGRA);
    part parts[SHAPES];
    uint64_t random = 9;
    mv_scene scene;

    make_images(false);
    for (uint32_t i = 0; i < SHAPES; i++)
        parts[i] = random_part(&random);
    mv_scene_init(&scene, mvt_memory(), WIDTH, HEIGHT, 0);
    build(&scene, parts);
    mv_raster_frame a = next(rgba, &scene);
    mv_raster_frame b = next(bgra, &scene);
    for (uint64_t i = 0; i < (uint64_t)WIDTH * HEIGHT; i++) {
        const uint8_t *left = a.image.pixels + 4 * i, *right = b.image.pixels + 4 * i;
        cr_assert(left[0] == right[2] && left[1] == right[1] && left[2] == right[0] &&
                  left[3] == right[3]);
    }
}

/* ---- every pixel of every shape ---------------------------------------------------------- */

static void blend(double *pixel, uint32_t colour)
{
    double alpha = (colour & 0xff) / 255.0;

    for (int i = 0; i < 3; i++)
        pixel[i] = pixel[i] * (1 - alpha) + (colour >> (24 - 8 * i) & 0xff) * alpha;
}

static bool has(const mv_point *p, int32_t x, int32_t y)
{
    return x + 0.5f > p[0].x && x + 0.5f < p[1].x && y + 0.5f > p[0].y && y + 0.5f < p[1].y;
}

static uint32_t image_colour(const mv_pixels *image, const mv_point *p, int32_t x, int32_t y)
{
    double u = p[2].x + (x + 0.5 - p[0].x) * (p[3].x - p[2].x) / (p[1].x - p[0].x);
    double v = p[2].y + (y + 0.5 - p[0].y) * (p[3].y - p[2].y) / (p[1].y - p[0].y);

    return image->pixels[(uint32_t)v * image->width + (uint32_t)u];
}

LongTest(raster_next, hidden_parts_may_be_skipped)
{
    mv_arena *arena = mvt_memory();
    uint64_t random = 21;
    mv_scene scene;

    make_images(false);
    mv_scene_init(&scene, arena, WIDTH, HEIGHT, 0);
    for (int round = 0; round < 40; round++) {
        mv_scene_clear(&scene, WIDTH, HEIGHT, 0xf0e8e0ff);
        for (int i = 0; i < 24; i++) {
            /* Positions are whole pixels, and images are four times or half as large. Some
             * rectangles begin or end far outside. */
            static const float far[] = {MV_FAR_PIXELS - 1, MV_FAR_PIXELS + 78, 3e9f, INFINITY};
            float x = (float)mvt_random(&random, 90) - 10, y = (float)mvt_random(&random, 70) - 10;
            uint32_t kind = mvt_random(&random, 8), salt = mvt_random(&random, 4);
            float side = salt < 2 ? 256 : 32;
            if (kind == 0)
                mv_scene_clip(&scene, x, y, 60, 50);
            else if (kind == 1)
                mv_scene_unclip(&scene);
            else if (kind < 4)
                mv_scene_image(&scene, (mv_box){x, y, side, side}, (mv_box){0, 0, IMAGE, IMAGE},
                               &images[salt]);
            else if (kind == 7) {
                mv_scene_point(&scene, mvt_random(&random, 2) ? x : -far[salt], y);
                mv_scene_point(&scene, far[salt], mvt_random(&random, 2) ? y + 30 : far[3 - salt]);
                mv_scene_add(&scene, (mv_shape){.kind = MV_SHAPE_RECTS,
                                                .fill = mvt_random(&random, 1 << 24) << 8 | 0xff,
                                                .is_crisp = mvt_random(&random, 2)});
            } else
                mvt_scene_rect(&scene, x, y, (float)(20 + mvt_random(&random, 300)),
                               (float)(20 + mvt_random(&random, 300)),
                               mvt_random(&random, 1 << 24) << 8 | (kind == 4 ? 0x60 : 0xff));
        }
        mv_image is = anew(arena, &scene);
        for (int32_t i = 0; i < WIDTH * HEIGHT; i += 3) {
            double want[3] = {0};
            int32_t x = i % WIDTH;
            int32_t y = i / WIDTH;
            bool is_clipped = false;
            blend(want, scene.background);
            for (uint32_t j = 0; j < scene.shape_count; j++) {
                const mv_shape *s = &scene.shapes[j];
                const mv_point *p = &scene.points[s->first];
                if (s->kind == MV_SHAPE_CLIP)
                    is_clipped = s->count >= 2 && !has(p, x, y);
                else if (!is_clipped && has(p, x, y))
                    blend(want,
                          s->kind == MV_SHAPE_IMAGE ? image_colour(s->image, p, x, y) : s->fill);
            }
            for (int c = 0; c < 3; c++)
                cr_assert(fabs(is.pixels[4 * i + c] - want[c]) <= 4, "round %d at %d,%d", round,
                          i % WIDTH, i / WIDTH);
        }
    }
}

/* Covers the fast path for level steps, and the path for any other area. */
Test(raster_next, level_steps_are_drawn_as_areas)
{
    mv_arena *arena = mvt_memory();
    part p = {.at = {20, 30.37f}, .colour = 0x305080a0, .salt = 3};
    mv_scene steps, area_scene;

    mv_scene_init(&steps, arena, WIDTH, HEIGHT, 0xffffffff);
    mv_scene_init(&area_scene, arena, WIDTH, HEIGHT, 0xffffffff);
    add_curve(&steps, &p);
    for (uint32_t i = 0; i < steps.shapes[0].count; i++) {
        mv_point at = mv_scene_corner(&steps, &steps.shapes[0], i);
        mv_scene_point(&area_scene, at.x, at.y);
    }
    mv_scene_add(&area_scene, (mv_shape){.kind = MV_SHAPE_POLYGON, .fill = p.colour});
    mv_image is = anew(arena, &steps);
    mv_image want = anew(arena, &area_scene);
    for (uint32_t i = 0; i < WIDTH * HEIGHT * 4; i++)
        cr_assert(abs(is.pixels[i] - want.pixels[i]) <= 2, "byte %u", i);
}

LongTest(raster_next, frames_of_the_viewer_equal_those_drawn_from_scratch)
{
    static const char keys[] = "WWDDAS,.,.PCCT123410";
    mv_view *view = mvt_view("leak_in_training");
    mv_raster *raster = open_raster(MV_PIXELS_RGBA);
    mv_arena *arena = mvt_memory();

    for (uint32_t i = 0; keys[i]; i++) {
        const mv_scene *scene = mvt_view_frame(view);
        mv_raster_frame frame = next(raster, scene);
        mv_image want = anew(arena, scene);
        expect_same(&frame.image, &want, i);
        mv_view_input(view, &(mv_input){.kind = MV_INPUT_MOVE, .x = 300 + (float)i * 11, .y = 300});
        mv_view_input(view, &(mv_input){.kind = MV_INPUT_KEY, .key = (uint8_t)keys[i]});
    }
}

Test(raster_next, memory_that_runs_out_is_reported)
{
    mv_arena *arena = mvt_memory();
    mv_raster *raster = open_raster(MV_PIXELS_RGBA);
    mv_raster_frame frame;
    mv_scene scene;
    mv_err err;

    mv_scene_init(&scene, arena, 300, 300, 0xffffffff);
    for (int i = 0; i < 300; i++)
        mvt_scene_rect(&scene, 0.5f, (float)i, 100, 0.5f, 0x000000ff);
    arena->budget->limit = arena->budget->used;
    cr_expect_eq(mv_raster_next(raster, &scene, &frame, &err), MV_NOMEM);
    arena->budget->limit = UINT64_C(1) << 32;
    cr_expect_eq(mv_raster_next(raster, &scene, &frame, &err), MV_OK);
}
