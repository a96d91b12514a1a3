#include "base/nearest.h"

#include <stdbool.h>
#include <string.h>

#define LONGEST 31

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

uint32_t mv_word_distance(const char *a, const char *b)
{
    uint32_t table[LONGEST + 1][LONGEST + 1];
    uint32_t m = (uint32_t)strlen(a), n = (uint32_t)strlen(b);

    if (m > LONGEST || n > LONGEST)
        return UINT32_MAX;
    for (uint32_t i = 0; i <= m; i++)
        table[i][0] = i;
    for (uint32_t j = 0; j <= n; j++)
        table[0][j] = j;
    for (uint32_t i = 1; i <= m; i++) {
        for (uint32_t j = 1; j <= n; j++) {
            bool same = a[i - 1] == b[j - 1];
            uint32_t best = least(table[i - 1][j], table[i][j - 1]) + 1;
            best = least(best, table[i - 1][j - 1] + !same);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = least(best, table[i - 2][j - 2] + 1);
            table[i][j] = best;
        }
    }
    return table[m][n];
}

/* A word is near if it differs by one letter or, if the typed word is long, by up to a third of its
 * letters. A word is also near if it begins with the typed word. */
void mv_nearest_try(mv_nearest *nearest, const char *typed, const char *word)
{
    uint32_t typed_length = (uint32_t)strlen(typed);
    uint32_t distance = mv_word_distance(typed, word);
    uint32_t most = typed_length / 3 > 1 ? typed_length / 3 : 1;

    if (typed_length >= 2 && strncmp(typed, word, typed_length) == 0)
        distance = 1;
    if (distance > most || (nearest->word && distance >= nearest->distance))
        return;
    *nearest = (mv_nearest){.word = word, .distance = distance};
}
