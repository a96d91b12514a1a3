/* Line tables, compared with the interpreters that made them, and with tables that were written by
 * hand from the documented forms. */
#include "parse/symbols/python_lines.h"

#include "parse/model/trace.h"
#include "tests/fixture/fixture_pythons.h"
#include "tests/fixture/fixture_test.h"

enum { MOST_TABLE = 1 << 20, MOST_UNITS = 1 << 20 };

static uint8_t table[MOST_TABLE];
static uint32_t offsets[MOST_UNITS];
static int64_t want[MOST_UNITS], got[MOST_UNITS];

static uint32_t unhex(const char *text)
{
    uint32_t length = 0;
    unsigned byte;

    for (; *text != '-' && sscanf(text, "%2x", &byte) == 1; text += 2) {
        cr_assert_lt(length, MOST_TABLE);
        table[length++] = (uint8_t)byte;
    }
    return length;
}

static uint64_t numbers(const char *text)
{
    uint64_t count = 0;

    while (*text && *text != '\n') {
        char *end;
        cr_assert_lt(count, MOST_UNITS);
        offsets[count] = (uint32_t)count * 2;
        want[count] = strtoll(text, &end, 10);
        count++;
        text = *end == ' ' ? end + 1 : end;
    }
    return count;
}

static void check(const char *python, const mv_python_lines *code, uint64_t count)
{
    cr_assert(mv_python_lines_find(code, offsets, count, got), "%s: table is damaged", python);
    for (uint64_t i = 0; i < count; i++)
        cr_assert_eq(got[i], want[i], "%s: first line %d, offset %u: line %ld, not %ld", python,
                     code->first_line, offsets[i], (long)got[i], (long)want[i]);
}

/* Checks the line of every instruction in thousands of code objects. */
static unsigned compare_all(const char *python)
{
    FILE *in = mvt_python_open(python, "line_tables.py", "2500");
    size_t head_size = 0, lines_size = 0;
    char *head = NULL, *lines = NULL;
    unsigned codes = 0;

    while (getline(&head, &head_size, in) > 0 && getline(&lines, &lines_size, in) > 0) {
        mv_python_lines code = {0};
        int from = 0;
        cr_assert_eq(sscanf(head, "%u %d %n", &code.version, &code.first_line, &from), 2);
        code.table = (mv_span){table, unhex(head + from)};
        check(python, &code, numbers(lines));
        codes++;
    }
    free(head);
    free(lines);
    mvt_python_close(in, python);
    return codes;
}

LongTest(python_lines, lines_agree_with_every_interpreter)
{
    const char *pythons[MVT_MOST_PYTHONS];
    unsigned count = mvt_pythons(pythons);

    for (unsigned i = 0; i < count; i++) {
        unsigned codes = compare_all(pythons[i]);
        cr_assert_eq(codes, 2500, "%s: %u code objects", pythons[i], codes);
    }
}

/* Finds the lines at `count` offsets in a table given as bytes; -1: no line. */
#define expect_lines(python_version, first, bytes, at, lines)                                  \
    expect_table((python_version), (first), (const uint8_t *)(bytes), sizeof(bytes) - 1, (at), \
                 (lines), sizeof(at) / sizeof(at)[0])

static void expect_table(uint32_t version, int32_t first, const uint8_t *bytes, size_t length,
                         const uint32_t *at, const int64_t *lines, size_t count)
{
    mv_python_lines code = {version, first, {bytes, length}};

    cr_assert(mv_python_lines_find(&code, at, count, got));
    for (size_t i = 0; i < count; i++)
        cr_expect_eq(got[i], lines[i], "version %x, offset %u: line %ld, not %ld", version, at[i],
                     (long)got[i], (long)lines[i]);
}

/* Objects/lnotab_notes.txt: code 0, 6, 50, 350, 361 at lines 1, 2, 7, 207, 208 is
 * 0,1? 6,1 44,5 255,0 45,127 0,73 11,1 as pairs. */
Test(python_lines, the_example_of_the_lnotab_notes_is_read)
{
    uint32_t at[] = {0, 5, 6, 49, 50, 349, 350, 360, 361, 5000};
    int64_t lines[] = {1, 1, 2, 2, 7, 7, 207, 207, 208, 208};

    expect_lines(0x308, 1, "\6\1\54\5\377\0\55\177\0\111\13\1", at, lines);
    expect_lines(0x309, 1, "\6\1\54\5\377\0\55\177\0\111\13\1", at, lines);
}

