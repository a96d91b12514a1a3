/* The words used in the reports. `memviz help terms`, completion and docs/glossary.md all come from
 * this one table (MV_BLESS=1 test_terms writes the glossary). To add a word, add a row to terms.c,
 * in alphabetical order. */
#pragma once

#include "cli/report/out.h"

typedef struct {
    const char *name;    /* one word, with a hyphen instead of a blank, or a word used in JSON */
    const char *meaning; /* explanation in one or two sentences */
} mv_term;

extern const mv_term mv_terms[]; /* ends with a NULL name */

/* Returns the term with this name, or NULL if there is none. */
const mv_term *mv_term_find(const char *name);

/* Prints one term, or all of them. */
void mv_term_put(mv_out *out, const mv_term *term);
void mv_terms_put(mv_out *out);
