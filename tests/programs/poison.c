/* Copies a file of any format with every string made hostile, for scripts/attack/names:
 *
 *     poison NAMES IN OUT...    NAMES: a file, a hostile name a line, as hexadecimal digits. OUT
 * ends in .bin, .msgpack, .plain.msgpack, .pickle or .cpp.pickle */

#include "tests/fixture/fixture.h"
#include "tests/names/fixture_poison.h"

enum { MOST_NAMES = 256 };

static uint32_t read_names(mv_arena *arena, const char *path, mv_span *names)
{
    mv_span file = mvt_file(arena, path);
    uint8_t *bytes = mv_arena_push(arena, file.length + 1, 1);
    static const char digits[] = "0123456789abcdef";
    uint64_t used = 0, start = 0;
    uint32_t count = 0;

    for (uint64_t at = 0; bytes && at < file.length && count < MOST_NAMES; at++) {
        const char *digit = strchr(digits, file.data[at]);
        if (file.data[at] == '\n') {
            names[count++] = (mv_span){bytes + start, used - start};
            start = used;
        } else if (digit && at + 1 < file.length) {
            const char *low = strchr(digits, file.data[++at]);
            bytes[used++] = (uint8_t)((digit - digits) << 4 | (low ? low - digits : 0));
        }
    }
    return count;
}

static mv_span bytes_of(mv_arena *arena, const mv_trace *t, const char *path)
{
    if (mv_text_has_ending(path, ".msgpack"))
        return mvt_plain_of(arena, t);
    if (mv_text_has_ending(path, ".pickle"))
        return mvt_pickle_of(arena, t, mv_text_has_ending(path, ".cpp.pickle"));
    return mvt_snapshot_of(arena, t);
}

int main(int count, char **words)
{
    mv_arena *arena = mvt_memory();
    mv_span names[MOST_NAMES];
    mv_read_opts opts = {0};
    mv_trace trace;

    if (count < 4)
        return 2;
    uint32_t found = read_names(arena, words[1], names);
    if (mv_trace_read(arena, words[2], &opts, &trace, mvt_err()) != MV_OK) {
        fprintf(stderr, "poison: %s: %s\n", words[2], mvt_err()->detail);
        return 1;
    }
    mvt_poison(arena, &trace, names, found, false);
    for (int i = 3; i < count; i++) {
        mv_span bytes = bytes_of(arena, &trace, words[i]);
        FILE *out = fopen(words[i], "wb");
        if (!out || fwrite(bytes.data, 1, bytes.length, out) != bytes.length || fclose(out) != 0) {
            perror(words[i]);
            return 1;
        }
    }
    return 0;
}
