#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sort.h"
#include "base/text.h"
#include "view/document/file_system.h"

/* ---- folders ----------------------------------------------------------------------------- */

/* Whether a file name has a snapshot's extension. */
static bool is_snapshot_name(const char *name)
{
    static const char *const endings[] = {".pickle", ".pkl",       ".msgpack",
                                          ".bin",    ".xplane.pb", ".pt.trace.json"};
    static const char *const packed[] = {".zst", ".gz"};
    size_t length = strlen(name);

    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++) {
        size_t tail = strlen(packed[i]);
        if (length > tail && strcasecmp(name + length - tail, packed[i]) == 0)
            length -= tail;
    }
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t tail = strlen(endings[i]);
        if (length > tail && strncasecmp(name + length - tail, endings[i], tail) == 0)
            return true;
    }
    return false;
}

static int rank_of(const mv_file_entry *e)
{
    return e->is_snapshot || e->is_session ? 0 : e->is_folder ? 1 : 2;
}

static int by_use(const void *left, const void *right, const void *context)
{
    const mv_file_entry *a = left, *b = right;

    (void)context;
    if (rank_of(a) != rank_of(b))
        return rank_of(a) - rank_of(b);
    if (rank_of(a) == 0 && a->modified != b->modified)
        return a->modified > b->modified ? -1 : 1;
    return strcmp(a->name, b->name);
}

static bool add(mv_arena *arena, mv_file_listing *out, const char *name, const struct stat *st)
{
    mv_file_entry *e = &out->rows[out->count];

    *e =
        (mv_file_entry){.name = mv_arena_text(arena, name, strlen(name)),
                        .bytes = S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0,
                        .modified = st->st_mtim.tv_sec,
                        .is_folder = S_ISDIR(st->st_mode),
                        .is_snapshot = S_ISREG(st->st_mode) && is_snapshot_name(name),
                        .is_session = S_ISREG(st->st_mode) && mv_text_has_ending(name, ".session")};
    out->count += e->name != NULL;
    return e->name != NULL;
}

static bool list_folder(mv_arena *arena, const char *folder, mv_file_listing *out)
{
    DIR *dir = opendir(*folder ? folder : ".");
    struct dirent *entry;
    struct stat st;

    *out = (mv_file_listing){.rows = mv_push_array(arena, mv_file_entry, MV_MOST_LISTED)};
    if (!dir)
        return false;
    while (out->rows && out->count < MV_MOST_LISTED && (entry = readdir(dir))) {
        if (*entry->d_name == '.' || fstatat(dirfd(dir), entry->d_name, &st, 0) != 0)
            continue;
        if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
            continue;
        if (!add(arena, out, entry->d_name, &st))
            break;
    }
    closedir(dir);
    mv_sort_by(arena, out->rows, out->count, sizeof *out->rows, by_use, NULL);
    return out->rows != NULL;
}

static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static const char *home(void)
{
    const char *path = getenv("HOME");

    return path && *path == '/' ? path : NULL;
}

/* ---- files kept between runs -------------------------------------------------------------- */

enum { FOLDER_PATH = 3800 };

static bool has_fitted(int length)
{
    return length > 0 && length < FOLDER_PATH;
}

/* Writes the path of the folder, which may not exist yet. Returns false if nothing is kept. */
static bool find_folder(char folder[FOLDER_PATH])
{
    const char *wish = getenv("MEMVIZ_CACHE"), *cache = getenv("XDG_CACHE_HOME");
    const char *base = home();

    if (wish && strcmp(wish, "off") == 0)
        return false;
    if (cache && *cache == '/')
        return has_fitted(snprintf(folder, FOLDER_PATH, "%s/memviz", cache));
    return base && has_fitted(snprintf(folder, FOLDER_PATH, "%s/.cache/memviz", base));
}

/* Creates the folder and its parent if they are missing. Errors are ignored. */
static void make_folder(const char *folder)
{
    char parent[FOLDER_PATH];
    char *slash;

    snprintf(parent, sizeof parent, "%s", folder);
    slash = strrchr(parent, '/');
    if (slash && slash > parent) {
        *slash = '\0';
        mkdir(parent, 0700);
    }
    mkdir(folder, 0700);
}

