/* Finds the known word that is nearest to a mistyped word. */
#pragma once

#include <stdint.h>

/* Returns the number of edits between two words. An edit adds, drops or changes a letter, or swaps
 * two neighbouring letters. Words longer than 31 letters count as far apart. */
uint32_t mv_word_distance(const char *a, const char *b);

/* The best candidate so far. Must be zeroed before the first word is tried. */
typedef struct {
    const char *word; /* nearest word; NULL: no word is near enough */
    uint32_t distance;
} mv_nearest;

void mv_nearest_try(mv_nearest *nearest, const char *typed, const char *word);
