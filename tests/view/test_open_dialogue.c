/* The dialogue that opens files: its list, completion, recent files. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

#include "tests/fixture/fixture_scene.h"
#include "tests/fixture/fixture_view.h"

static const char *folder;

/* A view of the files on disk. Makes a folder with two snapshots (a older than b), one other file, a
 * hidden one and a folder with one. */
static mv_view *view_of_folder(void)
{
    static const char *const names[] = {"a.pickle", "b.pickle", "notes.txt", ".hidden.pickle",
                                        "runs/gpt_long_name.pickle"};

    folder = mvt_temp_folder();
    cr_assert_eq(mkdir(mvt_format("%s/runs", folder), 0700), 0);
    for (int i = 0; i < 5; i++) {
        const char *path = mvt_format("%s/%s", folder, names[i]);
        cr_assert_eq(system(mvt_format("cp %s %s", mvt_snapshot("no_history"), path)), 0);
        utime(path, &(struct utimbuf){1000000 + i * 1000, 1000000 + i * 1000});
    }
    setenv("XDG_CACHE_HOME", folder, 1);
    return mvt_view_new(&(mv_view_opts){.files = &mv_disk_files});
}

static const char *name_of(const mv_view *view, uint32_t row)
{
    const mv_open_dialogue *open = &view->chrome->open;

    return row >= open->count      ? "(none)"
           : open->rows[row].entry ? open->rows[row].entry->name
                                   : "..";
}

ViewTest(open_dialogue, lists_snapshots_first_and_goes_into_folders, view_of_folder())
{
    static const char *const expected[] = {"..", "b.pickle", "a.pickle", "runs", "notes.txt"};

    mv_view_do(view, MV_DO_open_file, 0);
    mvt_view_type(view, folder);
    mvt_view_type(view, "/");
    cr_assert_eq(view->chrome->open.count, 5);
    for (uint32_t i = 0; i < 5; i++)
        cr_assert_str_eq(name_of(view, i), expected[i]);
    for (int i = 0; i < 4; i++)
        mvt_view_key(view, MV_KEY_DOWN, 0);
    mvt_view_key(view, MV_KEY_ENTER, 0); /* into runs */
    cr_assert_eq(view->desk->focus, MV_FOCUS_OPEN);
    cr_assert_eq(view->chrome->open.count, 2);
    cr_assert_str_eq(name_of(view, 1), "gpt_long_name.pickle");
    mvt_view_key(view, MV_KEY_DOWN, 0);
    mvt_view_key(view, MV_KEY_ENTER, 0); /* and up again */
    cr_assert_eq(view->chrome->open.count, 5);
    mvt_view_type(view, "B");
    cr_assert_eq(view->chrome->open.count, 1);
    mvt_view_key(view, MV_KEY_DOWN, 0);
    mvt_view_key(view, MV_KEY_ENTER, 0);
    cr_assert_eq(view->desk->focus, MV_FOCUS_PANES);
    cr_assert_eq(view->document_count, 1);
    cr_assert_str_eq(view->documents[0]->name, "b.pickle");
}

/* The most recently saved file comes first, and its row describes it. */
ViewTest(open_dialogue, sessions_are_marked, view_of_folder())
{
    cr_assert_eq(system(mvt_format("touch -d '2999-01-01' %s/a.pickle.session", folder)), 0);
    mv_view_do(view, MV_DO_open_file, 0);
    mvt_view_type(view, folder);
    cr_assert(!mvt_scene_says(mvt_view_frame(view), "session"));
    mvt_view_type(view, "/");
    cr_assert_str_eq(name_of(view, 1), "a.pickle.session");
    cr_assert(mvt_scene_says(mvt_view_frame(view), "session"));
}

ViewTest(open_dialogue, tab_completes_and_rows_are_clicked, view_of_folder())
{
    mv_view_do(view, MV_DO_open_file, 0);
    mvt_view_type(view, mvt_format("%s/r", folder));
    mvt_view_key(view, MV_KEY_TAB, 0);
    cr_assert_str_eq(view->chrome->open.field.text, mvt_format("%s/runs/", folder));
    mvt_view_key(view, MV_KEY_TAB, 0);
    const char *text = mvt_format("%s/runs/gpt_long_name.pickle", folder);
    cr_assert_str_eq(view->chrome->open.field.text, text);
    mvt_view_type(view, "x");
    mvt_view_key(view, MV_KEY_TAB, 0); /* nothing begins like that: nothing changes */
    cr_assert_eq(strlen(view->chrome->open.field.text), strlen(text) + 1);
    cr_assert_null(mvt_view_zone(view, MV_DO_open_row, 0));
    mvt_view_key(view, MV_KEY_BACKSPACE, 0);
    mvt_view_click_zone(view, MV_DO_open_row, 0);
    cr_assert_eq(view->document_count, 1);
}

