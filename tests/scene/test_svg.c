/* Scenes as SVG must be well-formed for any text, and the coordinates must be unchanged when read
 * back. */
#include <math.h>

#include "base/texts.h"
#include "base/utf8.h"
#include "tests/fixture/fixture_scene.h"
#include "tests/fuzz/markup_check.h"
#include "tests/scene/fixture_png.h"
#include "viz/scene/distinct_texts.h"

typedef struct {
    mv_arena *arena;
    mv_scene scene;
    const char *svg; /* the file, NUL-terminated */
    uint64_t length;
} drawing;

static drawing d;

static void begin(void)
{
    d = (drawing){.arena = mvt_memory()};
    mv_scene_init(&d.scene, d.arena, 300, 200, 0xffffffff);
}

static void write_svg(void)
{
    const char *path = mvt_temp_file((mv_span){0});
    mv_sink sink;

    mvt_ok(mv_sink_open(&sink, path, mvt_err()));
    mvt_ok(mv_svg_write(&d.scene, &sink, mvt_err()));
    mvt_ok(mv_sink_commit(&sink, mvt_err()));
    mv_span file = mvt_file(d.arena, path);
    d.svg = mv_arena_text(d.arena, (const char *)file.data, file.length);
    d.length = file.length;
}

static void check_xml(void)
{
    uint64_t at;

    write_svg();
    const char *why = mvt_svg_wrong(mv_text_span(d.svg), &at);
    cr_assert_null(why, "%s: %.40s", why, d.svg + at);
    cr_assert_eq(strlen(d.svg), d.length);
}

Test(svg, every_kind_of_shape_is_well_formed)
{
    begin();
    mvt_scene_rect(&d.scene, 1, 2, 3, 4, 0x112233ff);
    mv_scene_clip(&d.scene, 10, 10, 100, 100);
    mv_scene_line(&d.scene, 0, 0, 5.5f, 7.25f, 0x445566ff, 1.5f);
    mv_scene_clip(&d.scene, 20, 20, 50, 50);
    mv_scene_point(&d.scene, 1, 1);
    mv_scene_point(&d.scene, 9, 1);
    mv_scene_point(&d.scene, 9, 9);
    mv_scene_add(&d.scene, (mv_shape){.kind = MV_SHAPE_POLYGON,
                                      .is_hatched = true,
                                      .stroke = 0xffffff80,
                                      .title = "a title"});
    mv_scene_unclip(&d.scene);
    mv_scene_text(&d.scene, 5, 5, 12, 0x000000ff, MV_ANCHOR_MIDDLE, "text");
    mv_scene_clip(&d.scene, 0, 0, 1, 1);
    check_xml();
    cr_expect(strstr(d.svg, "<path d=\"M1 2h3v4h-3z\" fill=\"#112233\"/>"));
    cr_expect(strstr(d.svg, "M0 0l5.5 7.3\""));
}

Test(svg, any_bytes_make_valid_xml)
{
    uint64_t state = 42;

    for (int round = 0; round < 200; round++) {
        char text[64];
        begin();
        for (size_t i = 0; i < sizeof text - 1; i++) {
            text[i] = (char)mvt_random(&state, 256);
            if (round % 2 && mvt_random(&state, 4) == 0)
                text[i] = "<>&\"'\n\x1b\x7f\xed\xef"[mvt_random(&state, 10)];
            if (text[i] == 0)
                text[i] = 'x';
        }
        text[sizeof text - 1] = 0;
        mv_scene_text(&d.scene, 1, 1, 12, 0xff, MV_ANCHOR_START, text);
        mv_scene_text(&d.scene, 1, 1, 12, 0xff, MV_ANCHOR_START,
                      mv_text_fit(&d.scene, text, 12, 100));
        mvt_scene_rect(&d.scene, 0, 0, 1, 1, 0xff);
        d.scene.shapes[2].title = text;
        check_xml();
    }
}

