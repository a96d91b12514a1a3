#include "tests/fuzz/written_files.h"

#include <png.h>
#include <stdlib.h>

#include "base/texts.h"
#include "tests/fixture/in_process.h"
#include "tests/fuzz/markup_check.h"
#include "viz/scene/png.h"

#define PAGE "page.html"
#define HEAD "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<title>memviz</title>\n</head>\n"

static float drawn_width, drawn_height; /* size of the last written scene, in pixels */

void mvt_check_scene(const mv_scene *scene)
{
    if (scene->failed)
        return;
    if (scene->shape_count > MVT_MOST_SHAPES || scene->point_count > MVT_MOST_POINTS)
        mvt_finding("more shapes than the bound", "scene");
    for (uint32_t i = 0; i < scene->point_count; i++)
        if (!isfinite(scene->points[i].x) || !isfinite(scene->points[i].y))
            mvt_finding("a point that is nowhere", "scene");
    for (uint32_t i = 0; i < scene->shape_count; i++)
        if (!isfinite(scene->shapes[i].width) ||
            (uint64_t)scene->shapes[i].first + scene->shapes[i].count > scene->point_count)
            mvt_finding("a shape without its points", "scene");
}

/* Checks a scene that is written, and stores its size. */
static void check_drawn(const mv_scene *scene)
{
    mvt_check_scene(scene);
    if (scene->failed)
        return;
    drawn_width = scene->shown_width > 0 ? scene->shown_width : scene->width;
    drawn_height = scene->shown_height > 0 ? scene->shown_height : scene->height;
    if (!(drawn_width >= 0 && drawn_height >= 0 && isfinite(drawn_width + drawn_height)))
        mvt_finding("a picture without a size", "scene");
}

/* The linker replaces the back ends with these functions (tests/CMakeLists.txt). */
mv_code __real_mv_svg_write(const mv_scene *scene, mv_sink *sink, mv_err *err);
mv_code __wrap_mv_svg_write(const mv_scene *scene, mv_sink *sink, mv_err *err);
mv_code __real_mv_scene_write_png(mv_budget *budget, const mv_scene *scene, mv_sink *sink,
                                  mv_err *err);
mv_code __wrap_mv_scene_write_png(mv_budget *budget, const mv_scene *scene, mv_sink *sink,
                                  mv_err *err);

mv_code __wrap_mv_svg_write(const mv_scene *scene, mv_sink *sink, mv_err *err)
{
    check_drawn(scene);
    return __real_mv_svg_write(scene, sink, err);
}

mv_code __wrap_mv_scene_write_png(mv_budget *budget, const mv_scene *scene, mv_sink *sink,
                                  mv_err *err)
{
    check_drawn(scene);
    return __real_mv_scene_write_png(budget, scene, sink, err);
}

void mvt_check_session(mv_arena *arena, const mv_session *session, mvt_session_read *read,
                       mvt_session_write *write)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    const char *first = write(arena, session);
    mv_session again;

    if (first && read(arena, mv_text_span(first), &again, &err) == MV_OK) {
        const char *second = write(arena, &again);
        if (second && strcmp(first, second) != 0) {
            fprintf(stderr, "%s\nis\n%s\n", first, second);
            mvt_finding("a session", "read back differently");
        }
    } else if (first && err.code != MV_NOMEM)
        mvt_finding("a session that cannot be read", err.detail);
}

static void expect_markup(const char *what, const char *why, mv_span file, uint64_t at)
{
    if (!why)
        return;
    fprintf(stderr, "byte %llu: %.200s\n", (unsigned long long)at, file.data + at);
    mvt_finding(what, why);
}

/* Removes a text up to `most` times. */
static void drop(char *names, const char *part, int most)
{
    char *at;

    while (most-- > 0 && (at = strstr(names, part)))
        memmove(at, at + strlen(part), strlen(at + strlen(part)) + 1);
}

void mvt_put_page(void)
{
    static const char page[] = HEAD "<body>\n<!--snapshot-->\n</body>\n</html>\n";

    mvt_folder_put(PAGE, (mv_span){(const uint8_t *)page, sizeof page - 1});
    if (setenv("MEMVIZ_PAGE", PAGE, 1) != 0)
        mvt_finding("no memory", PAGE);
}

void mvt_check_written(const char *name, bool is_wanted)
{
    mv_span file = mvt_folder_take(name);

    if (!is_wanted) {
        if (file.data)
            mvt_finding("a failure leaves a file", name);
        return;
    }
    if (!file.data)
        mvt_finding("no file was written", name);
    if (strstr(name, ".svg")) {
        uint64_t at;
        const char *why = mvt_svg_wrong(file, &at);
        expect_markup("SVG", why, file, at);
        if (file.length > MVT_MOST_SVG)
            mvt_finding("SVG", "larger than the bound");
    } else if (strstr(name, ".png")) {
        png_image image = {.version = PNG_IMAGE_VERSION};
        if (!png_image_begin_read_from_memory(&image, file.data, file.length))
            mvt_finding("PNG", image.message);
        if (image.width != (uint32_t)lroundf(fmaxf(drawn_width, 1)) ||
            image.height != (uint32_t)lroundf(fmaxf(drawn_height, 1)))
            mvt_finding("PNG", "not of the size that the scene says");
        image.format = PNG_FORMAT_RGBA;
        uint8_t *pixels = malloc(PNG_IMAGE_SIZE(image));
        if (pixels && !png_image_finish_read(&image, NULL, pixels, 0, NULL))
            mvt_finding("PNG", image.message);
        free(pixels);
    } else if (strstr(name, ".html")) {
        /* Whatever the file, a page has the elements of the empty page, plus the snapshot. */
        static const char wanted[] = "html lang;head;title;/title;/head;body;"
                                     "script type id data-name;/script;/body;/html;";
        char names[MVT_MARKUP_NAMES];
        uint64_t at;
        const char *why = mvt_markup_wrong(file, true, names, &at);
        expect_markup("page", why, file, at);
        drop(names, "p id;/p;", 2); /* the verdict, and the names of omitted parts */
        drop(names, " data-state", 1);
        if (strcmp(names, wanted) != 0)
            mvt_finding("page", names);
    } else {
        for (uint64_t i = 0; i < file.length; i++)
            if (file.data[i] != '\n' && file.data[i] != '\t' &&
                (file.data[i] < ' ' || file.data[i] == 0x7f))
                mvt_finding("a text", "a control character");
    }
    free((void *)(uintptr_t)file.data);
}
