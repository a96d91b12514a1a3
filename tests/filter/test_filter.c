/* Filters: valid terms, the errors for invalid ones, and the matching allocations, compared with a
 * slow and simple version. */
#include <ctype.h>
#include <regex.h>

#include "analyze/code/sites.h"
#include "analyze/filter/filter.h"
#include "analyze/filter/site_words.h"
#include "analyze/peak/category.h"
#include "tests/fixture/fixture_heap.h"
#include "tests/fixture/fixture_training.h"

static mv_filter read_filter(mv_arena *arena, const char *text)
{
    char why[MV_FILTER_WHY] = "";
    mv_filter filter;

    cr_assert(mv_filter_read(arena, text, &filter, why), "%s: %s", text, why);
    return filter;
}

/* ---- the terms --------------------------------------------------------------------------- */

Test(filter, every_kind_of_term_is_read)
{
    mv_filter f = read_filter(mvt_memory(),
                              " Forward \"a B\" /x y\\/z/ -size>64M life<=10 stream:0x10 pool:1,0 "
                              "addr:0x7f00 leak cat:optimizer -\"leak\" -leak ");

    cr_assert_eq(f.count, 12);
    cr_assert_eq(f.terms[0].kind, MV_FILTER_TEXT);
    cr_assert_str_eq(f.terms[0].text, "forward");
    cr_assert_str_eq(f.terms[1].text, "a b");
    cr_assert_eq(f.terms[2].kind, MV_FILTER_REGEX);
    cr_assert(f.terms[3].kind == MV_FILTER_SIZE && f.terms[3].is_negated);
    cr_assert_eq(f.terms[3].least, (64 << 20) + 1);
    cr_assert_eq(f.terms[3].most, UINT64_MAX);
    cr_assert(f.terms[4].kind == MV_FILTER_LIFE && f.terms[4].most == 10);
    cr_assert(f.terms[5].kind == MV_FILTER_STREAM && f.terms[5].least == 16 &&
              f.terms[5].most == 16);
    cr_assert(f.terms[6].kind == MV_FILTER_POOL && f.terms[6].pool[0] == 1 &&
              f.terms[6].pool[1] == 0);
    cr_assert(f.terms[7].kind == MV_FILTER_ADDR && f.terms[7].least == 0x7f00);
    cr_assert(f.terms[8].kind == MV_FILTER_LEAK && !f.terms[8].is_negated);
    cr_assert(f.terms[9].kind == MV_FILTER_CATEGORY);
    cr_assert(f.terms[10].kind == MV_FILTER_TEXT && f.terms[10].is_negated);
    cr_assert(f.terms[11].kind == MV_FILTER_LEAK && f.terms[11].is_negated);
    cr_assert(f.has_stacks && f.has_leaks && f.has_categories);
}

Test(filter, words_that_look_like_terms_are_text)
{
    static const char *const texts[] = {"train.py:62", "sizes>3",  "leaks",      "leaky:3",
                                        "resize",      "a/b/c.py", "torch::add", "pool",
                                        "nostacks",    "site",     "stacks:1",   "stack"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        mv_filter f = read_filter(mvt_memory(), texts[i]);
        cr_assert(f.count == 1 && f.terms[0].kind == MV_FILTER_TEXT, "%s", texts[i]);
        cr_assert_str_eq(f.terms[0].text, texts[i]);
    }
}

