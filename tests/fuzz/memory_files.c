#include "tests/fuzz/memory_files.h"

#include "tests/fixture/in_process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_FILES = 16 };

/* A file that belongs in the folder. */
typedef struct {
    char name[40];
    struct stat state;
    mv_span bytes;
} known_file;

static struct {
    bool is_set;
    known_file file[MOST_FILES];
    uint32_t files;
} here;

const char *mvt_memory_folder(void)
{
    if (!here.is_set) {
        /* Sets the program's environment, which is the same on every machine. */
        const char *folder = mvt_folder_path();
        static const char *const gone[] = {"COLUMNS", "LINES",        "NO_COLOR",       "PAGER",
                                           "DISPLAY", "MEMVIZ_PAGER", "WAYLAND_DISPLAY"};
        static const char *const folders[] = {"TMPDIR", "MEMVIZ_CACHE", "MEMVIZ_SHIM", "PATH"};
        for (unsigned i = 0; i < sizeof gone / sizeof *gone; i++)
            unsetenv(gone[i]);
        for (unsigned i = 0; i < sizeof folders / sizeof *folders; i++)
            setenv(folders[i], folder, 1); /* finds neither a program nor the shim */
        setenv("MEMVIZ_PAGE", MV_SOURCE_DIR "/tests/serve/page.html", 1);
        setenv("SDL_VIDEODRIVER", "none", 1); /* no such driver exists, so there is no window */
        setenv("TERM", "dumb", 1);
    }
    here.is_set = true;
    return mvt_folder_path();
}

static void write_file(known_file *file)
{
    int fd = openat(mvt_folder_file(), file->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, file->bytes.data, file->bytes.length) != (ssize_t)file->bytes.length ||
        fstat(fd, &file->state) != 0)
        mvt_stop("%s: %s", file->name, strerror(errno));
    close(fd);
}

static known_file *find(const char *name)
{
    for (uint32_t i = 0; i < here.files; i++)
        if (strcmp(here.file[i].name, name) == 0)
            return &here.file[i];
    return NULL;
}

void mvt_memory_file(const char *name, mv_span bytes)
{
    mvt_memory_folder();
    known_file *file = find(name);
    if (!file) {
        if (here.files == MOST_FILES)
            mvt_stop("too many files");
        file = &here.file[here.files++];
        snprintf(file->name, sizeof file->name, "%s", name);
    }
    file->bytes = bytes;
    unlinkat(mvt_folder_file(), name, 0);
    write_file(file);
}

void mvt_memory_copy(const char *name, const char *from)
{
    char path[512];

    mvt_memory_folder();
    if (find(name))
        return;
    snprintf(path, sizeof path, "%s/%s", MV_TESTDATA, from);
    mv_span bytes = mvt_folder_read(path);
    if (!bytes.data)
        mvt_stop("cannot read %s", path);
    mvt_memory_file(name, bytes);
}

static bool is_as_it_was(const known_file *file)
{
    struct stat now;

    return fstatat(mvt_folder_file(), file->name, &now, 0) == 0 &&
           now.st_ino == file->state.st_ino && now.st_size == file->state.st_size &&
           now.st_mtim.tv_sec == file->state.st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == file->state.st_mtim.tv_nsec;
}

unsigned mvt_memory_tidy(void)
{
    DIR *folder = opendir(mvt_folder_path());
    struct dirent *entry;
    unsigned changes = 0;

    while (folder && (entry = readdir(folder))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            find(entry->d_name))
            continue;
        if (unlinkat(mvt_folder_file(), entry->d_name, 0) != 0)
            mvt_stop("cannot remove %s: %s", entry->d_name, strerror(errno));
        changes++;
    }
    if (folder)
        closedir(folder);
    for (uint32_t i = 0; i < here.files; i++)
        if (!is_as_it_was(&here.file[i])) {
            unlinkat(mvt_folder_file(), here.file[i].name, 0);
            write_file(&here.file[i]);
            changes++;
        }
    return changes;
}
