/* The rules of the house that a compiler does not check: who may include whom, folders that include
 * each other in a cycle, which functions no one calls, how long files and functions and how full
 * folders get, folders that no README explains. The same walk is made over this repository, where
 * it must find nothing, and over small wrong trees, where it must find what is wrong. */
#include "base/arena.h"

#include "tests/fixture/fixture_test.h"
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MOST_LINES = 800,
    MOST_FUNCTION_LINES = 100 /* but for a flat switch */,
    MOST_FILES = 50 /* of one folder; one for each command or test does not count */,
    MOST_DEPTH = 2,
    MOST_NODES = 800,
    MOST_DEFINED = 2000,
    PATH_LENGTH = 1024
};

/* Libraries in the order of the data; an include may point at the same folder or to the left. */
static const char *const libraries[] = {"base", "capture", "parse",  "analyze", "export",
                                        "viz",  "view",    "record", "cli",     "web"};
enum { BASE, CAPTURE, PARSE, ANALYZE, EXPORT, VIZ, VIEW, RECORD, CLI, WEB, LIBRARIES };

/* No one calls these: they do not know where their buffer ends, or hide that a conversion
 * failed. */
static const char *const banned_anywhere[] = {
    "strcpy", "strncpy", "stpcpy", "strcat", "strncat", "sprintf", "vsprintf", "gets",
    "strtok", "atoi",    "atol",   "atoll",  "atof",    "alloca",  "tmpnam",   "mktemp"};

/* Libraries report by mv_err and take memory from arenas; not those that start programs. */
static const char *const banned_in_libraries[] = {
    "printf", "puts",   "putchar", "perror", "exit",   "_exit",  "abort",
    "malloc", "calloc", "realloc", "free",   "strdup", "strndup"};

/* Sentences that judge or advise are made in analyze/, so that all who show them say the same. The
 * texts of the help are about such sentences. */
static const char *const phrases_of_analyze[] = {"would have",    "would save", "no leak",
                                                 "leaks unknown", "is advised", "not fragmented"};

typedef struct {
    const char *root;
    int pass;                  /* the second looks at calls alone */
    char node[MOST_NODES][64]; /* folders and headers, of libraries */
    bool includes[MOST_NODES][MOST_NODES];
    struct {
        char name[64];
        unsigned folder;
    } defined[MOST_DEFINED]; /* functions of the viewer */
    unsigned nodes, files, faults, definitions;
    char report[16 << 10]; /* a line for each fault */
} house;

static void fault(house *h, const char *path, int line, const char *what, const char *which)
{
    size_t length = strlen(h->report);

    snprintf(h->report + length, sizeof h->report - length, "%s:%d: %s%s\n", path, line, what,
             which);
    h->faults++;
}

static bool is_under(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && path[length] == '/';
}

static int library_of(const char *path)
{
    for (int i = 0; i < LIBRARIES; i++)
        if (is_under(path, libraries[i]))
            return i;
    return -1;
}

/* The row of a folder or header: the first `length` characters of `path`. */
static unsigned node_of(house *h, const char *path, size_t length)
{
    char name[64];
    unsigned i = 0;

    snprintf(name, sizeof name, "%.*s", (int)length, path);
    while (i < h->nodes && strcmp(h->node[i], name) != 0)
        i++;
    if (i == h->nodes) {
        cr_assert_lt(h->nodes, MOST_NODES);
        memcpy(h->node[h->nodes++], name, sizeof name);
    }
    return i;
}

static unsigned folder_of(house *h, const char *path)
{
    const char *end = strrchr(path, '/');
    return node_of(h, path, end ? (size_t)(end - path) : 0);
}

static bool is_header(const char *path)
{
    size_t length = strlen(path);
    return length > 2 && strcmp(path + length - 2, ".h") == 0;
}

/* An edge from folder to folder, and one from header to header. */
static void add_include(house *h, const char *path, const char *target)
{
    h->includes[folder_of(h, path)][folder_of(h, target)] = true;
    if (is_header(path) && is_header(target))
        h->includes[node_of(h, path, strlen(path))][node_of(h, target, strlen(target))] = true;
}

