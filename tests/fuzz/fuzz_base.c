/* libFuzzer target: any bytes, read as UTF-8 and as numbers, compared with other
 * implementations. Bytes after "DISK" are pushes and growths in an arena that uses a disk. */
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/numbers.h"
#include "base/size.h"
#include "base/utf8.h"
#include "tests/fuzz/target.h"

static void expect(bool holds)
{
    if (!holds)
        abort();
}

static void cut_and_tame(char *copy)
{
    uint64_t length = strlen(copy), cut = 0;

    for (uint64_t most = 0; most <= length + 1 && most < 64; most++) {
        uint64_t next = mv_utf8_cut(copy, most);
        uint64_t reach = most < length ? most : length;
        expect(next <= reach && next >= cut && reach - next < 4);
        cut = next;
    }
    expect(mv_utf8_count(copy, length) <= length);
    mv_utf8_sanitize(copy);
    expect(strlen(copy) <= length);
    for (const char *at = copy; *at;) {
        uint32_t code = mv_utf8_next_at(&at);
        expect(code != MV_UTF8_BAD && code >= 0x20 && code != 0x7f &&
               (code < 0x80 || code >= 0xa0));
    }
}

/* Grows a block, or begins a new one. New bytes must be zero, and old ones must be kept. */
static void *change(mv_arena *arena, unsigned char *block, uint64_t *bytes, uint64_t wanted)
{
    uint64_t kept = block ? *bytes : 0;
    unsigned char *grown = mv_arena_grow(arena, block, wanted);

    if (!grown)
        return block;
    expect(kept == 0 || (grown[0] == 0xee && grown[kept - 1] == 0xee));
    for (uint64_t i = kept; i < wanted; i += 4096)
        expect(grown[i] == 0);
    if (wanted > kept)
        memset(grown + kept, 0xee, wanted - kept);
    *bytes = wanted > kept ? wanted : kept;
    return grown;
}

static void use_disk(const uint8_t *data, size_t size)
{
    mv_disk disk;
    mv_budget budget = {.limit = 2 << 20, .disk = &disk};
    mv_arena arena;
    uint64_t bytes = 0;
    void *block = NULL;

    mv_disk_open(&disk, NULL, 16 << 20);
    mv_arena_init(&arena, &budget);
    for (size_t i = 0; i < size && i < 64; i++) {
        uint64_t wanted = ((uint64_t)data[i] + 1) << 13;
        if (data[i] % 8 == 0)
            mv_arena_file(&arena);
        else if (data[i] % 8 == 1)
            mv_arena_forget(&arena);
        else if (data[i] % 8 == 2)
            block = NULL;
        else
            block = change(&arena, block, &bytes, wanted);
    }
    mv_arena_release(&arena);
    expect(budget.used == 0 && disk.used == 0);
    mv_disk_close(&disk);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size + 1);

    if (!copy)
        return 0;
    if (size > 4 && memcmp(data, "DISK", 4) == 0)
        use_disk(data + 4, size - 4);
    if (size)
        memcpy(copy, data, size);
    copy[size] = 0;
    /* Every byte must belong to one character, and all readers must find the same characters. */
    mv_span text = {data, size};
    const char *in_copy = copy;
    for (uint64_t at = 0; at < text.length;) {
        uint64_t from = at;
        uint32_t length = mv_utf8_length(text, at), code = mv_utf8_next(text, &at);
        expect((code == MV_UTF8_BAD) == (length == 0));
        expect(at == from + (length ? length : 1) && at <= text.length);
        if (in_copy && text.data[from] == 0)
            in_copy = NULL; /* the NUL-terminated text ends here */
        if (in_copy) {
            expect(mv_utf8_length_at(in_copy) == length);
            expect(mv_utf8_next_at(&in_copy) == code && in_copy == copy + at);
        }
    }
    char again[MV_DIGITS + 2];
    uint64_t number, bytes;
    double value;
    if (mv_number_read(copy, &number)) {
        expect(mv_digits(again, number) <= strlen(copy));
        expect(number == strtoull(copy, NULL, 10));
        if (*copy != '0' || !copy[1]) {
            again[mv_digits(again, number)] = 0;
            expect(strcmp(again, copy) == 0);
        }
    }
    if (mv_number_read_double(copy, &value))
        expect(isfinite(value));
    if (mv_size_parse(copy, &bytes)) {
        char shown[MV_SIZE_TEXT];
        expect(strlen(mv_size_text(shown, bytes)) < MV_SIZE_TEXT);
    }
    cut_and_tame(copy);
    free(copy);
    return 0;
}