Test(filter, wrong_words_are_named_with_their_place)
{
    static const struct {
        const char *text;
        uint32_t at;
        const char *says;
    } wrong[] = {
        {"a size>x", 7, "at character 8: expected bytes"},
        {"size", UINT32_MAX, ""},
        {"size>", 5, "such as size>64M"},
        {"size<>4", 5, "expected bytes"},
        {"life<1.5", 5, "number of events"},
        {"life<-1", 5, "number of events"},
        {"stream>3", 0, "stream:0"},
        {"stream:99999999999999999999999", 7, "number after stream"},
        {"pool:1", 5, "pool:1,0"},
        {"pool:1,", 5, "pool:1,0"},
        {"pool:1,2,3", 5, "pool:1,0"},
        {"addr:0x", 5, "address"},
        {"addr:7f12", 5, "address"},
        {"cat:optimiser", 4, "optimizer_state"},
        {"cat:\"\"", 4, "nothing between"},
        {"site:", 5, "site:train.py:62"},
        {"site>3", 0, "site:train.py:62"},
        {"stack:x", 6, "stack:17"},
        {"life:neve", 5, "number of events"},
        {"pool:unknow", 5, "pool:1,0"},
        {"leak:0", 5, "from 1"},
        {"leak:x", 5, "from 1"},
        {"leak:2", UINT32_MAX, ""},
        {"like:", 5, "like:17"},
        {"like:x", 5, "like:17"},
        {"block:3,5-9", UINT32_MAX, ""},
        {"block:3,", 6, "rows of blocks in rising order"},
        {"block:3-2", 6, "rows of blocks in rising order"},
        {"block:3-5,5", 6, "rows of blocks in rising order"},
        {"block:-", 6, "rows of blocks in rising order"},
        {"block:18446744073709551615,1", 6, "rows of blocks in rising order"},
        {"cat:cuBLAS", 4, "expected a category"},
        {"cat:\"cuBLAS\"", UINT32_MAX, ""},
        {"\"ab", 0, "no closing quotation mark"},
        {"x \"ab\"c", 6, "expected a blank"},
        {"\"\"", 0, "nothing between"},
        {"/home/me/train.py", 0, "no closing '/'"},
        {"//", 0, "is empty"},
        {"/a\\/", 0, "no closing '/'"},
        {"/(a/", 0, "at character 1: "},
        {"/[a/", 0, "at character 1: "},
        {"a -", 2, "after the '-'"},
        {"- a", 0, "after the '-'"},
        {"\xc3\xa4\xc3\xb6 size>x", 10, "at character 9: expected bytes"},
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char why[MV_FILTER_WHY] = "";
        mv_filter f;
        bool is_good = mv_filter_read(mvt_memory(), wrong[i].text, &f, why);
        cr_assert_eq(is_good, wrong[i].at == UINT32_MAX, "%s", wrong[i].text);
        if (is_good)
            continue;
        cr_assert_eq(f.bad_at, wrong[i].at, "%s: %u", wrong[i].text, f.bad_at);
        cr_assert(strstr(why, wrong[i].says), "%s: %s", wrong[i].text, why);
    }
}

/* An expression that would take all memory is not expanded. */
Test(filter, expressions_that_explode_are_refused)
{
    static const char *const wrong[] = {
        "/((a{99}){99}){99}/",
        "/a{1000}{1000}/",
        "/(a*)*\\1/",
        "/a{99999999999999999999}/",
        "/((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((a/",
        "/[[:a/",
        "/(a|b{3000})/",
    };
    static const char *const good[] = {"/[0-9]{4}-[0-9]{2}/",
                                       "/((((((a+)+)+)+)+)+)+b/",
                                       "/a{2,}/",
                                       "/[]+(]+[)]/",
                                       "/[^]{9999}]/",
                                       "/^$/",
                                       "/a|b|/",
                                       "/()/"};
    mv_arena *arena = mvt_memory();
    char text[5000] = "/", why[MV_FILTER_WHY];
    mv_filter f;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_assert_not(mv_filter_read(arena, wrong[i], &f, why), "%s", wrong[i]);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        read_filter(arena, good[i]);
    memset(text + 1, 'a', sizeof text - 3);
    text[sizeof text - 2] = '/';
    cr_assert_not(mv_filter_read(arena, text, &f, why));
    cr_assert(strstr(why, "longer than 1000"));
    for (int i = 0; i < 65; i++)
        memcpy(text + 2 * i, "a ", 3);
    cr_assert_not(mv_filter_read(arena, text, &f, why));
    cr_assert_eq(f.bad_at, 128);
}

