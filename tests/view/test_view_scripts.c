/* Sessions: every script in tests/scripts/, run without a window. Their pictures are compared with
 * testdata/golden/view/ (MV_BLESS=1 writes it). At most one pixel in a thousand may differ by more
 * than 8 in a channel. MV_SHOTS=FOLDER keeps the pictures. */
#include <glob.h>

#include "tests/fixture/fixture_view.h"
#include "tests/scene/fixture_png.h"
#include "view/script.h"

enum { TOLERANCE = 8 };

/* Counts the pixels that differ by more than the tolerance. */
static uint32_t count_different(const mv_image *a, const mv_image *b)
{
    uint32_t different = 0;

    for (uint64_t i = 0; i < (uint64_t)a->width * a->height; i++) {
        bool differs = false;
        for (int c = 0; c < 4; c++)
            differs |= abs(a->pixels[i * 4 + c] - b->pixels[i * 4 + c]) > TOLERANCE;
        different += differs;
    }
    return different;
}

static bool compare(const mv_image *image, const char *name, char *why, size_t size)
{
    const char *path = mvt_format("%s/golden/view/%s", MV_TESTDATA, name);

    if (getenv("MV_BLESS")) {
        mvt_png_write(image, path);
        return true;
    }
    mv_image golden = mvt_png_read(path);
    if (golden.width != image->width || golden.height != image->height) {
        snprintf(why, size, "%s: not there, or of another size", name);
        return false;
    }
    uint32_t different = count_different(&golden, image);
    snprintf(why, size, "%s: %u pixels differ", name, different);
    return different <= golden.width * golden.height / 1000;
}

static bool shoot(void *user, const char *name, const mv_scene *scene, char *why, size_t size)
{
    const char *folder = getenv("MV_SHOTS");
    mv_raster_opts opts = {.font = MV_FONT_BITMAP};
    mv_image image;

    (void)user;
    mvt_ok(mv_raster_draw(mvt_memory(), scene, &opts, &image, mvt_err()));
    if (folder)
        mvt_png_write(&image, mvt_format("%s/%s", folder, name));
    return compare(&image, name, why, size);
}

static void run(const char *path)
{
    mv_script_opts opts = {.folder = MV_TESTDATA "/snapshots", .shot = shoot};
    mv_script_result result;
    mv_view *view = mvt_view_new(NULL);

    cr_expect(mv_script_run(view, mvt_text(path), &opts, &result), "%s:%u: %s", path, result.line,
              result.why);
    mvt_end_now(view);
    mv_arena_release(mvt_memory());
}

LongTest(view_scripts, every_session_shows_its_golden_pictures)
{
    glob_t scripts;

    cr_assert_eq(glob(MV_SOURCE_DIR "/tests/scripts/*.vzs", 0, NULL, &scripts), 0);
    for (size_t i = 0; i < scripts.gl_pathc; i++)
        run(scripts.gl_pathv[i]);
    globfree(&scripts);
}