/* Why a file may not include `target`; NULL when it may. Paths begin at the root. */
static const char *wrong_include(const char *path, const char *target)
{
    int from = library_of(path), to = library_of(target);

    if (from < 0)
        return NULL; /* tests and benchmarks see everything */
    if (to < 0)
        return "includes what is in no library: ";
    if (to > from)
        return "includes against the stream: ";
    if (from == CAPTURE && to != CAPTURE)
        return "includes more than capture/: ";
    if (to == CAPTURE && from != CAPTURE && strncmp(target, "capture/wire", 12) != 0)
        return "includes more of capture/ than wire*.h: ";
    if ((from == VIZ && to == EXPORT) || (from == RECORD && to > PARSE && to != RECORD))
        return "includes a library that it has no use for: ";
    if (strcmp(target, "view/intents/writable.h") == 0 && !is_under(path, "view/intents"))
        return "writes the viewer's state outside view/intents/: ";
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
    bool is_library = library_of(path) >= 0 && library_of(path) < RECORD;

    for (size_t i = 0; i < sizeof banned_anywhere / sizeof *banned_anywhere; i++)
        if (calls(line, banned_anywhere[i]))
            fault(h, path, number, "calls ", banned_anywhere[i]);
    for (size_t i = 0; is_library && i < sizeof banned_in_libraries / sizeof(char *); i++)
        if (calls(line, banned_in_libraries[i]))
            fault(h, path, number, "a library calls ", banned_in_libraries[i]);
}

/* Whether a phrase is in a string of a line: after an odd number of quotation marks. */
static bool says(const char *line, const char *phrase)
{
    const char *at = strstr(line, phrase);
    unsigned quotes = 0;

    for (const char *c = line; at && c < at; c++)
        quotes += *c == '"';
    return quotes % 2 == 1;
}

static void check_phrases(house *h, const char *path, int number, const char *line)
{
    if (library_of(path) < EXPORT || strcmp(path, "cli/commands.c") == 0)
        return;
    for (size_t i = 0; i < sizeof phrases_of_analyze / sizeof(char *); i++)
        if (says(line, phrases_of_analyze[i]))
            fault(h, path, number,
                  "judges or advises outside of analyze/: ", phrases_of_analyze[i]);
}

static void check_include(house *h, const char *path, int number, const char *line)
{
    char target[256];
    const char *why;

    if (sscanf(line, " # include <%255[^>]>", target) == 1 && strncmp(target, "SDL", 3) == 0 &&
        !is_under(path, "view/sdl"))
        fault(h, path, number, "knows SDL outside view/sdl/: ", target);
    if (sscanf(line, " # include \"%255[^\"]\"", target) != 1)
        return;
    why = wrong_include(path, target);
    if (why)
        fault(h, path, number, why, target);
    else if (library_of(path) >= 0)
        add_include(h, path, target);
}

/* ---- calls from folder to folder of the viewer ---------------------------------------------- */

/* The function that is named at `at`, where a call or definition of one may begin. */
static bool read_name(const char *at, char name[64])
{
    size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz_0123456789");

    if (strncmp(at, "mv_", 3) != 0 || at[length] != '(' || length >= 64)
        return false;
    snprintf(name, 64, "%.*s", (int)length, at);
    return true;
}

static void note_definition(house *h, const char *path, const char *line)
{
    const char *open = strchr(line, '('), *at = open;

    if (!isalpha((unsigned char)*line) || !open || strncmp(line, "static", 6) == 0 ||
        strchr(line, ';'))
        return;
    while (at > line && (isalnum((unsigned char)at[-1]) || at[-1] == '_'))
        at--;
    cr_assert_lt(h->definitions, MOST_DEFINED);
    if (read_name(at, h->defined[h->definitions].name))
        h->defined[h->definitions++].folder = folder_of(h, path);
}

static void note_call(house *h, const char *path, const char *name)
{
    for (unsigned i = 0; i < h->definitions; i++)
        if (strcmp(h->defined[i].name, name) == 0)
            h->includes[folder_of(h, path)][h->defined[i].folder] = true;
}

/* A header may declare what a folder above it defines, so that includes show no cycle: a call needs
 * the folder of the definition as an include does. */
