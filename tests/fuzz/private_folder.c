#include "tests/fuzz/private_folder.h"

#include "base/numbers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
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

/* Folders of processes that have crashed. */
static void remove_old(const char *parent, const char *begin)
{
    DIR *dir = opendir(parent);
    struct dirent *entry;
    char path[512];

    while (dir && (entry = readdir(dir))) {
        uint64_t process;
        if (strncmp(entry->d_name, begin, strlen(begin)) != 0 ||
            !mv_number_read(entry->d_name + strlen(begin), &process) ||
            kill((pid_t)process, 0) == 0 || errno != ESRCH)
            continue;
        snprintf(path, sizeof path, "%s/%s", parent, entry->d_name);
        empty(path);
        rmdir(path);
    }
    if (dir)
        closedir(dir);
}

static void make(void)
{
    static const char begin[] = "memviz_fuzz.";
    const char *parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";

    remove_old(parent, begin);
    snprintf(folder, sizeof folder, "%s/%s%d", parent, begin, (int)getpid());
    if (mkdir(folder, 0700) != 0 ||
        (folder_file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0 ||
        (before_file = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        mvt_finding("no folder", folder);
    setenv("HOME", folder, 1);
    setenv("XDG_CACHE_HOME", folder, 1);
    setenv("XDG_CONFIG_HOME", folder, 1);
    atexit(remove_all);
}

const char *mvt_folder_path(void)
{
    if (folder_file < 0)
        make();
    return folder;
}

int mvt_folder_file(void)
{
    mvt_folder_path();
    return folder_file;
}

const char *mvt_folder_enter(void)
{
    if (fchdir(mvt_folder_file()) != 0)
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

mv_span mvt_folder_read(const char *name)
{
    int file = openat(mvt_folder_file(), name, O_RDONLY | O_CLOEXEC);
    struct stat st;
    uint8_t *data;

    if (file < 0)
        return (mv_span){0};
    if (fstat(file, &st) != 0 || !(data = malloc((size_t)st.st_size + 1)) ||
        read(file, data, (size_t)st.st_size) != st.st_size)
        mvt_finding("cannot read", name);
    close(file);
    data[st.st_size] = 0;
    return (mv_span){data, (uint64_t)st.st_size};
}

mv_span mvt_folder_take(const char *name)
{
    mv_span bytes = mvt_folder_read(name);

    unlinkat(folder_file, name, 0);
    return bytes;
}