Test(python_lines, lnotab_lines_may_decrease)
{
    uint32_t at[] = {0, 2, 4};
    int64_t lines[] = {300, 170, 171};

    expect_lines(0x309, 300, "\2\200\0\376\2\1", at, lines);
}

/* Deltas of 0 code change only the line; -128 is code without a line, which the next
 * delta ignores. */
Test(python_lines, line_tables_of_3_10_are_read)
{
    uint32_t at[] = {0, 4, 6, 8, 12, 14};
    int64_t lines[] = {11, 11, MV_NO_LINE, 200, 198, MV_NO_LINE};

    expect_lines(0x30a, 10, "\6\1\2\200\0\177\2\76\4\376", at, lines);
}

/* One of each form, InternalDocs/code_objects.md: short (0, one unit), one line (12: +2, two
 * units), no columns (13: -1), long (14: +64, a varint of two bytes), none (15). */
Test(python_lines, locations_of_3_11_are_read)
{
    uint32_t at[] = {0, 2, 5, 6, 8, 10, 12};
    int64_t lines[] = {10, 12, 12, 11, 75, MV_NO_LINE, MV_NO_LINE};
    uint32_t end[] = {0, 2};
    int64_t same[] = {10, 10};

    expect_lines(0x30b, 10, "\200\21\341\0\5\350\3\360\100\2\0\1\1\370", at, lines);
    expect_lines(0x30e, 10, "\201\21", end, same);
}

Test(python_lines, without_a_table_there_are_no_lines)
{
    uint32_t at[] = {0, 100};
    int64_t first[] = {7, 7}, none[] = {MV_NO_LINE, MV_NO_LINE};

    expect_lines(0x308, 7, "", at, first);
    expect_lines(0x30a, 7, "", at, none);
    expect_lines(0x30d, 7, "", at, none);
}

Test(python_lines, a_damaged_table_keeps_its_earlier_lines)
{
    uint32_t at[] = {0, 2};
    mv_python_lines odd_pairs = {0x30a, 5, {(const uint8_t *)"\2\1\2", 3}};
    mv_python_lines headless = {0x30b, 5, {(const uint8_t *)"\200\21\21", 3}};
    mv_python_lines cut = {0x30c, 5, {(const uint8_t *)"\200\21\350\177", 4}};
    mv_python_lines endless = {
        0x30c, 5, {(const uint8_t *)"\200\21\350\177\177\177\177\177\177\1", 10}};
    mv_python_lines future = {0x401, 5, {(const uint8_t *)"\200\21", 2}};
    const mv_python_lines *damaged[] = {&odd_pairs, &cut, &endless};

    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        cr_expect_not(mv_python_lines_find(damaged[i], at, 2, got), "table %zu", i);
        cr_expect_eq(got[0], damaged[i]->version == 0x30a ? 6 : 5);
        cr_expect_eq(got[1], MV_NO_LINE);
    }
    cr_expect(mv_python_lines_find(&headless, at, 2, got), "bytes without a head are skipped");
    cr_expect_not(mv_python_lines_find(&future, at, 2, got));
    cr_expect_eq(got[0], MV_NO_LINE);
}

/* Random bytes: no crash, and only possible lines. */
Test(python_lines, random_bytes_give_no_false_line)
{
    static const uint32_t versions[] = {0x308, 0x309, 0x30a, 0x30b, 0x30c, 0x30d, 0x30e};
    uint64_t state = 12345;

    for (int round = 0; round < 5000; round++) {
        uint32_t length = round % 97;
        for (uint32_t i = 0; i < length; i++)
            table[i] = (uint8_t)mvt_random(&state, 256);
        for (uint32_t i = 0; i < 64; i++)
            offsets[i] = i * (1 + round % 9);
        mv_python_lines code = {versions[round % 7], round - 100, {table, length}};
        mv_python_lines_find(&code, offsets, 64, got);
        for (uint32_t i = 0; i < 64; i++)
            cr_assert_geq(got[i], MV_NO_LINE);
    }
}
