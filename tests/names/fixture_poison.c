#include "tests/names/fixture_poison.h"

#include "tests/fixture/fixture_test.h"

static char *put(char *to, mv_span from)
{
    memcpy(to, from.data, from.length);
    return to + from.length;
}

void mvt_poison(mv_arena *arena, mv_trace *t, const mv_span *harms, uint32_t count,
                bool all_strings)
{
    const mv_strings s = t->strings;
    bool *kept = mv_push_array(arena, bool, s.count + 1);
    uint64_t *starts = mv_push_array(arena, uint64_t, (uint64_t)s.count + 1);
    uint64_t room = s.at[s.count] + 1;
    char *bytes, *to;

    for (uint32_t i = 0; i < s.count; i++)
        room += 2 * harms[i % count].length;
    bytes = to = mv_push_array(arena, char, room);
    cr_assert(kept && starts && bytes);
    if (!all_strings) {
        for (uint32_t j = 0; j < t->facts.count; j++)
            kept[t->facts.key[j].row] = true;
        for (uint32_t j = 0; j < t->settings.count; j++) {
            kept[t->settings.key[j].row] = true;
            if (t->settings.parent[j].row != MV_NO_ROW)
                kept[t->settings.parent[j].row] = true;
        }
    }
    for (uint32_t i = 0; i < s.count; i++) {
        mv_span harm = kept[i] ? (mv_span){(const uint8_t *)"", 0} : harms[i % count];
        starts[i] = (uint64_t)(to - bytes);
        to = put(to, harm);
        to = put(to, (mv_span){(const uint8_t *)s.bytes + s.at[i], s.at[i + 1] - s.at[i] - 1});
        to = put(to, harm);
        *to++ = 0;
    }
    starts[s.count] = (uint64_t)(to - bytes);
    t->strings = (mv_strings){.count = s.count, .at = starts, .bytes = bytes};
}
