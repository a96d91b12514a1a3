/* The terms that reports use: the table, the command that prints it, and docs/glossary.md. */
#include "cli/terms.h"

#include <ctype.h>

#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_program.h"

Test(terms, terms_are_in_alphabetical_order)
{
    for (const mv_term *t = mv_terms; t->name; t++) {
        cr_assert_eq(strspn(t->name, "abcdefghijklmnopqrstuvwxyz-_"), strlen(t->name), "%s",
                     t->name);
        if (t[1].name)
            cr_assert_lt(strcmp(t->name, t[1].name), 0, "%s, %s", t->name, t[1].name);
        cr_assert_eq(mv_term_find(t->name), t);
    }
    cr_assert_null(mv_term_find("no-such-term"));
}

Test(terms, terms_are_explained_in_one_to_three_sentences)
{
    for (const mv_term *t = mv_terms; t->name; t++) {
        size_t length = strlen(t->meaning);
        unsigned sentences = 0;
        for (size_t i = 0; i < length; i++)
            sentences += t->meaning[i] == '.' && (i + 1 == length || t->meaning[i + 1] == ' ');
        cr_assert(isupper((unsigned char)*t->meaning) || isdigit((unsigned char)*t->meaning));
        cr_assert_eq(t->meaning[length - 1], '.', "%s", t->name);
        cr_assert(sentences >= 1 && sentences <= 3, "%s: %u", t->name, sentences);
    }
}

Test(terms, help_prints_all_or_one)
{
    mvt_run all = mvt_here_or_sh("$MEMVIZ help terms"),
            one = mvt_here_or_sh("$MEMVIZ help terms stranded"),
            none = mvt_here_or_sh("$MEMVIZ help terms strandd"),
            more = mvt_here_or_sh("$MEMVIZ help info x");

    cr_assert_eq(all.status, 0);
    for (const mv_term *t = mv_terms; t->name; t++) {
        const char *line = mvt_format("  %s ", t->name);
        cr_assert_not_null(strstr(all.out, line), "%s", t->name);
    }
    cr_assert_eq(one.status, 0);
    cr_assert_eq(strncmp(one.out, "  stranded  ", 12), 0, "%s", one.out);
    cr_assert_eq(none.status, 2);
    cr_assert_not_null(strstr(none.err, "did you mean 'stranded'?"), "%s", none.err);
    cr_assert_eq(more.status, 2);
}

#define HEAD                                                                   \
    "# Glossary\n\n"                                                           \
    "Terms used in the reports. `memviz help terms` prints all of them,\n"     \
    "`memviz help terms TERM` one. This page is generated from the table in\n" \
    "`cli/terms.c` by `MV_BLESS=1 test_terms`.\n\n"                            \
    "| term | meaning |\n|---|---|\n"

static char *glossary(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    fputs(HEAD, out);
    for (const mv_term *t = mv_terms; t->name; t++)
        fprintf(out, "| %s | %s |\n", t->name, t->meaning);
    fclose(out);
    return text;
}

/* MV_BLESS=1 writes docs/glossary.md. */
Test(terms, the_glossary_has_all_terms)
{
    char *made = glossary();

    mvt_expect_page(MV_SOURCE_DIR "/docs/glossary.md", NULL, NULL, made);
    free(made);
}
