/* The sessions of the README are what the program prints, its pictures what it draws; recipes in
 * docs/ are files that other tests run. */
#include <png.h>

#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_program.h"

#define FENCE "```\n"
#define SHELL "$ memviz "

/* Runs "$ memviz ARGUMENTS" of a session, whose text ends at the closing fence. */
static void check_session(const char *text, const char *end)
{
    const char *arguments = text + strlen(SHELL), *output = strchr(arguments, '\n') + 1;
    mvt_run r =
        mvt_sh("cd %s && $MEMVIZ %.*s", MV_SOURCE_DIR, (int)(output - 1 - arguments), arguments);

    cr_expect_eq(r.out_length, (size_t)(end - output), "%.*s", (int)(output - text), text);
    cr_expect(strncmp(r.out, output, (size_t)(end - output)) == 0, "%.*s prints:\n%s%s\nnot:\n%.*s",
              (int)(output - 1 - text), text, r.out, r.err, (int)(end - output), output);
}

Test(readme, sessions_are_real)
{
    unsigned sessions = 0;
    mv_span file = mvt_file(mvt_memory(), MV_SOURCE_DIR "/README.md");
    const char *text = mv_arena_text(mvt_memory(), (const char *)file.data, file.length);

    cr_assert(text != NULL);
    while ((text = strstr(text, FENCE SHELL))) {
        const char *end = strstr(text + strlen(FENCE), FENCE);
        cr_assert(end != NULL, "a session has no end");
        check_session(text + strlen(FENCE), end);
        sessions++;
        text = end + strlen(FENCE);
    }
    cr_expect_geq(sessions, 6);
}

/* ---- pictures ---------------------------------------------------------------------------- */

/* Grey pixels of a PNG file. */
static uint8_t *read_png(mv_arena *arena, const char *path, png_image *png)
{
    uint8_t *pixels;

    *png = (png_image){.version = PNG_IMAGE_VERSION};
    cr_assert(png_image_begin_read_from_file(png, path), "%s: %s", path, png->message);
    png->format = PNG_FORMAT_GRAY;
    pixels = mv_arena_push(arena, PNG_IMAGE_SIZE(*png), 1);
    cr_assert(pixels && png_image_finish_read(png, NULL, pixels, 0, NULL), "%s", png->message);
    return pixels;
}

/* Fonts differ between machines: texts may, shapes not. */
static void check_alike(mv_arena *arena, const char *shown, const char *made)
{
    png_image a, b;
    const uint8_t *left = read_png(arena, shown, &a), *right = read_png(arena, made, &b);
    uint64_t different = 0;

    cr_assert(a.width == b.width && a.height == b.height, "%s has another size", shown);
    for (uint64_t i = 0; i < (uint64_t)a.width * a.height; i++)
        different += abs(left[i] - right[i]) > 24;
    cr_expect_lt(different, (uint64_t)a.width * a.height / 50, "%s: %lu pixels differ", shown,
                 (unsigned long)different);
}

/* "(`memviz ARGUMENTS docs/pictures/NAME.png`)": what that draws is what is shown. */
static void check_drawing(mv_arena *arena, const char *command, const char *end)
{
    const char *output = strstr(command, " docs/pictures/");
    char shown[512], made[] = "/tmp/memviz-readme-XXXXXX.png";
    mv_span file;
    mvt_run r;

    cr_assert(output && output < end);
    snprintf(shown, sizeof shown, "%s/%.*s", MV_SOURCE_DIR, (int)(end - output - 1), output + 1);
    file = mvt_file(arena, shown);
    cr_expect_lt(file.length, 150000, "%s", shown);
    cr_assert_geq(mkstemps(made, 4), 0);
    r = mvt_sh("cd %s && $MEMVIZ %.*s %s", MV_SOURCE_DIR, (int)(output - command), command, made);
    cr_assert_eq(r.status, 0, "%s", r.err);
    check_alike(arena, shown, made);
    remove(made);
}

Test(readme, pictures_can_be_made_again)
{
    static const char start[] = "(`memviz ";
    unsigned pictures = 0;
    mv_arena *arena = mvt_memory();
    mv_span file = mvt_file(arena, MV_SOURCE_DIR "/README.md");
    const char *text = mv_arena_text(arena, (const char *)file.data, file.length);

    while ((text = strstr(text, start))) {
        const char *end = strstr(text, "`)");
        cr_assert(end != NULL);
        check_drawing(arena, text + strlen(start), end);
        pictures++;
        text = end;
    }
    cr_expect_geq(pictures, 3);
}

/* ---- recipes ----------------------------------------------------------------------------- */

Test(readme, recipes_are_files_that_run)
{
    static const char *const names[] = {"heap_cupy.py", "heap_numba.py", "heap_rmm.py",
                                        "heap_pool.cpp"};
    mv_arena *arena = mvt_memory();
    mv_span page = mvt_file(arena, MV_SOURCE_DIR "/docs/heaps.md");
    const char *text = mv_arena_text(arena, (const char *)page.data, page.length);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[512];
        mv_span file;
        snprintf(path, sizeof path, "%s/docs/examples/%s", MV_SOURCE_DIR, names[i]);
        file = mvt_file(arena, path);
        cr_expect_not_null(strstr(text, mv_arena_text(arena, (const char *)file.data, file.length)),
                           "docs/heaps.md does not show %s", names[i]);
    }
}