static void link_lines(house *h, const char *path, char *code, bool is_second)
{
    char name[64];

    for (char *line = code, *next; *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next)
            *next++ = 0;
        if (!is_second)
            note_definition(h, path, line);
        for (const char *at = line; is_second && *line == ' ' && (at = strstr(at, "mv_")); at++)
            if (!isalnum((unsigned char)at[-1]) && at[-1] != '_' && read_name(at, name))
                note_call(h, path, name);
    }
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
        check_phrases(h, path, number, raw);
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

static void check_file(house *h, const char *path)
{
    char full[PATH_LENGTH * 2];
    char *raw, *code;

    h->files += h->pass == 0;
    snprintf(full, sizeof full, "%s/%s", h->root, path);
    raw = text_of(full);
    code = text_of(full);
    keep_code(code);
    if (h->pass == 0)
        check_lines(h, path, raw, code);
    if (is_under(path, "view") && !is_header(path))
        link_lines(h, path, code, h->pass == 1);
    free(raw);
    free(code);
}

static bool is_source(const char *name)
{
    size_t length = strlen(name);
    return length > 2 &&
           (strcmp(name + length - 2, ".c") == 0 || strcmp(name + length - 2, ".h") == 0);
}

/* ---- folders ------------------------------------------------------------------------------ */

/* Whether the tests in `folder` are those of a folder of the same name in a library. */
static bool mirrors(const house *h, const char *folder)
{
    const char *name = folder + strlen("tests/");
    char path[PATH_LENGTH];

    if (!is_under(folder, "tests"))
        return false;
    for (int i = 0; i < LIBRARIES; i++) {
        snprintf(path, sizeof path, "%s/%s/%s", h->root, libraries[i], name);
        if (strcmp(name, libraries[i]) == 0 || access(path, F_OK) == 0)
            return true;
    }
    return false;
}

/* Whether the README of the folder, or of the one above it, says what is in it. */
static bool is_explained(const house *h, const char *folder)
{
    char path[PATH_LENGTH], row[PATH_LENGTH];
    const char *name = strrchr(folder, '/');
    char *text;
    bool found;

    snprintf(path, sizeof path, "%s/%.*s/README.md", h->root,
             name ? (int)(name - folder) : (int)strlen(folder), folder);
    if (access(path, R_OK) != 0)
        return false;
    text = text_of(path);
    snprintf(row, sizeof row, name ? "\n| `%s/` | " : "# %s/\n", name ? name + 1 : folder);
    found = strstr(text, row);
    free(text);
    return found;
}

/* Whether what `from` includes, at whatever distance, includes `to`. */
static bool reaches(const house *h, unsigned from, unsigned to, bool *seen)
{
    for (unsigned i = 0; i < h->nodes; i++) {
        if (i == from || !h->includes[from][i] || seen[i])
            continue;
        seen[i] = true;
        if (i == to || reaches(h, i, to, seen))
            return true;
    }
    return false;
}

/* Commands are one table with the options that they share. */
static bool may_be_in_a_cycle(const char *folder)
{
    if (is_header(folder))
        return false;
    return is_under(folder, "cli") || strcmp(folder, "cli") == 0;
}

static void check_cycles(house *h)
{
    for (unsigned i = 0; i < h->nodes; i++) {
        bool seen[MOST_NODES] = {0};
        if (!may_be_in_a_cycle(h->node[i]) && reaches(h, i, i, seen))
            fault(h, h->node[i], 1, "is in a cycle", "");
    }
}

/* All C files under `folder` ("" is the root). */
static void walk_pass(house *h, const char *folder, int depth)
{
    char path[PATH_LENGTH], full[PATH_LENGTH * 2];
    int files = 0, sources = 0;
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
        if (stat(full, &st) == 0 && S_ISDIR(st.st_mode)) {
            walk_pass(h, path, depth + 1);
            continue;
        }
        files += strncmp(name, "cmd_", 4) != 0 && strncmp(name, "test_", 5) != 0;
        if (is_source(name)) {
            check_file(h, path);
            sources++;
        }
    }
    closedir(dir);
    if (h->pass == 1)
        return;
    if (files > MOST_FILES)
        fault(h, folder, 1, "has too many files", "");
    if (sources && depth > MOST_DEPTH)
        fault(h, folder, 1, "is too deep", "");
    else if (sources && depth > 0 && !mirrors(h, folder) && !is_explained(h, folder))
        fault(h, folder, 1, "is in no README", "");
}

