#include "record/watched.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/numbers.h"
#include "base/sort.h"
#include "base/text.h"

/* Reads the status from the environment with which the process was started. */
static bool read_status(uint32_t pid, char *status, size_t size)
{
    static const char name[] = "MEMVIZ_STATUS=";
    char path[32], *word = NULL;
    size_t room = 0;
    bool is_found = false;
    FILE *words;

    snprintf(path, sizeof path, "/proc/%u/environ", pid);
    words = fopen(path, "re");
    while (words && !is_found && getdelim(&word, &room, 0, words) > 0)
        is_found = strncmp(word, name, sizeof name - 1) == 0 &&
                   snprintf(status, size, "%s", word + sizeof name - 1) < (int)size;
    free(word);
    if (words)
        fclose(words);
    return is_found;
}

/* Returns the path in a line of /proc/PID/maps, if it is the path of a live file: "... INODE
 * PATH\n". */
static char *live_in(char *line)
{
    char *path = strchr(line, '/');

    line[strcspn(line, "\n")] = 0;
    return path && mv_text_has_ending(path, ".live") ? path : NULL;
}

/* Finds the live file of a process. Returns 1 if it was found, 0 if there is none, and -errno if
 * the process cannot be inspected. */
static int find_live(uint32_t pid, char path[PATH_MAX])
{
    char maps[32], line[PATH_MAX + 128];
    const char *found = NULL;
    FILE *file;

    snprintf(maps, sizeof maps, "/proc/%u/maps", pid);
    file = fopen(maps, "re");
    if (!file)
        return -errno;
    while (!found && fgets(line, sizeof line, file))
        found = live_in(line);
    fclose(file);
    if (found)
        snprintf(path, PATH_MAX, "%s", found);
    return found != NULL;
}

uint32_t mv_watched_process_of(const char *path)
{
    const char *name = strrchr(path, '/'), *dot;
    uint64_t number = 0, image;

    name = name ? name + 1 : path;
    if (!mv_text_has_ending(name, ".live"))
        return 0;
    /* The name is NAME.RUN.PID.live or NAME.RUN.PID.N.live, in which RUN has eight hexadecimal
     * digits. */
    for (dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.')) {
        const char *at = dot + 1;
        if (strspn(at, "0123456789abcdef") != 8 || at[8] != '.')
            continue;
        at += 9;
        if (mv_number_take(&at, 10, &number) && number <= INT32_MAX &&
            (strcmp(at, ".live") == 0 ||
             (*at++ == '.' && mv_number_take(&at, 10, &image) && strcmp(at, ".live") == 0)))
            return (uint32_t)number;
    }
    return 0;
}

bool mv_watched_is_recorded(uint32_t pid)
{
    char path[PATH_MAX];

    return find_live(pid, path) > 0;
}

static bool add(mv_arena *arena, uint32_t pid, const char *path, mv_watched **out, uint32_t *count)
{
    mv_watched *grown = mv_arena_grow(arena, *out, (*count + 1) * sizeof *grown);

    if (!grown)
        return false;
    *out = grown;
    grown[*count] = (mv_watched){pid, mv_arena_text(arena, path, strlen(path))};
    return grown[(*count)++].path != NULL;
}

/* Returns true if this launcher started the process, which is the case if the page of the process
 * is one of the launcher's descriptors. */
static bool is_launched_by(uint32_t pid, const char *page)
{
    char status[128];

    return read_status(pid, status, sizeof status) && strncmp(status, page, strlen(page)) == 0;
}

/* Returns the next process in /proc that a launcher has started; 0 if there is none. */
static uint32_t next_launched(DIR *processes, uint32_t launcher)
{
    struct dirent *entry;
    char page[64];
    uint64_t pid;

    snprintf(page, sizeof page, "/proc/%u/fd/", launcher);
    while (processes && (entry = readdir(processes)))
        if (mv_number_read(entry->d_name, &pid) && pid <= INT32_MAX &&
            is_launched_by((uint32_t)pid, page))
            return (uint32_t)pid;
    return 0;
}

bool mv_watched_status(uint32_t pid, char *status, size_t size)
{
    bool is_found = read_status(pid, status, size);
    DIR *processes = is_found ? NULL : opendir("/proc");
    uint32_t launched = next_launched(processes, pid);

    if (processes)
        closedir(processes);
    return is_found || (launched && read_status(launched, status, size));
}

/* Adds all processes that a launcher has started. False when out of memory. */
static bool add_launched(mv_arena *arena, uint32_t launcher, mv_watched **out, uint32_t *count)
{
    DIR *processes = opendir("/proc");
    char path[PATH_MAX];
    bool fits = true;
    uint32_t pid;

    while (fits && (pid = next_launched(processes, launcher)))
        if (find_live(pid, path) > 0)
            fits = add(arena, pid, path, out, count);
    if (processes)
        closedir(processes);
    mv_sort_rows(NULL, *out, *count, MV_RISING(mv_watched, pid));
    return fits;
}

mv_code mv_watched_find(mv_arena *arena, uint32_t pid, mv_watched **out, uint32_t *count,
                        mv_err *err)
{
    bool fits = true;
    char path[PATH_MAX], status[128];
    int found = find_live(pid, path);

    *out = NULL;
    *count = 0;
    if (found < 0)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "process %u %s", pid,
                       found == -ENOENT ? "does not exist" : "belongs to another user");
    if (found)
        fits = add(arena, pid, path, out, count);
    else
        fits = add_launched(arena, pid, out, count);
    if (!fits)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    if (*count)
        return MV_OK;
    if (mv_watched_status(pid, status, sizeof status))
        return mv_fail(err, MV_ABSENT, MV_NO_OFFSET,
                       "process %u has not used the GPU since memviz run started it, and has no "
                       "recording yet",
                       pid);
    return mv_fail(err, MV_ABSENT, MV_NO_OFFSET,
                   "process %u is not being recorded: start the program with memviz run, or see "
                   "memviz attach",
                   pid);
}