/* Any bytes are either a filter or refused with a sentence; this test accepts both. */
Test(filter, any_bytes_are_safe)
{
    static const char letters[] = "\"/-\\()[]{}*+?|^$.:=<>0129ax \t\xc3\xbc\xff,sizelfetrampoolck";
    uint64_t state = 7;
    char text[48];

    for (uint32_t round = 0; round < 20000; round++) {
        char why[MV_FILTER_WHY] = "";
        mv_filter f;
        uint32_t length = mvt_random(&state, sizeof text - 1);
        for (uint32_t i = 0; i < length; i++)
            text[i] = letters[mvt_random(&state, sizeof letters - 1)];
        text[length] = 0;
        if (!mv_filter_read(mvt_memory(), text, &f, why)) {
            cr_assert(f.bad_at <= length, "%s", text);
            cr_assert(strncmp(why, "at character ", 13) == 0, "%s", text);
        }
        mv_arena_release(mvt_memory());
    }
}

/* ---- matches: a few by hand ----------------------------------------------------------------- */

static uint32_t count_matches(mvt_trace *t, const mv_trace *trace, const char *text)
{
    mv_filter filter = read_filter(mvt_arena(t), text);
    mv_filter_bits bits;
    mv_lives lives = mvt_lives(mvt_arena(t), trace, 0);

    mvt_ok(mv_filter_allocs(mvt_arena(t), trace, &lives, NULL, &filter, &bits, mvt_err()));
    return bits.matches;
}

Test(filter, terms_on_stacks_match_the_right_blocks)
{
    mvt_trace *t = mvt_new();

    mvt_alloc(t, .addr = 0x1000, .bytes = 512, .stack = "Forward:/w/net.py:12;main:/w/train.py:7");
    mvt_alloc(t, .addr = 0x2000, .bytes = 700,
              .stack = "load data:/w/data.py:3;main:/w/train.py:8");
    mvt_alloc(t, .addr = 0x3000, .bytes = 9);
    const mv_trace *trace = mvt_done(t);
    cr_assert_eq(count_matches(t, trace, ""), 3);
    cr_assert_eq(count_matches(t, trace, "forWARD"), 1);
    cr_assert_eq(count_matches(t, trace, "train.py:7:main"), 1);
    cr_assert_eq(count_matches(t, trace, "train.py"), 2);
    cr_assert_eq(count_matches(t, trace, "-train.py"), 1);
    cr_assert_eq(count_matches(t, trace, "\"load data\""), 1);
    cr_assert_eq(count_matches(t, trace, "load data"), 1);
    cr_assert_eq(count_matches(t, trace, "main -data"), 1);
    cr_assert_eq(count_matches(t, trace, "/^\\/w\\/[a-t]*\\.py:[0-9]+:[A-Z]/"), 1);
    cr_assert_eq(count_matches(t, trace, "/forward/"), 0);
    cr_assert_eq(count_matches(t, trace, "-/forward/"), 3);
    cr_assert_eq(count_matches(t, trace, "size>512"), 1);
    cr_assert_eq(count_matches(t, trace, "size=512"), 2);
    cr_assert_eq(count_matches(t, trace, "size:0.5k"), 2);
    cr_assert_eq(count_matches(t, trace, "size<0"), 0);
    cr_assert_eq(count_matches(t, trace, "-size<0"), 3);
    cr_assert_eq(count_matches(t, trace, "addr:0x10ff"), 1);
    cr_assert_eq(count_matches(t, trace, "addr:0x11ff"), 1);
    cr_assert_eq(count_matches(t, trace, "addr:0x1200"), 0);
    cr_assert_eq(count_matches(t, trace, "addr:4096"), 1);
}