Test(svg, forbidden_characters_are_replaced)
{
    begin();
    mv_scene_text(&d.scene, 0, 0, 12, 0xff, MV_ANCHOR_START,
                  "a<b>&\"c\" \xed\xa0\x80 \x1b \xef\xbf\xbf \xc3\xa9 \xf0\x9f\x98\x80");
    check_xml();
    cr_expect(strstr(d.svg, ">a&lt;b&gt;&amp;&quot;c&quot; \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd "
                            "\xef\xbf\xbd \xef\xbf\xbd \xc3\xa9 "
                            "\xf0\x9f\x98\x80</text>"));
}

Test(svg, relative_moves_reach_every_corner)
{
    enum { POINTS = 5000 };
    static mv_point points[POINTS];
    uint64_t state = 7;

    begin();
    for (uint32_t i = 0; i < POINTS; i++) {
        uint32_t what = mvt_random(&state, 16);
        points[i] = (mv_point){(float)mvt_random(&state, 4096) / 13 - 20,
                               (float)mvt_random(&state, 4096) / 7 - 100};
        if (i && what < 5)
            points[i].x = points[i - 1].x;
        else if (i && what < 10)
            points[i].y = points[i - 1].y;
        mv_scene_point(&d.scene, points[i].x, points[i].y);
    }
    mv_scene_add(&d.scene, (mv_shape){.kind = MV_SHAPE_LINE, .stroke = 0xff, .width = 1});
    write_svg();
    /* Follow a path's commands M l h v, and check that each of `points` is reached in turn. */
    const char *path = strstr(d.svg, "<path d=\"") + 9;
    double x = 0, y = 0;
    char *at = (char *)path;
    for (uint32_t j = 0; j < POINTS; j++) {
        if (j > 0 && lround(points[j].x * 10.0f) == lround(points[j - 1].x * 10.0f) &&
            lround(points[j].y * 10.0f) == lround(points[j - 1].y * 10.0f))
            continue; /* nothing is written for a point that does not move */
        char command = *at++;
        cr_assert(strchr(j ? "lhv" : "M", command), "%c", command);
        if (command != 'v')
            x += strtod(at, &at);
        if (command != 'h')
            y += strtod(at, &at);
        cr_assert_float_eq(x, points[j].x, 0.0501);
        cr_assert_float_eq(y, points[j].y, 0.0501);
    }
    cr_assert_eq(*at, '"');
}

Test(svg, coordinates_are_numbers_within_bounds)
{
    begin();
    mv_scene_line(&d.scene, NAN, INFINITY, NAN, 1e30f, 0xff, 1);
    mvt_scene_rect(&d.scene, 5, 7, 3e9f, 2, 0x000000ff);
    check_xml();
    cr_expect(strstr(d.svg, "M0 1000000\""), "%s", d.svg);
    cr_expect(strstr(d.svg, "M5 7h999995v2"), "%s", d.svg);
}

Test(svg, a_scene_without_memory_is_not_written)
{
    mv_arena *arena = mvt_arena_of(0);
    mv_scene scene;
    mv_sink sink = {0};
    mv_err err;

    mv_scene_init(&scene, arena, 10, 10, 0xff);
    mvt_scene_rect(&scene, 0, 0, 1, 1, 0xff);
    cr_expect(scene.failed);
    cr_expect_eq(mv_svg_write(&scene, &sink, &err), MV_NOMEM);
}

/* Decodes base64 up to the first letter outside its alphabet. */
static uint64_t decode_base64(const char *text, uint8_t *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0, held = 0;
    uint64_t count = 0;

    for (; *text && strchr(digits, *text); text++) {
        bits = bits << 6 | (uint32_t)(strchr(digits, *text) - digits);
        held += 6;
        if (held >= 8) {
            held -= 8;
            out[count++] = (uint8_t)(bits >> held);
        }
    }
    return count;
}