/* Two files with the same name used to look alike in the toolbar and in the list of bookmarks. */
ViewTest(open_dialogue, files_of_one_name_are_distinguished, view_of_folder())
{
    static const char *const files[] = {"a.pickle", "runs/a.pickle"};

    cr_assert_eq(system(mvt_format("cp %s/a.pickle %s/runs/", folder, folder)), 0);
    for (int i = 0; i < 2; i++)
        mvt_view_open(view, mvt_format("%s/%s", folder, files[i]));
    for (uint32_t i = 0; i < 2; i++) {
        mv_view_choose(view, i, 0);
        const mv_scene *scene = mvt_view_frame(view);
        cr_expect_eq(mvt_scene_says(scene, "runs/a.pickle"), i == 1);
        cr_expect_eq(mvt_scene_says(scene, strrchr(mv_view_document(view)->path, '/') + 1), true);
    }
}

/* The most recent file comes first, each file is listed once, there are at most twenty, and only
 * the user can read the list. */
ViewTest(open_dialogue, recent_files, view_of_folder())
{
    struct stat st;

    const char *path = mvt_format("%s/a.pickle", folder);
    mvt_view_open(view, path);
    mvt_view_open(view, mvt_format("%s/b.pickle", folder));
    mv_view_add(view, path);
    mv_view_add(view, "/no/such/file.pickle");
    mvt_view_do(view, MV_DO_open_file, 0);
    cr_assert_str_eq(name_of(view, 0), path);
    cr_assert(strstr(name_of(view, 1), "/b.pickle"));
    cr_assert_eq(view->chrome->open.rows[1].kind, MV_OPEN_RECENT);
    cr_assert_neq(view->chrome->open.rows[2].kind, MV_OPEN_RECENT);
    cr_assert_eq(stat(mvt_format("%s/memviz/recent", folder), &st), 0);
    cr_assert_eq(st.st_mode & 0777, 0600);
    for (int i = 0; i < 30; i++) {
        const char *other = mvt_format("%s/n%d.pickle", folder, i);
        cr_assert_eq(system(mvt_format("touch %s", other)), 0);
        mv_disk_files.remember(other);
    }
    mvt_view_do(view, MV_DO_open_file, 0);
    for (uint32_t i = 0; i < 20; i++)
        cr_assert_eq(view->chrome->open.rows[i].kind, MV_OPEN_RECENT);
    cr_assert_neq(view->chrome->open.rows[20].kind, MV_OPEN_RECENT);
    cr_assert(strstr(name_of(view, 0), "/n29.pickle"));
    setenv("MEMVIZ_CACHE", "off", 1); /* and then none are shown */
    mvt_view_do(view, MV_DO_open_file, 0);
    cr_assert_neq(view->chrome->open.rows[0].kind, MV_OPEN_RECENT);
}

/* As on a full disk: the old list stays, and one line says so. */
ViewTest(open_dialogue, recent_files_on_a_full_disk, view_of_folder())
{
    mvt_view_open(view, mvt_format("%s/a.pickle", folder));
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){20, 20}), 0);
    mvt_view_open(view, mvt_format("%s/b.pickle", folder));
    cr_assert_str_eq(view->message, "the list of recent files was not written: the disk is full");
    cr_assert_neq(access(mvt_format("%s/memviz/recent.new", folder), F_OK), 0);
    mvt_view_do(view, MV_DO_open_file, 0);
    cr_assert(strstr(name_of(view, 0), "/a.pickle"));
}

/* Without a table of files, as in a build that has none, the field still takes a name. */
ViewTest(open_dialogue, works_without_a_file_system, mvt_view_new(NULL))
{
    mv_view_do(view, MV_DO_open_file, 0);
    mvt_view_type(view, mvt_snapshot("no_history"));
    mvt_view_key(view, MV_KEY_DOWN, 0);
    mvt_view_key(view, MV_KEY_ENTER, 0);
    cr_assert_eq(view->document_count, 1);
}

ViewTest(open_dialogue, reports_unreadable_files,
         mvt_view_new(&(mv_view_opts){.files = &mv_disk_files}))
{
    mv_view_do(view, MV_DO_open_file, 0);
    mvt_view_type(view, "/no/such/folder/");
    cr_assert(mvt_scene_text(&view->ui.scene, "this folder cannot be read"));
}