/* A row in the legend stands for a line, not for all stacks that pass through the line. */
Test(filter, a_site_is_the_line_that_is_charged)
{
    static const struct {
        const char *text;
        uint32_t matches;
    } counts[] = {
        {"site:train.py:7", 1},
        {"train.py:7", 3},
        {"site:a/net.py:12", 1},
        {"site:net.py:12", 2},
        {"site:net.py:12:Forward", 2},
        {"site:et.py:12", 0},
        {"site:net.py", 3},
        {"site:Net.py", 0},
        {"site:net.py:12:F", 0},
        {"site:\"my net.py:3\"", 1},
        {"-site:net.py", 5},
        {"nostack", 1},
        {"nopython", 1},
        {"-nostack -nopython", 6},
        {"site:at_empty", 1},
        {"stack:0", 1},
    };
    mvt_trace *t = mvt_new();

    mvt_alloc(t, .addr = 0x1000, .bytes = 8, .stack = "Forward:/w/a/net.py:12;main:/w/train.py:7");
    mvt_alloc(t, .addr = 0x2000, .bytes = 8, .stack = "Forward:/w/b/net.py:12;main:/w/train.py:7");
    mvt_alloc(t, .addr = 0x3000, .bytes = 8, .stack = "Forward:/w/b/net.py:13");
    mvt_alloc(t, .addr = 0x4000, .bytes = 8, .stack = "main:/w/train.py:7");
    mvt_alloc(t, .addr = 0x5000, .bytes = 8, .stack = "f:/w/my net.py:3");
    mvt_alloc(t, .addr = 0x6000, .bytes = 8);
    mvt_alloc(t, .addr = 0x7000, .bytes = 8, .stack = "");
    mvt_alloc(t, .addr = 0x8000, .bytes = 8, .stack = "at_empty");
    const mv_trace *trace = mvt_done(t);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        cr_expect_eq(count_matches(t, trace, counts[i].text), counts[i].matches, "%s",
                     counts[i].text);
}

Test(filter, the_shortest_term_of_a_frame_names_no_other)
{
    static const char *const terms[][2] = {
        {"Forward:/w/a/net.py:12", "site:a/net.py:12"},
        {"main:/w/train.py:7", "site:train.py:7"},
        {"f:/w/my net.py:3", "site:\"my net.py:3\""},
        {"g:/w/two.py:1", "site:two.py:1:g"},
        {"at_empty", "site:at_empty"},
    };
    mvt_trace *t = mvt_new();
    char out[100];

    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++)
        mvt_alloc(t, .addr = 0x1000 * (i + 1), .bytes = 8, .stack = terms[i][0]);
    mvt_alloc(t, .addr = 0x100000, .bytes = 8, .stack = "Forward:/w/b/net.py:12;h:/w/two.py:1");
    const mv_trace *trace = mvt_done(t);
    for (uint32_t i = 0; i < sizeof terms / sizeof *terms; i++) {
        mv_stack_id stack = mvt_lives(mvt_arena(t), trace, 0).allocs.stack[i];
        mv_frame_id frame = mv_culprit_frame(trace, NULL, stack);
        cr_expect_str_eq(mv_site_term(trace, frame, out, sizeof out), terms[i][1]);
    }
    cr_expect_str_eq(mv_site_term(trace, (mv_frame_id){0}, out, 10), "");
}

Test(filter, terms_on_lives_match_the_right_blocks)
{
    mvt_trace *t = mvt_new();

    mvt_alloc(t, .addr = 0x1000, .bytes = 512);
    mvt_free(t, .addr = 0x1000);
    mvt_alloc(t, .addr = 0x1000, .bytes = 512, .stream = 7);
    mvt_alloc(t, .addr = 0x4000, .bytes = 512);
    mvt_free(t, .addr = 0x1000);
    const mv_trace *trace = mvt_done(t);
    cr_assert_eq(count_matches(t, trace, "life<2"), 1);
    cr_assert_eq(count_matches(t, trace, "life=2"), 1);
    cr_assert_eq(count_matches(t, trace, "life>2"), 1);
    cr_assert_eq(count_matches(t, trace, "life<1000000"), 2);
    cr_assert_eq(count_matches(t, trace, "life:never"), 1);
    cr_assert_eq(count_matches(t, trace, "life>=2 -life:never"), 1);
    cr_assert_eq(count_matches(t, trace, "pool:unknown"), 3);
    cr_assert_eq(count_matches(t, trace, "stream:unknown"), 0);
    cr_assert_eq(count_matches(t, trace, "stream:7"), 1);
    cr_assert_eq(count_matches(t, trace, "-stream:0x7"), 2);
}

