#include "tests/fuzz/in_process.h"

#include "cli/program.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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
    char words[4096]; /* of the last run, for messages */
    char *out, *err;  /* what it printed */
} here;

void mvt_stop(const char *format, ...)
{
    char text[2048];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    dprintf(STDERR_FILENO, "%s\n  memviz%s\n", text, here.words);
    abort();
}

/* ---- the folder -------------------------------------------------------------------------- */

/* What the program asks of its surroundings is the same on every machine. */
static void set_environment(const char *folder)
{
    static const char *const gone[] = {"COLUMNS", "LINES",        "NO_COLOR",       "PAGER",
                                       "DISPLAY", "MEMVIZ_PAGER", "WAYLAND_DISPLAY"};
    static const char *const folders[] = {"TMPDIR", "MEMVIZ_CACHE", "MEMVIZ_SHIM", "PATH"};

    for (unsigned i = 0; i < sizeof gone / sizeof *gone; i++)
        unsetenv(gone[i]);
    for (unsigned i = 0; i < sizeof folders / sizeof *folders; i++)
        setenv(folders[i], folder, 1); /* no program is found, and no shim */
    setenv("MEMVIZ_PAGE", MV_SOURCE_DIR "/tests/serve/page.html", 1);
    setenv("SDL_VIDEODRIVER", "none", 1); /* there is no such driver, hence no window */
    setenv("TERM", "dumb", 1);
}

const char *mvt_memory_folder(void)
{
    if (!here.is_set)
        set_environment(mvt_folder_path());
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
    known_file *file;

    mvt_memory_folder();
    file = find(name);
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
    mv_span bytes;

    mvt_memory_folder();
    if (find(name))
        return;
    snprintf(path, sizeof path, "%s/%s", MV_TESTDATA, from);
    bytes = mvt_folder_read(path);
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

/* ---- the program ------------------------------------------------------------------------- */

/* The lowest descriptor that is free: each run must leave it as it was. */
static int free_descriptor(void)
{
    int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);

    close(fd);
    return fd;
}

/* A file in memory takes the place of a standard descriptor, which is kept. */
static int redirect(int which, mv_span bytes)
{
    int fd = memfd_create("memviz", MFD_CLOEXEC), kept = fcntl(which, F_DUPFD_CLOEXEC, 3);

    if (fd < 0 || kept < 0 || write(fd, bytes.data, bytes.length) != (ssize_t)bytes.length ||
        lseek(fd, 0, SEEK_SET) != 0 || dup2(fd, which) < 0)
        mvt_stop("descriptor %d: %s", which, strerror(errno));
    close(fd);
    return kept;
}

static void restore(int which, int kept)
{
    dup2(kept, which);
    close(kept);
}

/* What was written to standard output. */
static mv_span take_output(void)
{
    struct stat st;
    char *text;

    fflush(stdout);
    text = fstat(STDOUT_FILENO, &st) == 0 ? malloc((size_t)st.st_size + 1) : NULL;
    if (!text || pread(STDOUT_FILENO, text, (size_t)st.st_size, 0) != st.st_size)
        mvt_stop("standard output: %s", strerror(errno));
    text[st.st_size] = 0;
    here.out = text;
    return (mv_span){(const uint8_t *)text, (uint64_t)st.st_size};
}

static void remember(const char *const *words, int count)
{
    size_t at = 0;

    here.words[0] = 0;
    for (int i = 0; i < count && at + 2 < sizeof here.words; i++)
        at += (size_t)snprintf(here.words + at, sizeof here.words - at, " '%s'", words[i]);
}

/* Standard error is a stream in memory alone: what a sanitizer says is seen. */
static int run(int argc, char **argv, mv_kept_files *kept, mv_span *said)
{
    FILE *before = stderr;
    size_t length = 0;
    int status;

    stderr = open_memstream(&here.err, &length);
    if (!stderr)
        abort();
    mvt_folder_enter();
    status = mv_program(argc, argv, kept);
    fclose(stderr);
    stderr = before;
    mvt_folder_leave();
    *said = (mv_span){(const uint8_t *)here.err, length};
    return status;
}

mvt_ran mvt_program_words(const char *const *words, int count, mv_span in, mv_kept_files *kept)
{
    char *argv[MVT_MOST_WORDS + 2] = {(char *)"memviz"};
    int in_kept, out_kept, before;
    mvt_ran ran;

    mvt_memory_folder();
    remember(words, count);
    for (int i = 0; i < count; i++)
        argv[i + 1] = (char *)(uintptr_t)words[i];
    free(here.out);
    free(here.err);
    fflush(stdout);
    in_kept = redirect(STDIN_FILENO, in);
    out_kept = redirect(STDOUT_FILENO, (mv_span){(const uint8_t *)"", 0});
    rewind(stdin);
    before = free_descriptor();
    ran.status = run(count + 1, argv, kept, &ran.err);
    if (free_descriptor() > before)
        mvt_stop("a descriptor was left open");
    ran.out = take_output();
    restore(STDIN_FILENO, in_kept);
    restore(STDOUT_FILENO, out_kept);
    return ran;
}

mvt_ran mvt_program(const char *words, mv_kept_files *kept)
{
    const char *word[MVT_MOST_WORDS];
    char copy[1024], *rest = copy;
    int count = 0;

    snprintf(copy, sizeof copy, "%s", words);
    for (char *at; count < MVT_MOST_WORDS && (at = strtok_r(rest, " ", &rest));)
        word[count++] = at;
    return mvt_program_words(word, count, (mv_span){(const uint8_t *)"", 0}, kept);
}
