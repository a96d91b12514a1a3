/* libFuzzer target: the viewer's inputs other than snapshots.
 *
 *     "memviz session ..."    a saved session
 *     anything else           text: a link (--state, the address of a page), the user's own keys,
 *                             and a script of view/script.h for a viewer without a file
 *
 * An accepted text must be the same after it is written and read again. A rejected text must have
 * an error with a position inside the text. */

#include "tests/fixture/in_process.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/written_files.h"
#include "view/script.h"

static void try_session(mv_arena *arena, mv_span text, mvt_session_read *read,
                        mvt_session_write *write)
{
    mv_session session;
    mv_err err = {.offset = MV_NO_OFFSET};

    if (read(arena, text, &session, &err) == MV_OK)
        mvt_check_session(arena, &session, read, write);
    else if (err.offset != MV_NO_OFFSET && err.offset > text.length)
        mvt_finding("a place after the end", err.detail);
}

/* File names must stay inside the private folder. */
static void try_script(char *text)
{
    mv_budget budget = {.limit = 64 << 20};
    mv_script_opts opts = {.width = 320, .height = 200};
    mv_script_result result;
    mv_view *view = mv_view_open(&budget, &(mv_view_opts){0});

    for (char *at = text; *at; at++)
        if (*at == '/')
            *at = '_';
    if (view && !mv_script_run(view, text, &opts, &result) && (!result.line || !*result.why))
        mvt_finding("a script is refused without a word", text);
    mv_view_close(view);
    if (budget.used != 0)
        mvt_finding("memory that was not released", "script");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mv_budget budget = {.limit = 64 << 20};
    mv_span bytes = {data, size};
    mv_arena arena;

    mvt_folder_enter();
    mv_arena_init(&arena, &budget);
    char *text = mv_arena_text(&arena, size ? (const char *)data : "", size);
    if (!text)
        return 0;
    if (strncmp(text, MV_SESSION_BEGINS, strlen(MV_SESSION_BEGINS)) == 0) {
        try_session(&arena, bytes, mv_session_read, mv_session_text);
    } else {
        try_session(&arena, bytes, mv_session_read_line, mv_session_line);
        char why[128] = "";
        mv_keymap map;
        mv_keymap_init(&map);
        if (mv_keymap_read(&arena, &map, text, why, sizeof why) && !*why)
            mvt_finding("keys are refused without a word", text);
        for (uint32_t key = ' '; key <= MV_KEY_F6; key++)
            if (mv_keymap_command(&map, key, key & 7) >= MV_DO_COUNT)
                mvt_finding("a key without a command", text);
        try_script(text);
    }
    mv_arena_release(&arena);
    mvt_folder_leave();
    return 0;
}
