/* The rules of the house that a compiler does not check: who may include whom, which functions
 * nobody calls, how long files and functions get, no file name twice. The same walk is made over
 * this repository, where it must find nothing, and over small wrong trees, where it must find
 * what is wrong. */
#include "parse/base/arena.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MOST_LINES = 800,
    MOST_FUNCTION_LINES = 100 /* but for a flat switch */,
    MOST_FILES = 1000,
    PATH_LENGTH = 1024
};

/* Libraries in the order of the data; an include may point at the same folder or to the left. */
static const char *const folders[] = {"capture", "parse", "analyze", "viz", "cli"};
enum { CAPTURE, PARSE, ANALYZE, VIZ, CLI, FOLDERS };

/* Nobody calls these: they do not know where their buffer ends, or hide that a conversion
 * failed. */
static const char *const banned_anywhere[] = {
    "strcpy", "strncpy", "stpcpy", "strcat", "strncat", "sprintf", "vsprintf", "gets",
    "strtok", "atoi",    "atol",   "atoll",  "atof",    "alloca",  "tmpnam",   "mktemp"};

/* Libraries report by mv_err and take memory from arenas. */
static const char *const banned_in_libraries[] = {
    "printf", "puts",   "putchar", "perror", "exit",   "_exit",  "abort",
    "malloc", "calloc", "realloc", "free",   "strdup", "strndup"};

typedef struct {
    const char *root;
    const char *table; /* docs/architecture.md, which names every file; NULL: nothing does */
    char seen[MOST_FILES][64]; /* file names without folders */
    unsigned files;
    unsigned faults;
    char first[2 * PATH_LENGTH]; /* the first fault */
} house;

static void fault(house *h, const char *path, int line, const char *what, const char *which)
{
    if (h->faults++ == 0)
        snprintf(h->first, sizeof h->first, "%s:%d: %s%.200s", path, line, what, which);
}

static int folder_of(const char *path)
{
    for (int i = 0; i < FOLDERS; i++) {
        size_t length = strlen(folders[i]);
        if (strncmp(path, folders[i], length) == 0 && path[length] == '/')
            return i;
    }
    return -1;
}

/* The floors of viz/: what the viewer computes with, pictures, the viewer, its window. */
static int floor_of(const char *path)
{
    static const char *const floors[] = {"viz/core/", "viz/view/", "viz/sdl/"};

    if (strncmp(path, floors[0], strlen(floors[0])) == 0)
        return 0;
    if (strncmp(path, floors[1], strlen(floors[1])) == 0)
        return 2;
    return strncmp(path, floors[2], strlen(floors[2])) == 0 ? 3 : 1;
}

/* Why a file may not include `target`; NULL when it may. Paths begin at the root. */
static const char *wrong_include(const char *path, const char *target)
{
    int from = folder_of(path), to = folder_of(target);

    if (from < 0)
        return NULL; /* tests and benchmarks see everything */
    if (to < 0)
        return "includes what is in no library: ";
    if (to > from)
        return "includes against the stream: ";
    if (to == CAPTURE && from != CAPTURE && strncmp(target, "capture/wire", 12) != 0)
        return "includes more of capture/ than wire*.h: ";
    if (strncmp(path, "parse/base/", 11) == 0 && strncmp(target, "parse/base/", 11) != 0)
        return "includes from under the base: ";
    if (from == VIZ && to == VIZ && floor_of(target) > floor_of(path))
        return "includes a higher floor of viz/: ";
    return NULL;
}

/* Blanks out comments and the contents of strings; lines stay. */
static void keep_code(char *text)
{
    enum { CODE, LINE, BLOCK, STRING } state = CODE;
    char quote = 0;

    for (char *c = text; *c; c++) {
        if (state == CODE) {
            if (c[0] == '/' && (c[1] == '/' || c[1] == '*'))
                state = c[1] == '/' ? LINE : BLOCK;
            else if (*c == '"' || *c == '\'')
                state = STRING, quote = *c;
            if (state == CODE || state == STRING)
                continue;
        } else if (state == STRING && *c == '\\' && c[1] != '\n' && c[1]) {
            *c++ = ' ';
        } else if (state == STRING && *c == quote) {
            state = CODE;
            continue;
        } else if (state == LINE && *c == '\n') {
            state = CODE;
        } else if (state == BLOCK && c[0] == '*' && c[1] == '/') {
            *c++ = ' ';
            state = CODE;
        }
        if (*c != '\n')
            *c = ' ';
    }
}

static bool calls(const char *line, const char *function)
{
    size_t length = strlen(function);

    for (const char *at = line; (at = strstr(at, function)); at += length) {
        bool starts = at == line || !(isalnum((unsigned char)at[-1]) || strchr("_.>", at[-1]));
        if (starts && at[length] == '(')
            return true;
    }
    return false;
}