static void walk(house *h)
{
    for (h->pass = 0; h->pass < 2; h->pass++)
        walk_pass(h, "", 0);
    check_cycles(h);
}

Test(house, this_one_is_in_order)
{
    static house h;

    h = (house){.root = MV_SOURCE_DIR};
    walk(&h);
    cr_assert_gt(h.files, 500);
    cr_assert_gt(h.nodes, 200);
    cr_assert_eq(h.faults, 0, "%u faults:\n%s", h.faults, h.report);
}

/* ---- wrong trees --------------------------------------------------------------------------- */

static void write_file(const char *root, const char *folder, const char *name, const char *text)
{
    char path[PATH_LENGTH];
    FILE *file;

    snprintf(path, sizeof path, "mkdir -p %s/%s", root, folder);
    cr_assert_eq(system(path), 0);
    snprintf(path, sizeof path, "%s/%s/%s", root, folder, name);
    file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

/* What the walk says of the tree, which is removed. */
static void expect_faults_of(const char *root, const char *want)
{
    static house h;
    char command[PATH_LENGTH];

    h = (house){.root = root};
    walk(&h);
    snprintf(command, sizeof command, "rm -r %s", root);
    cr_assert_eq(system(command), 0);
    if (want)
        cr_assert(h.faults && strstr(h.report, want), "'%s' in '%s'", want, h.report);
    else
        cr_assert_eq(h.faults, 0, "%s", h.report);
}

/* A tree of one file, and the README that explains its folder. */
static void expect_fault(const char *folder, const char *name, const char *text, const char *want)
{
    char root[] = "/tmp/mv-house-XXXXXX", readme[PATH_LENGTH], top[64];
    const char *below = strchr(folder, '/');

    cr_assert_not_null(mkdtemp(root));
    write_file(root, folder, name, text);
    snprintf(top, sizeof top, "%.*s", (int)strcspn(folder, "/"), folder);
    snprintf(readme, sizeof readme, "# %s/\n\n| `%s/` | x |\n", top, below ? below + 1 : "x");
    write_file(root, top, "README.md", readme);
    expect_faults_of(root, want);
}

Test(house, include_against_the_stream_is_found)
{
    expect_fault("parse", "a.c", "#include \"analyze/lives/lives.h\"\n", "a.c:1: includes against");
    expect_fault("analyze", "a.h", "\n#  include  \"viz/draw.h\"\n", "a.h:2: includes against");
    expect_fault("viz", "a.c", "#include \"cli/command.h\"\n", "against the stream");
    expect_fault("viz/core", "a.c", "#include \"view/view.h\"\n", "against the stream");
    expect_fault("viz", "a.c", "#include \"export/export.h\"\n", "has no use for");
    expect_fault("record", "a.c", "#include \"viz/scene.h\"\n", "has no use for");
    expect_fault("view/state", "a.c", "#include <SDL2/SDL.h>\n", "knows SDL outside view/sdl/");
    expect_fault("capture", "a.c", "#include \"base/arena.h\"\n", "more than capture/");
    expect_fault("capture", "a.c", "#include \"parse/model/trace.h\"\n", "against the stream");
    expect_fault("parse", "a.c", "#include \"capture/ring.h\"\n", "than wire*.h");
    expect_fault("view/panes", "a.c", "#include \"view/intents/writable.h\"\n",
                 "writes the viewer's");
    expect_fault("cli", "a.c", "#include \"tests/fixture/fixture.h\"\n", "in no library");
    expect_fault("cli", "a.c", "#include \"command.h\"\n", "in no library");
}

Test(house, include_from_upstream_is_fine)
{
    expect_fault("parse", "a.c", "#include \"capture/wire.h\"\n", NULL);
    expect_fault("parse", "a.c", "#include \"capture/wire_live.h\"\n", NULL);
    expect_fault("cli", "a.c", "#include \"viz/draw.h\"\n#include <stdio.h>\n", NULL);
    expect_fault("tests", "a.c", "#include \"cli/command.h\"\n", NULL);
    expect_fault("view/intents", "a.c", "#include \"view/intents/writable.h\"\n", NULL);
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

Test(house, judgement_outside_analyze_is_found)
{
    expect_fault("cli", "a.c", "\n    say(\"%s would have fitted\", x);\n", "a.c:2: judges");
    expect_fault("view/panes", "a.c", "title = \"no leak\";\n", "judges or advises");
    expect_fault("analyze/oom", "a.c", "say(\"it would have fitted\");\n", NULL);
    expect_fault("cli", "a.c", "/* what would have fitted */\n", NULL);
    expect_fault("cli", "commands.c", ".help = \"what would have fitted\",\n", NULL);
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

Test(house, cycle_of_folders_is_found)
{
    char root[] = "/tmp/mv-house-XXXXXX";

    cr_assert_not_null(mkdtemp(root));
    write_file(root, "parse", "README.md", "\n| `a/` | x |\n| `b/` | x |\n| `c/` | x |\n");
    write_file(root, "parse/a", "x.h", "#include \"parse/b/y.h\"\n");
    write_file(root, "parse/b", "y.h", "#include \"parse/c/z.h\"\n");
    write_file(root, "parse/c", "z.c", "#include \"parse/a/x.h\"\n");
    expect_faults_of(root, "is in a cycle");
}

Test(house, cycle_of_parts_of_the_viewer_is_found)
{
    char root[] = "/tmp/mv-house-XXXXXX";

    cr_assert_not_null(mkdtemp(root));
    write_file(root, "view", "README.md", "\n| `panes/` | x |\n| `intents/` | x |\n");
    write_file(root, "view/intents", "x.c", "#include \"view/panes/y.h\"\n");
    write_file(root, "view/panes", "y.c", "#include \"view/intents/z.h\"\n");
    expect_faults_of(root, "view/panes:1: is in a cycle");
}

Test(house, call_upward_in_the_viewer_is_found)
{
    char root[] = "/tmp/mv-house-XXXXXX";

    cr_assert_not_null(mkdtemp(root));
    write_file(root, "view", "README.md", "\n| `frame/` | x |\n| `chrome/` | x |\n");
    write_file(root, "view/frame", "y.h", "int mv_here(void);\n");
    write_file(root, "view/frame", "y.c", "void mv_y(void)\n{\n    mv_here();\n}\n");
    write_file(root, "view/chrome", "x.c",
               "#include \"view/frame/y.h\"\nint mv_here(void)\n{\n    return 0;\n}\n");
    expect_faults_of(root, "view/frame:1: is in a cycle");
}

Test(house, cycle_of_headers_is_found)
{
    char root[] = "/tmp/mv-house-XXXXXX";

    cr_assert_not_null(mkdtemp(root));
    write_file(root, "parse", "README.md", "# parse/\n");
    write_file(root, "parse", "x.h", "#include \"parse/y.h\"\n");
    write_file(root, "parse", "y.h", "#include \"parse/x.h\"\n");
    write_file(root, "parse", "y.c", "#include \"parse/y.h\"\n");
    expect_faults_of(root, "parse/x.h:1: is in a cycle");
}

Test(house, folder_that_no_readme_has_is_found)
{
    char root[] = "/tmp/mv-house-XXXXXX";

    cr_assert_not_null(mkdtemp(root));
    write_file(root, "parse", "README.md", "# parse/\n\n| `a/` | x |\n");
    write_file(root, "parse/b", "y.h", "\n");
    expect_faults_of(root, "parse/b:1: is in no README");
}

Test(house, folder_that_is_too_deep_is_found)
{
    expect_fault("parse/a/b", "y.h", "\n", "parse/a/b:1: is too deep");
}

Test(house, folder_that_is_too_full_is_found)
{
    char root[] = "/tmp/mv-house-XXXXXX", name[16];

    cr_assert_not_null(mkdtemp(root));
    write_file(root, "parse", "README.md", "# parse/\n");
    for (int i = 0; i < MOST_FILES; i++) {
        snprintf(name, sizeof name, "x%d.h", i);
        write_file(root, "parse", name, "\n");
    }
    expect_faults_of(root, "has too many files");
}