Test(svg, images_are_embedded_whole)
{
    enum { WIDTH = 61, HEIGHT = 40 };
    static uint32_t pixels[WIDTH * HEIGHT];
    static uint8_t file[1 << 16];
    mv_pixels image = {.width = WIDTH, .height = HEIGHT, .pixels = pixels};

    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++)
        pixels[i] = i % 7 ? i * 0x9e3779b1u | 0xff : 0;
    begin();
    mv_scene_image(&d.scene, (mv_box){10, 20, 100, 50}, (mv_box){1.5f, 0, 50, 40}, &image);
    check_xml();
    cr_expect(strstr(d.svg, "<svg x=\"10\" y=\"20\" width=\"100\" height=\"50\" "
                            "viewBox=\"1.5 0 50 40\" preserveAspectRatio=\"none\">"));
    const char *data = strstr(d.svg, "base64,");
    cr_assert(data && strlen(data) < sizeof file);
    mv_image png = mvt_png_read(mvt_temp_file((mv_span){file, decode_base64(data + 7, file)}));
    cr_assert(png.width == WIDTH && png.height == HEIGHT);
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++) {
        const uint8_t *back = png.pixels + 4 * i;
        cr_assert_eq((uint32_t)back[0] << 24 | (uint32_t)back[1] << 16 | (uint32_t)back[2] << 8 |
                         back[3],
                     pixels[i], "pixel %u", i);
    }
}

Test(svg, strips_are_closed_outlines)
{
    begin();
    for (float x = 0; x < 3; x++) {
        mv_scene_point(&d.scene, x * 10, 5 - x);
        mv_scene_point(&d.scene, x * 10, 9 + x);
    }
    mv_scene_add(&d.scene, (mv_shape){.kind = MV_SHAPE_STRIP, .fill = 0x112233ff});
    check_xml();
    cr_expect(strstr(d.svg, "<path d=\"M0 5l10-1l10-1v8l-10-1l-10-1z\" fill=\"#112233\"/>"));
}

/* The ellipsis is written ~. */
Test(scene, a_cut_text_keeps_its_distinct_part)
{
    static const struct {
        const char *text;
        float width;
        const char *cut;
    } texts[] = {
        {"train.py:62 forward", 100, "train.py:62 for~"},
        {"train.py:62 forward", 60, "train~:62"},
        {"leak: modelling_of_llama.py:162 forward", 90, "leak: m~:162"},
        {"/home/me/project/train.py:62 forward", 100, "~ct/train.py:62"},
        {"runs/7/rank0.pickle", 90, "~/rank0.pickle"},
        {"Optimizer.step#AdamW.step", 90, "~AdamW.step"},
        {"ProfilerStep#12", 60, "~tep#12"},
        {"0x7f1200000200", 60, "~000200"},
        {"out of memory: asked for 24.0 MiB", 100, "out of memor~"},
        {"largest: 12 blocks of train.py:62 forward", 100, "largest: 12 blo~"},
        {"forward", 20, "f~"},
        {"forward", 10, ""},
    };

    begin();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *cut = mv_text_fit(&d.scene, texts[i].text, 12, texts[i].width);
        const char *ellipsis = strstr(cut, "\xe2\x80\xa6");
        const char *shown = ellipsis ? mv_scene_format(&d.scene, "%.*s~%s", (int)(ellipsis - cut),
                                                       cut, ellipsis + 3)
                                     : cut;
        cr_expect_str_eq(shown, texts[i].cut, "%s is %s", texts[i].text, cut);
    }
}

Test(scene, texts_are_cut_to_fit_between_characters)
{
    const char *text = "attention_\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9_block.py:118 log_activations";

    begin();
    cr_expect_str_eq(mv_text_fit(&d.scene, text, 12, 1000), text);
    for (float width = 0; width < 400; width += 3) {
        const char *cut = mv_text_fit(&d.scene, text, 12, width);
        mv_span all = mv_text_span(cut);
        cr_expect_leq(mv_text_width(cut, 12), width);
        for (uint64_t at = 0; at < all.length;)
            cr_assert_neq(mv_utf8_next(all, &at), MV_UTF8_BAD, "%s", cut);
    }
}