static void check_calls(house *h, const char *path, int number, const char *line)
{
    bool is_library = folder_of(path) >= 0 && folder_of(path) != CLI;

    for (size_t i = 0; i < sizeof banned_anywhere / sizeof *banned_anywhere; i++)
        if (calls(line, banned_anywhere[i]))
            fault(h, path, number, "calls ", banned_anywhere[i]);
    for (size_t i = 0; is_library && i < sizeof banned_in_libraries / sizeof(char *); i++)
        if (calls(line, banned_in_libraries[i]))
            fault(h, path, number, "a library calls ", banned_in_libraries[i]);
}

static void check_include(house *h, const char *path, int number, const char *line)
{
    char target[256];
    const char *why;

    if (sscanf(line, " # include <%255[^>]>", target) == 1 && strncmp(target, "SDL", 3) == 0 &&
        strncmp(path, "viz/sdl/", 8) != 0)
        fault(h, path, number, "knows SDL outside viz/sdl/: ", target);
    if (sscanf(line, " # include \"%255[^\"]\"", target) != 1)
        return;
    why = wrong_include(path, target);
    if (why)
        fault(h, path, number, why, target);
}

/* One line at a time; `raw` still has its strings, `code` has not. */
static void check_lines(house *h, const char *path, char *raw, char *code)
{
    int number = 0, opened = 0;
    bool has_switch = false;

    while (*raw) {
        size_t length = strcspn(raw, "\n");
        char raw_end = raw[length], code_end = code[length];
        raw[length] = code[length] = 0;
        number++;
        check_include(h, path, number, raw);
        check_calls(h, path, number, code);
        if (strcmp(code, "{") == 0) {
            opened = number;
            has_switch = false;
        }
        has_switch = has_switch || strstr(code, " switch (");
        if (strcmp(code, "}") == 0 && !has_switch && number - opened > MOST_FUNCTION_LINES)
            fault(h, path, opened, "function is too long", "");
        raw[length] = raw_end;
        code[length] = code_end;
        raw += length + (raw_end != 0);
        code += length + (code_end != 0);
    }
    if (number > MOST_LINES)
        fault(h, path, number, "file is too long", "");
}

static char *text_of(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);

    cr_assert(file && text, "%s", path);
    cr_assert_lt(fread(text, 1, (1 << 20) - 1, file), (1 << 20) - 1, "%s is too large", path);
    fclose(file);
    return text;
}

/* Files whose names say which command, test or format they are for. */
static bool is_named_by_rule(const char *path, const char *name)
{
    return strncmp(name, "cmd_", 4) == 0 || strncmp(name, "test_", 5) == 0 ||
           strncmp(name, "fuzz_", 5) == 0 || strncmp(path, "tests/hooked/", 13) == 0;
}

/* Whether the table has `name`, with its ending or without, as a word in backquotes. */
static bool is_in_table(const char *table, const char *name)
{
    size_t length = strcspn(name, ".");

    for (const char *at = table; (at = strstr(at, "`")); at++) {
        const char *word = at + 1, *end = word + strcspn(word, "`/");
        while (*end == '/') {
            word = end + 1;
            end = word + strcspn(word, "`/");
        }
        if (strncmp(word, name, length) == 0 && (word[length] == '.' || word[length] == '`'))
            return true;
    }
    return false;
}

static void check_file(house *h, const char *path)
{
    char full[PATH_LENGTH * 2];
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    char *raw, *code;

    for (unsigned i = 0; i < h->files; i++)
        if (strcmp(h->seen[i], name) == 0)
            fault(h, path, 1, "name occurs twice: ", name);
    cr_assert_lt(h->files, MOST_FILES);
    cr_assert_lt(strlen(name), sizeof h->seen[0]);
    memcpy(h->seen[h->files++], name, strlen(name) + 1);
    if (h->table && !is_named_by_rule(path, name) && !is_in_table(h->table, name))
        fault(h, path, 1, "not in docs/architecture.md, the files by noun: ", name);
    snprintf(full, sizeof full, "%s/%s", h->root, path);
    raw = text_of(full);
    code = text_of(full);
    keep_code(code);
    check_lines(h, path, raw, code);
    free(raw);
    free(code);
}

static bool is_source(const char *name)
{
    size_t length = strlen(name);
    return length > 2 &&
           (strcmp(name + length - 2, ".c") == 0 || strcmp(name + length - 2, ".h") == 0);
}

/* All C files under `folder` ("" is the root). */
static void walk(house *h, const char *folder)
{
    char path[PATH_LENGTH], full[PATH_LENGTH * 2];
    struct dirent *entry;
    struct stat st;
    DIR *dir;

    snprintf(full, sizeof full, "%s/%s", h->root, folder);
    dir = opendir(full);
    cr_assert_not_null(dir, "%s", full);
    while ((entry = readdir(dir))) {
        const char *name = entry->d_name;
        if (name[0] == '.' || strcmp(name, "build") == 0 || strcmp(name, "testdata") == 0)
            continue;
        cr_assert_lt(snprintf(path, sizeof path, "%s%s%s", folder, *folder ? "/" : "", name),
                     (int)sizeof path);
        snprintf(full, sizeof full, "%s/%s", h->root, path);
        if (stat(full, &st) == 0 && S_ISDIR(st.st_mode))
            walk(h, path);
        else if (is_source(name))
            check_file(h, path);
    }
    closedir(dir);
}