/* The names are chosen by the recorded program. */
Test(filter, names_of_any_bytes_can_be_matched)
{
    mv_arena *arena = mvt_memory();
    mv_trace trace = mvt_full_trace(arena);

    for (int i = 0; i < 3; i++) {
        static const char *const texts[] = {"a", "/./", "/\xff|[^a]{3}/ -\"\xc3\""};
        mv_filter f = read_filter(arena, texts[i]);
        mv_filter_bits bits;
        mvt_ok(mv_filter_stacks(arena, &trace, &f, &bits, mvt_err()));
        cr_assert_eq(bits.rows, trace.stacks.count + 1);
    }
}

/* ---- the slow and obvious version -------------------------------------------------------- */

typedef struct {
    const mv_trace *trace;
    const mv_lives *lives;
    const mv_leaks *leaks;
    const mv_categories *categories;
    const mv_sites *sites;
} world;

/* Returns the frame as described in the manual: "file:line:function". */
static const char *text_of(const mv_trace *trace, uint32_t frame)
{
    static char text[70000];
    const char *file = mv_string_text(trace, trace->frames.file[frame]);
    const char *function = mv_string_text(trace, trace->frames.function[frame]);

    if (trace->frames.line[frame] == MV_NO_LINE)
        snprintf(text, sizeof text, "%s%s%s", file, *file ? ":" : "", function);
    else
        snprintf(text, sizeof text, "%s%s%lld:%s", file, *file ? ":" : "",
                 (long long)trace->frames.line[frame], function);
    return text;
}

static bool stack_has(const world *w, mv_stack_id stack, const char *text, const regex_t *regex)
{
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(w->trace, stack, &count);

    for (uint32_t i = 0; i < count; i++) {
        const char *frame = text_of(w->trace, frames[i].row);
        if (regex ? regexec(regex, frame, 0, NULL, 0) == 0 : strcasestr(frame, text) != NULL)
            return true;
    }
    return false;
}

/* Makes a random term as text, and the values to compare with. */
typedef struct {
    char text[200];
    int kind; /* mv_filter_kind */
    bool is_negated;
    char word[100];
    regex_t regex;
    int sign; /* -2 <, -1 <=, 0 =, 1 >=, 2 > */
    uint64_t value, second;
} slow_term;

static const char *const signs[] = {"<", "<=", "=", ">=", ">"};

