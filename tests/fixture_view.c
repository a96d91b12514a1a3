#include "tests/fixture_view.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static mv_view *open_path(mv_budget *budget, const char *path)
{
    mv_view *view = mv_view_open(budget, &(mv_view_opts){.is_dark = true});

    cr_assert_not_null(view);
    mv_view_add(view, path);
    mv_view_frame(view, 1280, 720, 0);
    cr_assert_not_null(mv_view_document(view));
    cr_assert_eq(mv_view_document(view)->stage, MV_DOCUMENT_OPENED, "%s: %s", path,
                 mv_view_document(view)->why);
    return view;
}

mv_view *mvt_view(mv_budget *budget, const char *name)
{
    char path[1024];

    snprintf(path, sizeof path, "%s/snapshots/%s.pickle", MV_TESTDATA, name);
    if (access(path, R_OK) != 0)
        snprintf(path, sizeof path, "%s/snapshots/%s.pickle.zst", MV_TESTDATA, name);
    return open_path(budget, path);
}

mv_view *mvt_view_of(mv_budget *budget, mvt_trace *trace)
{
    mv_span bytes = mvt_snapshot_bytes(trace);
    char path[] = "/tmp/memviz_view_XXXXXX";
    int file = mkstemp(path);
    mv_view *view;

    cr_assert_geq(file, 0);
    cr_assert_eq(write(file, bytes.data, bytes.length), (ssize_t)bytes.length);
    close(file);
    view = open_path(budget, path);
    unlink(path);
    return view;
}

void mvt_each_view(void (*check)(mv_view *view, const char *name))
{
    DIR *folder = opendir(MV_TESTDATA "/snapshots");
    unsigned count = 0;

    cr_assert_not_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        const char *ending = strstr(entry->d_name, ".pickle");
        mv_budget budget = {.limit = (uint64_t)4 << 30};
        char name[256];
        mv_view *view;
        if (!ending)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(ending - entry->d_name), entry->d_name);
        view = mvt_view(&budget, name);
        check(view, name);
        mv_view_close(view);
        cr_assert_eq(budget.used, 0, "%s: memory is left", name);
        count++;
    }
    closedir(folder);
    cr_assert_gt(count, 30);
}

const mv_scene *mvt_view_frame(mv_view *view)
{
    mv_view_frame(view, 1280, 720, view->ms + 1000);
    return mv_view_frame(view, 1280, 720, view->ms + 1000);
}

void mvt_view_click(mv_view *view, float x, float y)
{
    mv_input input = {.kind = MV_INPUT_MOVE, .x = x, .y = y};

    mv_view_input(view, &input);
    input.kind = MV_INPUT_PRESS;
    input.button = MV_BUTTON_LEFT;
    input.clicks = 1;
    mv_view_input(view, &input);
    input.kind = MV_INPUT_RELEASE;
    mv_view_input(view, &input);
}

const mv_zone *mvt_view_zone(const mv_view *view, mv_command_id command, uint64_t arg)
{
    for (uint32_t i = view->ui.zone_count; i > 0; i--)
        if (view->ui.zones[i - 1].command == command &&
            (arg == UINT64_MAX || view->ui.zones[i - 1].arg == arg))
            return &view->ui.zones[i - 1];
    return NULL;
}