Test(house, this_one_is_in_order)
{
    static house h;
    char *table = text_of(MV_SOURCE_DIR "/docs/architecture.md");

    h = (house){.root = MV_SOURCE_DIR, .table = strstr(table, "## Files by noun")};
    cr_assert_not_null(h.table);
    walk(&h, "");
    cr_assert_gt(h.files, 20);
    cr_assert_eq(h.faults, 0, "%u faults; the first: %s", h.faults, h.first);
    free(table);
}

Test(house, table_of_files_is_read)
{
    const char *table = "| x | `lives`, `base/err`, `wire.h` on `replay_run.c` |";

    cr_assert(is_in_table(table, "lives.h") && is_in_table(table, "lives.c"));
    cr_assert(is_in_table(table, "err.c") && is_in_table(table, "wire.h"));
    cr_assert(is_in_table(table, "replay_run.c"));
    cr_assert_not(is_in_table(table, "live.c") || is_in_table(table, "base.c"));
    cr_assert_not(is_in_table(table, "replay.c") || is_in_table(table, "x.c"));
}

/* A tree of one file, and what the walk says of it. */
static void expect_fault(const char *folder, const char *name, const char *text, const char *want)
{
    static house h;
    char root[] = "/tmp/mv-house-XXXXXX";
    char path[PATH_LENGTH], command[PATH_LENGTH];
    FILE *file;

    cr_assert_not_null(mkdtemp(root));
    snprintf(command, sizeof command, "mkdir -p %s/%s", root, folder);
    cr_assert_eq(system(command), 0);
    snprintf(path, sizeof path, "%s/%s/%s", root, folder, name);
    file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
    h = (house){.root = root};
    walk(&h, "");
    snprintf(command, sizeof command, "rm -r %s", root);
    cr_assert_eq(system(command), 0);
    if (want) {
        cr_assert_eq(h.faults, 1, "%u faults in %s", h.faults, text);
        cr_assert_not_null(strstr(h.first, want), "'%s' in '%s'", want, h.first);
    } else {
        cr_assert_eq(h.faults, 0, "%s", h.first);
    }
}

Test(house, include_against_the_stream_is_found)
{
    expect_fault("parse", "a.c", "#include \"analyze/lives.h\"\n", "a.c:1: includes against");
    expect_fault("analyze", "a.h", "\n#  include  \"viz/draw.h\"\n", "a.h:2: includes against");
    expect_fault("viz", "a.c", "#include \"cli/command.h\"\n", "against the stream");
    expect_fault("viz/core", "a.c", "#include \"viz/scene.h\"\n", "higher floor of viz/");
    expect_fault("viz", "a.c", "#include \"viz/view/view.h\"\n", "higher floor of viz/");
    expect_fault("viz/view", "a.c", "#include <SDL2/SDL.h>\n", "knows SDL outside viz/sdl/");
    expect_fault("capture", "a.c", "#include \"parse/trace.h\"\n", "against the stream");
    expect_fault("parse", "a.c", "#include \"capture/ring.h\"\n", "than wire*.h");
    expect_fault("cli", "a.c", "#include \"tests/fixture.h\"\n", "in no library");
    expect_fault("cli", "a.c", "#include \"command.h\"\n", "in no library");
}

Test(house, include_from_upstream_is_fine)
{
    expect_fault("parse", "a.c", "#include \"capture/wire.h\"\n", NULL);
    expect_fault("parse", "a.c", "#include \"capture/wire_live.h\"\n", NULL);
    expect_fault("cli", "a.c", "#include \"viz/draw.h\"\n#include <stdio.h>\n", NULL);
    expect_fault("tests", "a.c", "#include \"cli/command.h\"\n", NULL);
}

Test(house, banned_call_is_found)
{
    expect_fault("cli", "a.c", "\n    strcpy(a, b);\n", "a.c:2: calls strcpy");
    expect_fault("tests", "a.c", "int x = -atoi(text);\n", "calls atoi");
    expect_fault("viz", "a.c", "    exit(1);\n", "a library calls exit");
    expect_fault("parse", "a.c", "    p = malloc(3);\n", "a library calls malloc");
}

Test(house, only_calls_count)
{
    expect_fault("parse", "a.c", "/* not by strcpy(a, b) */\n// exit(1)\n", NULL);
    expect_fault("parse", "a.c", "say(\"exit(1) \\\" abort()\", '\"', 0);\n", NULL);
    expect_fault("parse", "a.c", "mv_sink_printf(s, x); my_free(x); t->free(x);\n", NULL);
    expect_fault("cli", "a.c", "printf(x); exit(0);\n", NULL);
}

Test(house, long_file_and_function_are_found)
{
    static char text[MOST_LINES * 2 + 16];

    for (int i = 0; i < MOST_LINES + 1; i++)
        memcpy(text + 2 * i, ";\n", 3);
    expect_fault("cli", "a.c", text, "file is too long");
    memcpy(text + 2, "{\n", 2);
    memcpy(text + 400, "}\n", 3);
    expect_fault("cli", "a.c", text, "a.c:2: function is too long");
}
