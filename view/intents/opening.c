/* Opens files through the dialogue (view/chrome/open_dialogue.h). */

#include "view/intents/intents.h"

/* Enters a folder, or opens a file. */
static void take(mv_view *view, const char *path)
{
    mv_open_dialogue *open = &view->chrome->open;
    const mv_file_system *files = view->opts.files;
    size_t length = strlen(path);

    if (files && files->is_folder(path)) {
        mv_field_set(&open->field, path);
        if (path[length - 1] != '/')
            mv_field_type(&open->field, "/");
        open->is_read = open->is_chosen = false;
        view->chrome->row = view->chrome->first = 0;
        return;
    }
    mv_view_add(view, path);
    mv_chrome_focus(view, MV_FOCUS_PANES);
}

void mv_do_open_file(mv_view *view, uint64_t arg)
{
    mv_open_dialogue *open = &view->chrome->open;

    (void)arg;
    mv_chrome_focus(view, MV_FOCUS_OPEN);
    mv_field_set(&open->field, "");
    open->is_read = open->is_chosen = false;
}

void mv_do_open_row(mv_view *view, uint64_t arg)
{
    char path[MV_FILE_PATH];

    if (view->desk->focus != MV_FOCUS_OPEN || arg >= view->chrome->open.count) {
        mv_view_say(view, false, "%s", "there is no such file in the list");
        return;
    }
    mv_open_path(&view->chrome->open, (uint32_t)arg, path);
    take(view, path);
}

bool mv_open_input(mv_view *view, const mv_input *input)
{
    mv_open_dialogue *open = &view->chrome->open;
    uint32_t row = view->chrome->row;

    mv_open_rows(open, view->opts.files);
    if (input->kind == MV_INPUT_KEY && input->key == MV_KEY_TAB && !input->mods &&
        view->opts.files) {
        mv_open_complete(open, view->opts.files);
        open->is_chosen = false;
        return true;
    }
    if (input->kind == MV_INPUT_KEY && input->key == MV_KEY_ENTER) {
        if (open->is_chosen) {
            mv_do_open_row(view, row);
        } else if (*open->field.text) {
            /* "~/a" is expanded as a shell does */
            const char *text = view->chrome->open.field.text;
            const char *home = view->opts.files && text[0] == '~' && text[1] == '/'
                                   ? view->opts.files->home()
                                   : NULL;
            char path[MV_FILE_PATH];
            snprintf(path, sizeof path, "%s%s", home ? home : "", home ? text + 1 : text);
            take(view, path);
        } else {
            mv_chrome_focus(view, MV_FOCUS_PANES);
        }
        return true;
    }
    /* The first press of an arrow key only shows which row is selected. */
    if (input->kind == MV_INPUT_KEY && input->key == MV_KEY_DOWN && !input->mods &&
        !open->is_chosen && open->count > 0) {
        open->is_chosen = true;
        view->chrome->row = 0;
        return true;
    }
    if (!mv_chrome_list_input(view, input, open->count, 8))
        return false;
    open->is_chosen = open->count > 0;
    return true;
}
