/* The examples in README and docs/ are true: their sessions match the program's output, the
 * README's pictures match its drawings, links lead to files, and docs/README.md lists every page. */
#include <dirent.h>
#include <png.h>
#include <unistd.h>

#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_program.h"

#define FENCE "```\n"
#define SHELL "$ memviz "
#define CUT   "...\n"

enum { PATH_LENGTH = 1024 };

/* Returns a file of the project, given its path from the project's root. */
static const char *page_text(const char *path)
{
    return mvt_text(mvt_format("%s/%s", MV_SOURCE_DIR, path));
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Finds the pages in a folder such as "docs/guides", sorted by name, and returns their number. */
static size_t pages_of(const char *folder, const char *paths[], size_t most)
{
    mv_arena *arena = mvt_memory();
    DIR *dir = opendir(mv_arena_printf(arena, "%s/%s", MV_SOURCE_DIR, folder));
    size_t count = 0;

    cr_assert_not_null(dir, "%s", folder);
    for (struct dirent *entry; (entry = readdir(dir));) {
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".md") != 0)
            continue;
        cr_assert_lt(count, most);
        paths[count++] = mv_arena_printf(arena, "%s/%s", folder, entry->d_name);
    }
    closedir(dir);
    qsort(paths, count, sizeof *paths, compare_names);
    return count;
}

/* Returns the next line "..." in a text, or the text's end if there is none. */
static const char *next_cut(const char *text, const char *end)
{
    for (const char *line = text; line < end; line = strchr(line, '\n') + 1)
        if (strncmp(line, CUT, strlen(CUT)) == 0)
            return line;
    return end;
}

/* Returns whether a text matches an excerpt of a session, in which a line "..." matches any number
 * of lines. */
static bool is_shown(const char *text, const char *shown, const char *end)
{
    const char *at = text, *last = text + strlen(text);
    const char *cut = next_cut(shown, end);
    size_t length = (size_t)(cut - shown);

    if ((size_t)(last - at) < length || memcmp(at, shown, length) != 0) /* the beginning */
        return false;
    at += length;
    while (cut < end) {
        shown = cut + strlen(CUT);
        cut = next_cut(shown, end);
        length = (size_t)(cut - shown);
        if (cut == end && (size_t)(last - at) >= length)
            at = length ? last - length : last; /* the end */
        while (at < last && !((at == text || at[-1] == '\n') && strncmp(at, shown, length) == 0))
            at++;
        if (length && at == last)
            return false;
        at += length;
    }
    return at == last;
}

/* Runs "$ memviz ARGUMENTS" from a session. The expected text ends at the closing fence. */
static void check_session(const char *path, const char *text, const char *end)
{
    const char *arguments = text + strlen(SHELL), *output = strchr(arguments, '\n') + 1;
    mvt_run r =
        mvt_sh("cd %s && $MEMVIZ %.*s", MV_SOURCE_DIR, (int)(output - 1 - arguments), arguments);

    cr_expect(is_shown(r.out, output, end), "%s: %.*s prints:\n%s%s\nnot:\n%.*s", path,
              (int)(output - 1 - text), text, r.out, r.err, (int)(end - output), output);
}

static unsigned check_sessions(const char *path)
{
    const char *text = page_text(path);
    unsigned sessions = 0;

    while ((text = strstr(text, FENCE SHELL))) {
        const char *end = strstr(text + strlen(FENCE), FENCE);
        cr_assert(end != NULL, "%s: a session has no end", path);
        check_session(path, text + strlen(FENCE), end);
        sessions++;
        text = end + strlen(FENCE);
    }
    return sessions;
}

Test(readme, sessions_are_real)
{
    cr_expect_geq(check_sessions("README.md"), 3);
}

LongTest(readme, sessions_of_the_docs_are_real)
{
    static const char *const folders[] = {"docs", "docs/guides"};
    const char *paths[128];
    unsigned sessions = 0;

    for (size_t f = 0; f < sizeof folders / sizeof *folders; f++) {
        size_t count = pages_of(folders[f], paths, sizeof paths / sizeof *paths);
        for (size_t i = 0; i < count; i++)
            sessions += check_sessions(paths[i]);
    }
    cr_expect_geq(sessions, 20);
}

