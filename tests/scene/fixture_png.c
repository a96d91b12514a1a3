#include "tests/scene/fixture_png.h"

#include <png.h>

#include "tests/fixture/fixture_test.h"
#include "viz/scene/png.h"

mv_image mvt_png_read(const char *path)
{
    png_image png = {.version = PNG_IMAGE_VERSION};

    if (!png_image_begin_read_from_file(&png, path))
        return (mv_image){0};
    png.format = PNG_FORMAT_RGBA;
    uint8_t *pixels = mv_push_array(mvt_memory(), uint8_t, PNG_IMAGE_SIZE(png));
    cr_assert(pixels && png_image_finish_read(&png, NULL, pixels, 0, NULL), "%s: %s", path,
              png.message);
    return (mv_image){png.width, png.height, pixels};
}

void mvt_png_write(const mv_image *image, const char *path)
{
    mv_sink sink;

    cr_assert_eq(mv_sink_open(&sink, path, mvt_err()), MV_OK, "%s: %s", path, mvt_err()->detail);
    mvt_ok(mv_png_write(mvt_memory()->budget, image, &sink, mvt_err()));
    mvt_ok(mv_sink_commit(&sink, mvt_err()));
}