/* ---- recent files ------------------------------------------------------------------------ */

enum { RECENT_BYTES = MV_MOST_RECENT * MV_FILE_PATH };

static bool path_of_recent(char path[MV_FILE_PATH], const char *ending)
{
    char folder[FOLDER_PATH];

    return find_folder(folder) &&
           snprintf(path, MV_FILE_PATH, "%s/recent%s", folder, ending) < MV_FILE_PATH;
}

/* Reads the paths of the recent files, one per line; "" if there are none. `text` has room for
 * RECENT_BYTES. */
static void read_recent(char *text)
{
    char path[MV_FILE_PATH];
    int file = path_of_recent(path, "") ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    ssize_t bytes = file >= 0 ? read(file, text, RECENT_BYTES - 1) : 0;

    if (file >= 0)
        close(file);
    text[bytes > 0 ? bytes : 0] = '\0';
}

/* Takes the next line of *text. Returns false at the end. */
static bool next_path(const char **text, char path[MV_FILE_PATH])
{
    size_t length = strcspn(*text, "\n");

    if (length == 0)
        return false;
    snprintf(path, MV_FILE_PATH, "%.*s", (int)length, *text);
    *text += length + ((*text)[length] == '\n');
    return true;
}

static void list_recent(mv_arena *arena, mv_file_listing *out)
{
    char *text = mv_push_array(arena, char, RECENT_BYTES), path[MV_FILE_PATH];
    struct stat st;

    *out = (mv_file_listing){.rows = mv_push_array(arena, mv_file_entry, MV_MOST_RECENT)};
    if (!text || !out->rows)
        return;
    read_recent(text);
    for (const char *at = text; out->count < MV_MOST_RECENT && next_path(&at, path);)
        if (*path == '/' && stat(path, &st) == 0 && S_ISREG(st.st_mode))
            add(arena, out, path, &st);
}

/* Replaces the old list atomically, so that another window finds either the old or the new list.
 * Returns false if writing began but failed. */
static bool write_recent(const char *first, const char *others)
{
    char path[MV_FILE_PATH], made[MV_FILE_PATH], folder[FOLDER_PATH], other[MV_FILE_PATH];
    uint32_t count = 1;
    bool is_whole;
    FILE *out;
    int file;

    if (!path_of_recent(path, "") || !path_of_recent(made, ".new") || !find_folder(folder))
        return true;
    make_folder(folder);
    unlink(made);
    file = open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    out = file >= 0 ? fdopen(file, "w") : NULL;
    if (!out)
        return true;
    fprintf(out, "%s\n", first);
    while (count < MV_MOST_RECENT && next_path(&others, other))
        if (strcmp(other, first) != 0) {
            fprintf(out, "%s\n", other);
            count++;
        }
    is_whole = !ferror(out);
    is_whole = fclose(out) == 0 && is_whole && rename(made, path) == 0;
    if (!is_whole)
        unlink(made);
    return is_whole;
}

static bool remember(const char *path)
{
    char whole[PATH_MAX], text[RECENT_BYTES];

    if (!realpath(path, whole) || strchr(whole, '\n') || strlen(whole) >= MV_FILE_PATH)
        return true;
    read_recent(text);
    return write_recent(whole, text);
}

/* ---- the tour ---------------------------------------------------------------------------- */

static bool path_of_tour(char path[MV_FILE_PATH])
{
    char folder[FOLDER_PATH];

    if (!find_folder(folder))
        return false;
    make_folder(folder);
    return access(folder, W_OK) == 0 &&
           snprintf(path, MV_FILE_PATH, "%s/tour", folder) < MV_FILE_PATH;
}

static bool offers_tour(void)
{
    char path[MV_FILE_PATH];

    return path_of_tour(path) && access(path, F_OK) != 0;
}

static void tour_ended(void)
{
    char path[MV_FILE_PATH];
    int file = path_of_tour(path) ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;

    if (file >= 0)
        close(file);
}

const mv_file_system mv_disk_files = {list_folder, list_recent, remember,  is_folder,
                                      home,        offers_tour, tour_ended};
