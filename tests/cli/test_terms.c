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
    mvt_run all = mvt_here("$MEMVIZ help terms"), one = mvt_here("$MEMVIZ help terms stranded");

    cr_assert_eq(all.status, 0);
    for (const mv_term *t = mv_terms; t->name; t++)
        cr_assert_not_null(strstr(all.out, mvt_format("  %s ", t->name)), "%s", t->name);
    cr_assert_eq(one.status, 0);
    cr_assert_eq(strncmp(one.out, "  stranded  ", 12), 0, "%s", one.out);
    mvt_warns("$MEMVIZ help terms strandd", 2, "did you mean 'stranded'?");
    mvt_warns("$MEMVIZ help info x", 2, "");
}

#define HEAD                                                                   \
    "# Glossary\n\n"                                                           \
    "Terms used in the reports. `memviz help terms` prints all of them,\n"     \
    "`memviz help terms TERM` one. This page is generated from the table in\n" \
    "`cli/terms.c` by `MV_BLESS=1 test_terms`.\n\n"                            \
    "| term | meaning |\n|---|---|\n"

/* MV_BLESS=1 writes docs/glossary.md. */
Test(terms, the_glossary_has_all_terms)
{
    const char *made = HEAD;

    for (const mv_term *t = mv_terms; t->name; t++)
        made = mvt_format("%s| %s | %s |\n", made, t->name, t->meaning);
    mvt_expect_page(MV_SOURCE_DIR "/docs/glossary.md", NULL, NULL, made);
}
