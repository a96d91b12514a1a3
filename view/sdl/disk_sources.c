#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/utf8.h"
#include "view/document/source_files.h"

enum {
    MOST_BYTES = 4 << 20, /* maximum size of a source file; larger files are not read */
    LINES = 64,           /* number of lines in the cache, which is more than a pane shows */
    PATH = 4096,
    MOST_WORDS = 16, /* maximum number of words in the command that starts the editor */
    EDITORS = 16     /* maximum number of running editors whose exit status is still awaited */
};

extern char **environ;

/* ---- a line ------------------------------------------------------------------------------ */

/* Reads a file up to the end of a line. `out` receives the line without the blanks around it.
 * Returns false if the file is not a text file. */
static bool scan(int file, int64_t number, char out[MV_SOURCE_LINE])
{
    char part[4096];
    uint32_t length = 0;
    ssize_t got;

    while (number > 0 && (got = read(file, part, sizeof part)) > 0)
        for (ssize_t i = 0; i < got && number > 0; i++) {
            bool is_blank = part[i] == ' ' || part[i] == '\t';
            if (part[i] == '\0')
                return false;
            if (part[i] == '\n')
                number--;
            else if (number == 1 && length + 1 < MV_SOURCE_LINE && !(is_blank && length == 0))
                out[length++] = part[i];
        }
    while (length > 0 && strchr(" \t\r", out[length - 1]))
        length--;
    out[length] = '\0';
    return true;
}

/* Reads a line. A path from a recording can name anything, so only regular files are read, and
 * reading never waits. */
static void read_line(const char *path, int64_t number, char out[MV_SOURCE_LINE])
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    *out = '\0';
    if (file < 0)
        return;
    if (fstat(file, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size >= MOST_BYTES ||
        !scan(file, number, out))
        *out = '\0';
    close(file);
    mv_utf8_sanitize(out);
}

static const char *line(const char *path, int64_t number)
{
    static struct {
        char path[PATH], text[MV_SOURCE_LINE];
        int64_t number;
    } kept[LINES];
    static uint32_t next;
    uint32_t i;

    if (strlen(path) >= PATH)
        return "";
    for (i = 0; i < LINES; i++)
        if (kept[i].number == number && strcmp(kept[i].path, path) == 0)
            return kept[i].text;
    i = next++ % LINES;
    memcpy(kept[i].path, path, strlen(path) + 1);
    kept[i].number = number;
    read_line(path, number, kept[i].text);
    return kept[i].text;
}

/* ---- the editor -------------------------------------------------------------------------- */

/* How an editor is given a line number. */
typedef enum { WITH_PLUS, WITH_COLON, WITH_GOTO } place_form;

static place_form form_of(const char *editor)
{
    static const struct {
        const char *name;
        place_form form;
    } forms[] = {{"code", WITH_GOTO},     {"code-insiders", WITH_GOTO},
                 {"codium", WITH_GOTO},   {"cursor", WITH_GOTO},
                 {"windsurf", WITH_GOTO}, {"subl", WITH_COLON},
                 {"zed", WITH_COLON},     {"hx", WITH_COLON}};
    const char *slash = strrchr(editor, '/'), *name = slash ? slash + 1 : editor;

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(name, forms[i].name) == 0)
            return forms[i].form;
    return WITH_PLUS;
}

/* Splits the command into words at blanks. */
static uint32_t split(char *command, char *words[MOST_WORDS])
{
    uint32_t count = 0;

    for (char *at = command, *word; count < MOST_WORDS && (word = strtok_r(at, " \t", &at));)
        words[count++] = word;
    return count;
}

/* Begins to wait for editors that end, so that they do not stay as zombies. */
static void start_watching(pid_t new)
{
    static pid_t started[EDITORS];
    uint32_t free_row = 0;

    for (uint32_t i = 0; i < EDITORS; i++) {
        if (started[i] && waitpid(started[i], NULL, WNOHANG) != 0)
            started[i] = 0;
        if (!started[i])
            free_row = i;
    }
    started[free_row] = new;
}

static bool start(char *words[], char why[MV_SOURCE_WHY])
{
    pid_t child;
    int failed = posix_spawnp(&child, words[0], NULL, NULL, words, environ);

    if (failed)
        snprintf(why, MV_SOURCE_WHY, "%.120s: not started: %s", words[0], strerror(failed));
    else
        start_watching(child);
    return failed == 0;
}

/* Finds a source file. Its path is absolute, so that it cannot be an option of the editor, whatever
 * the recording contains. */
static bool find_file(const char *path, char whole[PATH_MAX], char why[MV_SOURCE_WHY])
{
    struct stat st;

    if (realpath(path, whole) && stat(whole, &st) == 0 && S_ISREG(st.st_mode))
        return true;
    snprintf(why, MV_SOURCE_WHY, "%.150s: not on this machine", path);
    return false;
}

static bool edit(const char *path, int64_t number, char why[MV_SOURCE_WHY])
{
    const char *visual = getenv("VISUAL"), *plain = getenv("EDITOR");
    static char go_to[] = "--goto";
    char command[PATH], whole[PATH_MAX], place[PATH_MAX + 32], *words[MOST_WORDS + 3];
    uint32_t count;

    snprintf(command, sizeof command, "%s", visual && *visual ? visual : plain ? plain : "");
    count = split(command, words);
    if (count == 0) {
        snprintf(why, MV_SOURCE_WHY, "no editor is named: set VISUAL or EDITOR, as in VISUAL=code");
        return false;
    }
    if (!find_file(path, whole, why))
        return false;
    switch (form_of(words[0])) {
    case WITH_PLUS:
        snprintf(place, sizeof place, "+%lld", (long long)number);
        words[count++] = place;
        words[count++] = whole;
        break;
    case WITH_GOTO:
        words[count++] = go_to;
        /* fall through */
    case WITH_COLON:
        snprintf(place, sizeof place, "%s:%lld", whole, (long long)number);
        words[count++] = place;
        break;
    }
    words[count] = NULL;
    return start(words, why);
}

const mv_source_files mv_disk_sources = {line, edit};
