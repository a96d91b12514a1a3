#include "tests/fuzz/private_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static int folder_file = -1, before_file = -1;

void mvt_finding(const char *what, const char *of)
{
    fprintf(stderr, "FINDING: %s: %s\n", what, of);
    abort();
}

static void empty(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(dirfd(dir), entry->d_name, 0) != 0 && errno == EISDIR) {
            char below[512];
            snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
            empty(below);
            rmdir(below);
        }
    }
    if (dir)
        closedir(dir);
}

static void remove_all(void)
{
    empty(folder);
    rmdir(folder);
}

void mvt_folder_empty(void)
{
    empty(folder);
}

static void make(void)
{
    const char *parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";

    snprintf(folder, sizeof folder, "%s/memviz-fuzz-XXXXXX", parent);
    if (!mkdtemp(folder) || (folder_file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0 ||
        (before_file = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        mvt_finding("no folder", folder);
    setenv("HOME", folder, 1);
    setenv("XDG_CACHE_HOME", folder, 1);
    setenv("XDG_CONFIG_HOME", folder, 1);
    atexit(remove_all);
}

const char *mvt_folder_enter(void)
{
    if (folder_file < 0)
        make();
    if (fchdir(folder_file) != 0)
        mvt_finding("no folder", folder);
    return folder;
}

void mvt_folder_leave(void)
{
    if (fchdir(before_file) != 0)
        mvt_finding("no way back", folder);
}

void mvt_folder_put(const char *name, mv_span bytes)
{
    int file = openat(folder_file, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (file < 0 || write(file, bytes.data, bytes.length) != (ssize_t)bytes.length)
        mvt_finding("cannot write", name);
    close(file);
}

mv_span mvt_folder_take(const char *name)
{
    int file = openat(folder_file, name, O_RDONLY | O_CLOEXEC);
    struct stat st;
    uint8_t *data;

    if (file < 0)
        return (mv_span){0};
    if (fstat(file, &st) != 0 || !(data = malloc((size_t)st.st_size + 1)) ||
        read(file, data, (size_t)st.st_size) != st.st_size)
        mvt_finding("cannot read", name);
    close(file);
    unlinkat(folder_file, name, 0);
    data[st.st_size] = 0;
    return (mv_span){data, (uint64_t)st.st_size};
}
