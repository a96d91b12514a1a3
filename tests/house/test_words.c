/* Words that make readers stop: those that an engineer has to translate, and those that half of all
 * readers take for their opposite. They are kept out of code, comments, messages and pages;
 * testdata is other people's. */
#include "tests/fixture/fixture_test.h"
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_LENGTH = 1024, MOST_BYTES = 1 << 20 };

/* What not to say, and what to say. The stars keep this file from finding itself. */
static const struct {
    const char *word, *better;
} words[] = {
    {"beh*ind", "after, below, under"},
    {"ahe*ad", "before, in front of"},
    {"for wa*nt", "because there is no"},
    {"nob*ody", "no one"},
    {"someb*ody", "someone"},
    {"sta*nds", "is, means"},
    {"goes o*n", "continues"},
    {"where*at", "where"},
    {"there*in", "in it"},
    {"there*of", "of it"},
    {"there*by", "so"},
    {"here*by", "so"},
    {"whe*nce", "from where"},
    {"be*twixt", "between"},
    {"parts fr*om", "differs from"},
    {"is no mo*ment", "does not name a moment"},
    {"in its own ri*ght", "by itself"},
    {"Of t*he", "a sentence that begins with its subject"},
    {"Of w*hat", "a sentence that begins with its subject"},
    {"Of t*wo", "a sentence that begins with its subject"},
    {"Of a*ll", "a sentence that begins with its subject"},
    {"Of th*ese", "a sentence that begins with its subject"},
};
enum { WORDS = sizeof words / sizeof *words };

static void without_star(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%.*s%s", (int)strcspn(from, "*"), from, strchr(from, '*') + 1);
}

/* Whether `text` begins with the word; a capital of the word is a capital of the text. */
static bool has_here(const char *text, const char *word)
{
    for (; *word; word++, text++)
        if (*text != *word &&
            (isupper((unsigned char)*word) || tolower((unsigned char)*text) != *word))
            return false;
    return !isalpha((unsigned char)*text);
}

/* The first of the words in a line, which a letter does not precede; -1: none. */
static int word_in(const char *line)
{
    char word[32];

    for (int i = 0; i < WORDS; i++) {
        without_star(word, sizeof word, words[i].word);
        for (const char *at = line; *at; at++)
            if ((at == line || !isalpha((unsigned char)at[-1])) && has_here(at, word))
                return i;
    }
    return -1;
}

static bool is_read(const char *name)
{
    static const char *const endings[] = {".c",  ".h", ".def", ".md", ".js",  ".cjs", ".css",
                                          ".py", ".S", ".1",   ".cu", ".txt", ".sh",  ".cmake"};
    const char *dot = strrchr(name, '.');

    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (strcmp(dot, endings[i]) == 0)
            return true;
    return !dot && strcmp(name, "LICENSE") != 0; /* scripts */
}

static unsigned check_file(const char *path, char *report, size_t size)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0;
    unsigned found = 0;

    cr_assert_not_null(file, "%s", path);
    for (int number = 1; getline(&line, &capacity, file) >= 0; number++) {
        int i = word_in(line);
        size_t length = strlen(report);
        if (i < 0)
            continue;
        found++;
        snprintf(report + length, size - length, "%s:%d: %.*s (better: %s)\n",
                 path + strlen(MV_SOURCE_DIR) + 1, number,
                 (int)strcspn(line + strspn(line, " "), "\n"), line + strspn(line, " "),
                 words[i].better);
    }
    free(line);
    fclose(file);
    return found;
}

static unsigned walk(const char *folder, char *report, size_t size)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    unsigned found = 0;

    cr_assert_not_null(dir, "%s", folder);
    while ((entry = readdir(dir))) {
        const char *name = entry->d_name;
        char path[PATH_LENGTH];
        struct stat st;
        if (name[0] == '.' || strcmp(name, "build") == 0 || strcmp(name, "testdata") == 0)
            continue;
        cr_assert_lt(snprintf(path, sizeof path, "%s/%s", folder, name), (int)sizeof path);
        if (lstat(path, &st) != 0 || S_ISLNK(st.st_mode))
            continue;
        if (S_ISDIR(st.st_mode))
            found += walk(path, report, size);
        else if (is_read(name) && st.st_size < MOST_BYTES)
            found += check_file(path, report, size);
    }
    closedir(dir);
    return found;
}

LongTest(words, project_speaks_plain_english)
{
    static char report[64 << 10];
    unsigned found = walk(MV_SOURCE_DIR, report, sizeof report);

    cr_assert_eq(found, 0, "%u lines:\n%s", found, report);
}

/* What word the first of the list is, so that this file does not have it. */
Test(words, a_word_is_found_as_a_whole)
{
    char word[32], line[128];

    for (int i = 0; i < WORDS; i++) {
        without_star(word, sizeof word, words[i].word);
        snprintf(line, sizeof line, "/* %s it */", word);
        cr_assert_eq(word_in(line), i, "%s", line);
        snprintf(line, sizeof line, "mv_event_%s(x)", word);
        cr_assert_eq(word_in(line), i, "%s", line);
        snprintf(line, sizeof line, "%sx and x%s", word, word);
        cr_assert_eq(word_in(line), -1, "%s", line);
    }
    cr_assert_eq(word_in("of the two, of what is left"), -1);
}
