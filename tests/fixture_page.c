/* Pages as _format_viz() of torch/cuda/_memory_viz.py writes them. */
#include "tests/fixture.h"

#include <criterion/criterion.h>

static const char before[] = "\n<!DOCTYPE html>\n<html>\n<head>\n</head>\n<body>\n"
                             "<script type=\"module\">\n"
                             "import {add_local_files} from \"https://example.org/MemoryViz.js\"\n"
                             "const local_files = [{\"name\": \"snapshot.pickle\", \"base64\": \"";
static const char after[] = "\"}]\nadd_local_files(local_files, 'Active Memory Timeline')\n"
                            "</script>\n</body>\n";

static char letter_of(uint32_t digit)
{
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[digit & 63];
}

/* The data is filled with NULs up to the next multiple of three, so no letter is '='. */
mv_span mvt_page_of(mv_arena *arena, mv_span pickle)
{
    uint64_t groups = pickle.length / 3 + 1, length = sizeof before - 1;
    char *page = mv_arena_push(arena, sizeof before + sizeof after + groups * 4, 1);

    cr_assert_not_null(page);
    memcpy(page, before, length);
    for (uint64_t i = 0; i < groups * 3; i += 3) {
        uint32_t bits = 0;
        for (uint64_t k = i; k < i + 3; k++)
            bits = bits << 8 | (k < pickle.length ? pickle.data[k] : 0u);
        for (int shift = 18; shift >= 0; shift -= 6)
            page[length++] = letter_of(bits >> shift);
    }
    memcpy(page + length, after, sizeof after - 1);
    return (mv_span){(const uint8_t *)page, length + sizeof after - 1};
}

mv_span mvt_page_bytes(mvt_trace *t)
{
    return mvt_page_of(mvt_arena(t), mvt_pickle_bytes(t, false));
}
