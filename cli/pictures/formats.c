
#include "cli/complain.h"
#include "cli/input/input.h"
#include "cli/input/overwrite.h"
#include "cli/pictures/pictures.h"
#include "cli/report/table.h"
#include "view/page/page_file.h"
#include "viz/scene/png.h"

/* ---- scenes ------------------------------------------------------------------------------ */

/* Places a panel below those of the earlier devices. */
static mv_code append_panel(mv_scene *scene, const mv_scene *panel, mv_err *err)
{
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
    if (scene->failed)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "picture");
    return MV_OK;
}

static mv_code add_panel(mv_drawing *d, const mv_lives *lives, const mv_place *place,
                         mv_arena *work, mv_err *err)
{
    mv_scene panel;

    if (d->devices == 0)
        mv_scene_init(&d->scene, &d->cli->arena, 0, 0, 0);
    if (d->picture->paint(d, lives, place, work, &panel, err) != MV_OK)
        return err->code;
    return append_panel(&d->scene, &panel, err);
}

static mv_code write_svg(mv_drawing *d, mv_err *err)
{
    return mv_svg_write(&d->scene, &d->sink, err);
}

static mv_code write_png(mv_drawing *d, mv_err *err)
{
    return mv_scene_write_png(&d->cli->budget, &d->scene, &d->sink, err);
}

/* ---- pages ------------------------------------------------------------------------------- */

/* A page contains all data about a device, whatever its initial view. */
static void count_page(mv_drawing *d, const mv_lives *lives, const mv_place *place)
{
    mv_window w = place->window;

    d->figure[MV_FIGURE_EVENTS] += w.end ? w.end - w.first : lives->events.count;
    d->figure[MV_FIGURE_DRAWN] += lives->allocs.count;
}

static mv_code add_to_page(mv_drawing *d, const mv_lives *lives, const mv_place *place,
                           mv_arena *work, mv_err *err)
{
    count_page(d, lives, place);
    mv_page_init(d->cli, &d->page);
    if (mv_page_open_at(d, lives, place, work, err) != MV_OK)
        return err->code;
    return mv_viewer_page_evaluate(&d->cli->arena, work, d->trace, lives, &d->page, err);
}

static mv_code write_page(mv_drawing *d, mv_err *err)
{
    d->page.write.name = d->name;
    d->page.title = d->cli->options.title;
    d->page.session = &d->session;
    return mv_page_put(d->cli, d->trace, &d->page, d->path, &d->sink, NULL, err);
}

/* Draws the SVG, and reports the same figures as a page. */
static mv_code add_still(mv_drawing *d, const mv_lives *lives, const mv_place *place,
                         mv_arena *work, mv_err *err)
{
    uint64_t events = d->figure[MV_FIGURE_EVENTS], drawn = d->figure[MV_FIGURE_DRAWN];

    if (add_panel(d, lives, place, work, err) != MV_OK)
        return err->code;
    d->figure[MV_FIGURE_EVENTS] = events;
    d->figure[MV_FIGURE_DRAWN] = drawn;
    count_page(d, lives, place);
    return MV_OK;
}

static mv_code write_still(mv_drawing *d, mv_err *err)
{
    if (!mv_option_given(&d->cli->options, MV_HAS(QUIET)))
        mv_complain_of(d->path, "a still picture: " MV_PAGE_FILE_ADVICE);
    return mv_still_page_write(&d->scene, d->cli->options.title ? d->cli->options.title : d->name,
                               &d->sink, err);
}

/* ---- the table --------------------------------------------------------------------------- */

/* Folded stacks are written one device at a time. */
static mv_code write_no_more(mv_drawing *d, mv_err *err)
{
    (void)d;
    return err->code;
}

static const mv_picture_format html = {.ending = ".html",
                                       .opens_at_moment = true,
                                       .leaves_idle_devices = true,
                                       .figures = MV_FIGURES(EVENTS) | MV_FIGURES(DRAWN),
                                       .reads = mv_page_reads,
                                       .add = add_to_page,
                                       .finish = write_page};
static const mv_picture_format still = {.ending = ".html",
                                        .opens_at_moment = true,
                                        .leaves_idle_devices = true,
                                        .figures = MV_FIGURES(EVENTS) | MV_FIGURES(DRAWN),
                                        .add = add_still,
                                        .finish = write_still};
static const mv_picture_format svg = {
    .ending = ".svg", .reads = mv_input_follows_heap, .add = add_panel, .finish = write_svg};
static const mv_picture_format png = {
    .ending = ".png", .reads = mv_input_follows_heap, .add = add_panel, .finish = write_png};
static const mv_picture_format folded = {.ending = ".folded",
                                         .may_be_empty = true,
                                         .figures = MV_FIGURES(STACKS) | MV_FIGURES(BYTES),
                                         .add = mv_folded_add,
                                         .finish = write_no_more};

/* To add a format, add a row here. */
static const mv_picture_format *const formats[] = {&folded, &svg, &png, &html};
enum { FORMATS = sizeof formats / sizeof *formats };

static bool can_be(const mv_picture *picture, const mv_picture_format *format)
{
    return format != &folded || picture->flame;
}

/* Returns the format for the output's name; NULL: none. */
static const mv_picture_format *format_named(const mv_drawing *d)
{
    if (strcmp(d->path, "-") == 0)
        return d->picture->flame ? &folded : &svg;
    for (size_t i = 0; i < FORMATS; i++)
        if (mv_text_has_ending(d->path, formats[i]->ending) && can_be(d->picture, formats[i]))
            return formats[i];
    return NULL;
}

/* Returns FILE.html. Returns NULL, with a message, if the name cannot be derived. */
static const char *path_beside(mv_cli *cli)
{
    const char *file = mv_input_name(cli);
    size_t size = strlen(file) + sizeof ".html";
    char *named;

    if (strcmp(file, "-") == 0) {
        mv_complain_usage(cli->command->name,
                          "standard input has no name: name the output with -o X.html");
        return NULL;
    }
    named = mv_arena_push(&cli->arena, size, 1);
    if (named)
        snprintf(named, size, "%s.html", file);
    else
        mv_complain_of(file, "%s", mv_code_text(MV_NOMEM));
    return named && !mv_overwrite_by(cli, named) ? named : NULL;
}

static const char *name_of(const mv_cli *cli)
{
    const char *file = mv_input_name(cli), *slash = strrchr(file, '/');

    if (strcmp(file, "-") == 0)
        return "standard input";
    return slash && slash[1] ? slash + 1 : file;
}

bool mv_picture_choose_format(mv_drawing *d, const char *ending)
{
    mv_cli *cli = d->cli;
    const char *command = cli->command->name;
    bool is_taken; /* the report already uses standard output */

    d->name = name_of(cli);
    d->path = cli->options.output;
    if (!d->path)
        d->path = path_beside(cli);
    if (!d->path)
        return false;
    for (size_t i = 0; ending && i < FORMATS; i++)
        if (strcmp(formats[i]->ending, ending) == 0)
            d->format = formats[i];
    if (!d->format)
        d->format = format_named(d);
    if (d->format == &html && !mv_page_file_is_there())
        d->format = &still;
    is_taken = strcmp(d->path, "-") == 0 && mv_table_is_wanted(cli);
    if (is_taken && d->format == &folded)
        mv_complain_usage(command, "--json and the stacks cannot both go to standard output");
    else if (is_taken || !d->format)
        mv_complain_usage(command, "%s: the name must end in %s.svg, .png or .html", d->path,
                          d->picture->flame ? ".folded, " : "");
    else
        return true;
    return false;
}
