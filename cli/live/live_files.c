#include "cli/live/live_files.h"

#include <unistd.h>

#include "cli/complain.h"
#include "parse/live/live_progress.h"
#include "record/watched.h"

/* Adds the live files of a process. Returns false, with a message, if that fails. */
static bool add_process(mv_arena *arena, uint64_t pid, char ***files, int *count)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_watched *found;
    uint32_t processes;
    char **grown;

    if (mv_watched_find(arena, (uint32_t)pid, &found, &processes, &err) != MV_OK) {
        mv_complain(NULL, &err);
        return false;
    }
    grown = mv_arena_grow(arena, *files, ((uint64_t)*count + processes) * sizeof *grown);
    if (!grown)
        return mv_complain_of(NULL, "%s", mv_code_text(MV_NOMEM)) == MV_EXIT_DONE;
    *files = grown;
    for (uint32_t i = 0; i < processes; i++)
        grown[(*count)++] = (char *)found[i].path; // NOLINT: words of a command line are char *
    return true;
}

bool mv_live_files_find(mv_cli *cli, mv_arena *arena, bool is_followed)
{
    mv_options *o = &cli->options;
    char **files = NULL, **grown;
    mv_live_progress progress;
    int count = 0;
    uint64_t pid;

    for (int i = 0; i < o->files; i++) {
        if (mv_number_read(o->file[i], &pid) && pid > 0 && pid <= INT32_MAX &&
            access(o->file[i], F_OK) != 0) {
            if (!add_process(arena, pid, &files, &count))
                return false;
            continue;
        }
        grown = mv_arena_grow(arena, files, ((uint64_t)count + 1) * sizeof *grown);
        if (!grown)
            return mv_complain_of(NULL, "%s", mv_code_text(MV_NOMEM)) == MV_EXIT_DONE;
        files = grown;
        files[count++] = o->file[i];
    }
    o->files = count;
    o->file = files;
    for (int i = 0; is_followed && i < count; i++)
        if (!mv_live_progress_find(files[i], &progress))
            return mv_complain_of(files[i], "not a recording that is being written: --follow needs "
                                            "its live file or process ID") == MV_EXIT_DONE;
    return true;
}
