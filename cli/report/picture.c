#include "cli/report/picture.h"

#include "cli/complain.h"
#include "cli/input/input.h"
#include "viz/scene/png.h"

/* ---- back ends --------------------------------------------------------------------------- */

typedef mv_code write_scene(mv_budget *budget, const mv_scene *scene, mv_sink *sink, mv_err *err);

static mv_code write_svg(mv_budget *budget, const mv_scene *scene, mv_sink *sink, mv_err *err)
{
    (void)budget;
    return mv_svg_write(scene, sink, err);
}

/* To add one: a row here. The first is for standard output. */
static const struct {
    const char *ending;
    write_scene *write;
} back_ends[] = {
    {".svg", write_svg},
    {".png", mv_scene_write_png},
};
enum { BACK_ENDS = sizeof back_ends / sizeof *back_ends };

/* ---- where to ---------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);

    return length > tail && strcmp(text + length - tail, ending) == 0;
}

/* The row that a path's ending names; BACK_ENDS when there is none. */
static size_t back_end_of(const char *path)
{
    size_t i = 0;

    if (strcmp(path, "-") == 0)
        return 0;
    while (i < BACK_ENDS && !ends_with(path, back_ends[i].ending))
        i++;
    return i;
}

bool mv_picture_is_written(const char *path)
{
    return strcmp(path, "-") != 0 && back_end_of(path) < BACK_ENDS;
}

const char *mv_picture_name(const mv_cli *cli)
{
    const char *file = mv_input_name(cli), *slash = strrchr(file, '/');

    if (strcmp(file, "-") == 0)
        return "standard input";
    return slash && slash[1] ? slash + 1 : file;
}

bool mv_picture_open(mv_picture *picture, mv_cli *cli)
{
    const char *path = cli->options.output;
    bool is_stdout = strcmp(path, "-") == 0 && !mv_option_given(&cli->options, MV_HAS(JSON));

    *picture = (mv_picture){.cli = cli, .path = path, .name = mv_picture_name(cli)};
    mv_scene_init(&picture->scene, &cli->arena, 0, 0, 0);
    if (is_stdout || mv_picture_is_written(path))
        return true;
    mv_complain_usage(cli->command->name, "%s: only .svg, .png and .html are written", path);
    return false;
}

/* ---- panels ------------------------------------------------------------------------------ */

mv_code mv_picture_append(mv_picture *picture, const mv_scene *panel, mv_err *err)
{
    mv_scene *scene = &picture->scene;
    float below = scene->height;

    for (uint32_t i = 0; i < panel->shape_count; i++) {
        const mv_shape *shape = &panel->shapes[i];
        for (uint32_t j = 0; j < shape->count; j++) {
            mv_point at = panel->points[shape->first + j];
            mv_scene_point(scene, at.x, at.y + below);
        }
        mv_scene_add(scene, *shape);
    }
    scene->height += panel->height;
    scene->width = panel->width > scene->width ? panel->width : scene->width;
    scene->shown_height += panel->shown_height;
    scene->shown_width = panel->shown_width;
    scene->background = panel->background;
    picture->panels++;
    if (scene->failed)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "picture");
    return MV_OK;
}

/* ---- out --------------------------------------------------------------------------------- */

bool mv_picture_write(mv_picture *picture)
{
    mv_sink sink;
    mv_err err = {.offset = MV_NO_OFFSET};

    if (mv_sink_open(&sink, picture->path, &err) == MV_OK) {
        mv_code code = back_ends[back_end_of(picture->path)].write(&picture->cli->budget,
                                                                   &picture->scene, &sink, &err);
        if (code == MV_OK)
            mv_sink_commit(&sink, &err);
        else
            mv_sink_abort(&sink);
    }
    if (err.code != MV_OK)
        mv_complain(NULL, &err);
    return err.code == MV_OK;
}

void mv_picture_say(mv_picture *picture)
{
    mv_out *out = &picture->cli->out;

    if (strcmp(picture->path, "-") == 0)
        return;
    mv_out_clean(out, (mv_span){(const uint8_t *)picture->path, strlen(picture->path)});
    mv_out_char(out, '\n');
}

cJSON *mv_picture_json(mv_picture *picture, mv_report *report)
{
    return mv_json_span(report, (mv_span){(const uint8_t *)picture->path, strlen(picture->path)});
}