/* A term about a block's position or origin. `row` is an allocation. */
static void write_place(const world *w, uint64_t *state, uint32_t row, slow_term *t)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    const char *minus = t->is_negated ? "-" : "";

    switch (t->kind) {
    case MV_FILTER_STREAM:
        t->value = w->trace->streams.count
                       ? w->trace->streams.value[mvt_random(state, w->trace->streams.count)]
                       : 0;
        snprintf(t->text, sizeof t->text, "%sstream:%#llx", minus, (unsigned long long)t->value);
        break;
    case MV_FILTER_POOL:
        if (w->trace->pools.count) {
            uint64_t pool = mvt_random(state, w->trace->pools.count);
            t->value = w->trace->pools.a[pool];
            t->second = w->trace->pools.b[pool];
        }
        snprintf(t->text, sizeof t->text, "%spool:%llu,%llu", minus, (unsigned long long)t->value,
                 (unsigned long long)t->second);
        break;
    case MV_FILTER_ADDR:
        t->value = a->count ? a->addr[row] + mvt_random(state, 1024) : 0;
        snprintf(t->text, sizeof t->text, "%saddr:%#llx", minus, (unsigned long long)t->value);
        break;
    case MV_FILTER_SITE:
        t->value = w->trace->frames.count ? mvt_random(state, w->trace->frames.count) : 0;
        t->text[0] = '-';
        mv_site_term(w->trace, (mv_frame_id){(uint32_t)t->value}, t->text + t->is_negated,
                     sizeof t->text - 1);
        if (!t->text[t->is_negated]) {
            t->value = MV_NO_ROW;
            snprintf(t->text, sizeof t->text, "%ssite:no.such.file.py", minus);
        }
        break;
    case MV_FILTER_STACK:
        t->value = mvt_random(state, w->trace->stacks.count + 1);
        snprintf(t->text, sizeof t->text, "%sstack:%llu", minus, (unsigned long long)t->value);
        break;
    case MV_FILTER_LIKE:
        t->value = mvt_random(state, w->trace->stacks.count + 1);
        snprintf(t->text, sizeof t->text, "%slike:%llu", minus, (unsigned long long)t->value);
        break;
    case MV_FILTER_BLOCK:
        t->value = row;
        t->second = row + 2 + mvt_random(state, 50);
        snprintf(t->text, sizeof t->text, "%sblock:%u,%u-%llu", minus, row, row + 2,
                 (unsigned long long)t->second);
        break;
    default:
        cr_assert_fail("not of a place");
    }
}

static slow_term draw_term(const world *w, uint64_t *state)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    uint32_t row = a->count ? (uint32_t)mvt_random(state, a->count) : 0;
    slow_term t = {.kind = (int)mvt_random(state, MV_FILTER_NO_PYTHON + 1),
                   .is_negated = mvt_random(state, 3) == 0,
                   .sign = (int)mvt_random(state, 5) - 2};
    const char *minus = t.is_negated ? "-" : "";

    /* A part of a frame's text that needs no quoting in a regular expression. */
    const mv_trace *trace = w->trace;
    const char *text = trace->frames.count
                           ? text_of(trace, (uint32_t)mvt_random(state, trace->frames.count))
                           : "forward";
    size_t length = strlen(text), from = length ? mvt_random(state, length) : 0, at = 0;
    while (text[from + at] && at < 4 + mvt_random(state, 8) &&
           (isalnum((unsigned char)text[from + at]) || strchr("_:", text[from + at]))) {
        t.word[at] = text[from + at];
        at++;
    }
    memcpy(t.word + at, at ? "" : "py", at ? 1 : 3);
    if (a->count)
        t.value = a->block[row];
    switch (t.kind) {
    case MV_FILTER_TEXT:
        snprintf(t.text, sizeof t.text, "%s\"%s\"", minus, t.word);
        break;
    case MV_FILTER_REGEX:
        snprintf(t.text, sizeof t.text, "%s/%s[0-9:]*./", minus, t.word);
        snprintf(t.word + strlen(t.word), 20, "[0-9:]*.");
        cr_assert_eq(regcomp(&t.regex, t.word, REG_EXTENDED | REG_NOSUB), 0);
        break;
    case MV_FILTER_SIZE:
        snprintf(t.text, sizeof t.text, "%ssize%s%llu", minus, signs[t.sign + 2],
                 (unsigned long long)t.value);
        break;
    case MV_FILTER_LIFE:
        t.value = mvt_random(state, 50);
        if (t.value == 0) {
            t.value = UINT64_MAX;
            t.sign = 0;
            snprintf(t.text, sizeof t.text, "%slife:never", minus);
            break;
        }
        snprintf(t.text, sizeof t.text, "%slife%s%llu", minus, signs[t.sign + 2],
                 (unsigned long long)t.value);
        break;
    case MV_FILTER_STREAM:
    case MV_FILTER_POOL:
    case MV_FILTER_ADDR:
    case MV_FILTER_SITE:
    case MV_FILTER_STACK:
    case MV_FILTER_LIKE:
    case MV_FILTER_BLOCK:
        write_place(w, state, row, &t);
        break;
    case MV_FILTER_LEAK:
        t.value = mvt_random(state, 3);
        snprintf(t.text, sizeof t.text, t.value ? "%sleak:%llu" : "%sleak", minus,
                 (unsigned long long)t.value);
        break;
    case MV_FILTER_NO_STACK:
        snprintf(t.text, sizeof t.text, "%snostack", minus);
        break;
    case MV_FILTER_NO_PYTHON:
        snprintf(t.text, sizeof t.text, "%snopython", minus);
        break;
    default:
        t.value = mvt_random(state, MV_CATEGORY_COUNT);
        snprintf(t.text, sizeof t.text, "%scat:%.5s", minus,
                 mv_category_name((mv_category)t.value));
    }
    return t;
}