/* Every "](PATH" on a page must be an existing file or folder, relative to the page. */
static unsigned check_links(const char *path)
{
    const char *slash = strrchr(path, '/'), *text = page_text(path);
    unsigned links = 0;

    while ((text = strstr(text, "]("))) {
        size_t length = strcspn(text += 2, "#) \n");
        if (length == 0 || strncmp(text, "http", 4) == 0)
            continue;
        const char *target =
            mvt_format("%s/%.*s/%.*s", MV_SOURCE_DIR, slash ? (int)(slash - path) : 1,
                       slash ? path : ".", (int)length, text);
        cr_expect(access(target, F_OK) == 0, "%s: no %.*s", path, (int)length, text);
        links++;
    }
    return links;
}

Test(readme, links_lead_to_files_and_every_page_is_listed)
{
    static const char *const folders[] = {"docs", "docs/guides", "docs/internals"};
    const char *list = page_text("docs/README.md"), *paths[128];
    unsigned links = check_links("README.md") + check_links("CONTRIBUTING.md");

    for (size_t f = 0; f < sizeof folders / sizeof *folders; f++) {
        size_t count = pages_of(folders[f], paths, sizeof paths / sizeof *paths);
        for (size_t i = 0; i < count; i++) {
            const char *name = paths[i] + strlen("docs/");
            links += check_links(paths[i]);
            cr_expect(strcmp(name, "README.md") == 0 || strstr(list, mvt_format("](%s)", name)),
                      "docs/README.md does not list %s", name);
        }
    }
    cr_expect_gt(links, 100);
}

/* Reads a PNG file as grey pixels. */
static uint8_t *read_png(mv_arena *arena, const char *path, png_image *png)
{
    *png = (png_image){.version = PNG_IMAGE_VERSION};
    cr_assert(png_image_begin_read_from_file(png, path), "%s: %s", path, png->message);
    png->format = PNG_FORMAT_GRAY;
    uint8_t *pixels = mv_arena_push(arena, PNG_IMAGE_SIZE(*png), 1);
    cr_assert(pixels && png_image_finish_read(png, NULL, pixels, 0, NULL), "%s", png->message);
    return pixels;
}

LongTest(readme, pictures_can_be_made_again)
{
    static const char start[] = "(`memviz ";
    unsigned pictures = 0;
    mv_arena *arena = mvt_memory();
    const char *text = page_text("README.md");

    while ((text = strstr(text, start))) {
        const char *end = strstr(text, "`)");
        cr_assert(end != NULL);
        /* In "(`memviz ARGUMENTS docs/pictures/NAME.png`)", the committed picture must equal the
         * one that the command draws. */
        const char *command = text + strlen(start);
        const char *output = strstr(command, " docs/pictures/");
        char shown[512], made[] = "/tmp/memviz-readme-XXXXXX.png";
        cr_assert(output && output < end);
        snprintf(shown, sizeof shown, "%s/%.*s", MV_SOURCE_DIR, (int)(end - output - 1),
                 output + 1);
        mv_span file = mvt_file(arena, shown);
        cr_expect_lt(file.length, 150000, "%s", shown);
        cr_assert_geq(mkstemps(made, 4), 0);
        mvt_run r = mvt_sh("cd %s && $MEMVIZ %.*s %s", MV_SOURCE_DIR, (int)(output - command),
                           command, made);
        cr_assert_eq(r.status, 0, "%s", r.err);
        /* Fonts differ between machines, so texts may differ, but shapes may not. */
        png_image a, b;
        const uint8_t *left = read_png(arena, shown, &a), *right = read_png(arena, made, &b);
        uint64_t different = 0;
        cr_assert(a.width == b.width && a.height == b.height, "%s has another size", shown);
        for (uint64_t i = 0; i < (uint64_t)a.width * a.height; i++)
            different += abs(left[i] - right[i]) > 24;
        cr_expect_lt(different, (uint64_t)a.width * a.height / 50, "%s: %lu pixels differ", shown,
                     (unsigned long)different);
        remove(made);
        pictures++;
        text = end;
    }
    cr_expect_geq(pictures, 3);
}
