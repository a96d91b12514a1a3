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

#ifdef MV_POSIX
extern char **environ;
#endif

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

/* Reads a line. A path in a recording can name anything, so only regular files are read, without
 * ever blocking. */
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
typedef enum { WITH_PLUS, WITH_COLON, WITH_GOTO, WITH_LINE } place_form;

typedef struct {
    const char *name;
    place_form form;
    bool needs_terminal;
} editor_kind;

static editor_kind kind_of(const char *editor)
{
    static const editor_kind kinds[] = {
        {"code", WITH_GOTO, false},     {"code-insiders", WITH_GOTO, false},
        {"codium", WITH_GOTO, false},   {"cursor", WITH_GOTO, false},
        {"windsurf", WITH_GOTO, false}, {"subl", WITH_COLON, false},
        {"zed", WITH_COLON, false},     {"kate", WITH_LINE, false},
        {"pycharm", WITH_LINE, false},  {"hx", WITH_COLON, true},
        {"vi", WITH_PLUS, true},        {"vim", WITH_PLUS, true},
        {"nvim", WITH_PLUS, true},      {"nano", WITH_PLUS, true},
        {"micro", WITH_PLUS, true}};
    const char *slash = strrchr(editor, '/'), *name = slash ? slash + 1 : editor;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(name, kinds[i].name) == 0)
            return kinds[i];
    return (editor_kind){name, WITH_PLUS, false};
}

/* Returns the next word, which ends at a blank outside of quotes, without its quotes. NULL: there
 * is none. */
static char *next_word(char **command)
{
    char *at = *command + strspn(*command, " \t"), *word = at, *end = at, quote = '\0';

    if (*at == '\0')
        return NULL;
    for (; *at && (quote || !strchr(" \t", *at)); at++)
        if (*at == quote || (!quote && (*at == '"' || *at == '\'')))
            quote = quote ? '\0' : *at;
        else
            *end++ = *at;
    *command = *at ? at + 1 : at;
    *end = '\0';
    return word;
}

/* Splits the command into words. A program whose path contains blanks is one word. */
static uint32_t split(char *command, char *words[MOST_WORDS])
{
    uint32_t count = 0;

    if (strchr(command, '/') && access(command, X_OK) == 0) {
        words[0] = command;
        return 1;
    }
    for (char *word; count < MOST_WORDS && (word = next_word(&command));)
        words[count++] = word;
    return count;
}

/* Records a new editor, and collects the exit status of editors that have ended, so that they do
 * not remain as zombies. */
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

/* Finds a source file. The result is an absolute path, so that the editor cannot mistake it for an
 * option, whatever the recording contains. */
static bool find_file(const char *path, char whole[PATH_MAX], char why[MV_SOURCE_WHY])
{
    struct stat st;

    if (realpath(path, whole) && stat(whole, &st) == 0 && S_ISREG(st.st_mode))
        return true;
    snprintf(why, MV_SOURCE_WHY, "%.150s: not on this machine", path);
    return false;
}

/* Returns the words of VISUAL, or if it is empty, of EDITOR. */
static uint32_t editor_words(char command[PATH], char *words[MOST_WORDS])
{
    static const char *const names[] = {"VISUAL", "EDITOR"};
    uint32_t count = 0;

    for (unsigned i = 0; i < 2 && count == 0; i++) {
        const char *value = getenv(names[i]);
        snprintf(command, PATH, "%s", value ? value : "");
        count = split(command, words);
    }
    return count;
}

/* Adds the words that follow the command, and returns their number. The word with the line number
 * is made in `place`. */
static uint32_t add_place(place_form form, char *whole, int64_t number, char place[PATH_MAX + 32],
                          char *words[])
{
    static char go_to[] = "--goto", line_option[] = "--line";
    uint32_t count = 0;
    bool is_separate = form == WITH_PLUS || form == WITH_LINE;

    if (form == WITH_GOTO || form == WITH_LINE)
        words[count++] = form == WITH_GOTO ? go_to : line_option;
    snprintf(place, PATH_MAX + 32, "%s%s%lld", is_separate ? "" : whole,
             form == WITH_PLUS   ? "+"
             : form == WITH_LINE ? ""
                                 : ":",
             (long long)number);
    words[count++] = place;
    if (is_separate)
        words[count++] = whole;
    return count;
}

static bool edit(const char *path, int64_t number, char why[MV_SOURCE_WHY])
{
    char command[PATH], whole[PATH_MAX], place[PATH_MAX + 32], *words[MOST_WORDS + 4];
    uint32_t count = editor_words(command, words);
    editor_kind kind;

    if (count == 0) {
        snprintf(why, MV_SOURCE_WHY, "no editor is named: set VISUAL or EDITOR, as in VISUAL=code");
        return false;
    }
    if (!find_file(path, whole, why))
        return false;
    kind = kind_of(words[0]);
    if (kind.needs_terminal && tcgetpgrp(STDIN_FILENO) != getpgrp()) {
        snprintf(why, MV_SOURCE_WHY,
                 "%.60s needs a terminal: start memviz in one, or set VISUAL=code, for example",
                 words[0]);
        return false;
    }
    words[count + add_place(kind.form, whole, number, place, words + count)] = NULL;
    return start(words, why);
}

const mv_source_files mv_disk_sources = {line, edit};