static bool compares(int sign, uint64_t value, uint64_t with)
{
    switch (sign) {
    case -2:
        return value < with;
    case -1:
        return value <= with;
    case 0:
        return value == with;
    case 1:
        return value >= with;
    default:
        return value > with;
    }
}

static bool slow_holds(const world *w, const slow_term *t, uint32_t i)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    const mv_segment_lives *s = &w->lives->segments;
    uint32_t segment = a->segment[i];
    mv_stream_id stream;

    switch (t->kind) {
    case MV_FILTER_TEXT:
        return stack_has(w, a->stack[i], t->word, NULL);
    case MV_FILTER_REGEX:
        return stack_has(w, a->stack[i], NULL, &t->regex);
    case MV_FILTER_SIZE:
        return compares(t->sign, a->block[i], t->value);
    case MV_FILTER_LIFE:
        if (a->freed[i] == MV_NEVER)
            return t->value == UINT64_MAX || t->sign > 0;
        return compares(t->sign, a->freed[i] - (a->birth[i] == MV_BEFORE ? 0 : a->birth[i]),
                        t->value);
    case MV_FILTER_STREAM:
        if (a->birth[i] == MV_BEFORE && segment == MV_NO_ROW)
            return false;
        stream =
            a->birth[i] == MV_BEFORE ? s->stream[segment] : w->lives->events.stream[a->birth[i]];
        return w->trace->streams.value[stream.row] == t->value;
    case MV_FILTER_POOL:
        return segment != MV_NO_ROW && s->pool[segment].row != MV_NO_ROW &&
               w->trace->pools.a[s->pool[segment].row] == t->value &&
               w->trace->pools.b[s->pool[segment].row] == t->second;
    case MV_FILTER_ADDR:
        return a->addr[i] <= t->value && t->value < a->addr[i] + a->block[i];
    case MV_FILTER_LEAK:
        return w->leaks->is_leaked[i] && (t->value == 0 || w->leaks->leak_of[i] == t->value);
    case MV_FILTER_SITE:
        return t->value != MV_NO_ROW && a->stack[i].row != MV_NO_ROW &&
               mv_culprit_frame(w->trace, NULL, a->stack[i]).row == t->value;
    case MV_FILTER_STACK:
        return a->stack[i].row == t->value;
    case MV_FILTER_LIKE:
        return a->stack[i].row != MV_NO_ROW && t->value < w->trace->stacks.count &&
               w->sites->group[mv_site_of(w->sites, a->stack[i])] ==
                   w->sites->group[w->sites->of_stack[t->value]];
    case MV_FILTER_BLOCK:
        return i == t->value || (i >= t->value + 2 && i <= t->second);
    case MV_FILTER_NO_STACK:
        return a->stack[i].row == MV_NO_ROW;
    case MV_FILTER_NO_PYTHON:
        return a->stack[i].row == MV_EMPTY_STACK.row;
    default:
        return w->categories->of_alloc[i] == t->value;
    }
}

