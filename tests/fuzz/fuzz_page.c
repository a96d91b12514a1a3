/* libFuzzer target: any bytes as a page that contains a snapshot. Bytes that are not a page are
 * read as the contents of its base64. */

#include "tests/fuzz/target.h"

#include <stdlib.h>

/* Errors in compressed contents have offsets in the unpacked bytes, not in the page. */
static bool is_compressed(const uint8_t *data, size_t size)
{
    return size >= 4 &&
           (memcmp(data, "\x1f\x8b", 2) == 0 || memcmp(data, "\x28\xb5\x2f\xfd", 4) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (is_compressed(data, size))
        return 0;
    if (mv_page_probe((mv_span){data, size}))
        return mvt_one_input(data, size, mv_page_read);
    static const char head[] = "<!{\"base64\":\"", digits[] =
                                                       "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                       "abcdefghijklmnopqrstuvwxyz0123456789+/";
    uint8_t *page = malloc(sizeof head + size * 4 / 3 + 8);
    size_t at = sizeof head - 1;
    if (!page)
        return 0;
    memcpy(page, head, at);
    for (size_t i = 0; i < size; i += 3) {
        uint32_t bits = (uint32_t)data[i] << 16 | (i + 1 < size ? (uint32_t)data[i + 1] << 8 : 0u) |
                        (i + 2 < size ? data[i + 2] : 0u);
        for (int shift = 18; shift >= 0; shift -= 6)
            page[at++] = (uint8_t)digits[bits >> shift & 63];
    }
    page[at++] = '"';
    int result = mvt_one_input(page, at, mv_page_read);
    free(page);
    return result;
}