static void compare(mv_arena *arena, const mv_trace *trace, uint64_t seed, uint32_t rounds,
                    const char *name)
{
    mv_leaks leaks;
    mv_categories categories;
    mv_lives lives = mvt_lives(arena, trace, 0);
    mv_sites sites;
    world w = {trace, &lives, &leaks, &categories, &sites};
    uint8_t *kinds = mv_frame_kinds(arena, trace);
    uint64_t state = seed * 77 + 1;

    mvt_ok(mv_leaks_find(arena, trace, &lives, &leaks, mvt_err()));
    mvt_ok(mv_categories_find(arena, trace, &lives, kinds, NULL, &categories, mvt_err()));
    mvt_ok(mv_sites_find(arena, trace, &sites, mvt_err()));
    for (uint32_t i = 0; i < rounds; i++) {
        slow_term terms[4];
        uint32_t count = (uint32_t)mvt_random(&state, 4), matches = 0;
        char text[2 * sizeof terms] = "";
        mv_filter_bits bits;
        for (uint32_t j = 0; j < count; j++) {
            terms[j] = draw_term(&w, &state);
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s ", terms[j].text);
        }
        mv_filter filter = read_filter(arena, text);
        cr_assert_eq(filter.count, count, "%s", text);
        mvt_ok(mv_filter_allocs(arena, w.trace, w.lives, w.leaks, &filter, &bits, mvt_err()));
        for (uint32_t row = 0; row < w.lives->allocs.count; row++) {
            bool is_match = true;
            for (uint32_t j = 0; j < count; j++)
                is_match = is_match && slow_holds(&w, &terms[j], row) != terms[j].is_negated;
            cr_assert_eq(mv_filter_has(&bits, row), is_match, "%s: %s: row %u", name, text, row);
            matches += is_match;
        }
        cr_assert_eq(bits.matches, matches);
        for (uint32_t j = 0; j < count; j++)
            if (terms[j].kind == MV_FILTER_REGEX)
                regfree(&terms[j].regex);
    }
}

LongTest(filter, random_traces_match_as_the_slow_version)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        mvt_trace *t = mvt_new();
        mvt_training_truth truth;
        mvt_training(t, seed, (mvt_leak)(seed % MVT_LEAK_COUNT), &truth);
        compare(mvt_arena(t), mvt_done(t), seed, 12, "training");
        mvt_drop(t);
        t = mvt_new();
        mvt_heap_run(t, (mvt_heap_opts){.seed = (uint32_t)seed,
                                        .calls = 300,
                                        .unrecorded = (uint32_t)seed % 3 * 40,
                                        .expandable = seed % 2});
        compare(mvt_arena(t), mvt_done(t), seed, 30, "heap");
        mvt_drop(t);
    }
}

Test(filter, real_snapshots_match_as_the_slow_version)
{
    static const char *const names[] = {"graphs", "graph_trees", "mempool",  "streams",
                                        "ring",   "state_only",  "mlp_train"};
    mv_trace trace;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        trace = mvt_load(mvt_memory(), names[i]);
        compare(mvt_memory(), &trace, i, 25, names[i]);
        mv_arena_release(mvt_memory());
    }
}

Test(filter, terms_on_segments_match_the_right_blocks)
{
    mv_arena *arena = mvt_memory();
    uint32_t private = 0, large = 0;
    static const char *const texts[] = {"-pool:0,0", "size>=20M", "leak", "-cat:unknown"};
    uint32_t found[4];
    mv_trace trace = mvt_load(arena, "graphs");
    mv_lives lives = mvt_lives(arena, &trace, 0);

    for (uint32_t i = 0; i < lives.segments.count; i++) {
        private += lives.segments.pool[i].row != MV_DEFAULT_POOL.row;
        large += lives.segments.size[i] >= 20 << 20;
    }
    for (int i = 0; i < 4; i++) {
        mv_filter f = read_filter(arena, texts[i]);
        mv_filter_bits bits;
        mvt_ok(mv_filter_segments(arena, &trace, &lives, &f, &bits, mvt_err()));
        found[i] = bits.matches;
    }
    cr_assert_gt(private, 0);
    cr_assert_eq(found[0], private);
    cr_assert_eq(found[1], large);
    cr_assert_eq(found[2], 0);
    cr_assert_eq(found[3], 0);
}
