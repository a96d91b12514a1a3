#include "cli/options.h"

#include <ctype.h>
#include <getopt.h>

#include "base/duration.h"
#include "base/nearest.h"
#include "base/numbers.h"
#include "base/size.h"
#include "base/text.h"
#include "record/ring.h"
#include "viz/scene/raster.h"

const mv_option mv_option_table[MV_OPTION_COUNT] = {
#define MV_OPTION_ROW(id, name, letter, argument, words, help) \
    {name, letter, argument, words, help},
    MV_OPTION_LIST(MV_OPTION_ROW)
#undef MV_OPTION_ROW
};

/* Options whose meaning differs if another option is allowed too. The first row that matches
 * applies. */
static const struct {
    mv_option_id id, where;
    const char *help, *words; /* NULL: no difference */
} elsewhere[] = {
    {MV_OPTION_FRAMES, MV_OPTION_BENCH,
     "frames of stacks to show: user (default) or all; with --bench the number to play", NULL},
    {MV_OPTION_TARGET, MV_OPTION_CONF,
     "find the cheapest changes that reserve at most SIZE, or with oom that serve the failed "
     "request",
     NULL},
    {MV_OPTION_AT, MV_OPTION_CAPACITY, "sizes to predict the peaks for, such as 16,24", ""},
    {MV_OPTION_BY, MV_OPTION_VIEW, "color segments over time by use (default) or by line",
     "use line"},
    {MV_OPTION_BY, MV_OPTION_BY, NULL,
     "line metadata annotation forward compile fx layer library module"}, /* in all commands that do
                                                                           * not draw segments by
                                                                           * use */
    {MV_OPTION_TABLE, MV_OPTION_FORMAT,
     "the table to write as CSV: allocations (default), events, segments, ...", NULL},
};

const char *mv_option_help(mv_option_id id, mv_option_set allowed)
{
    for (unsigned i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (elsewhere[i].id == id && (allowed & (MV_OPTION_BIT(elsewhere[i].where))) &&
            elsewhere[i].help)
            return elsewhere[i].help;
    return mv_option_table[id].help;
}

const char *mv_option_words(mv_option_id id, mv_option_set allowed)
{
    for (unsigned i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (elsewhere[i].id == id && (allowed & (MV_OPTION_BIT(elsewhere[i].where))) &&
            elsewhere[i].words)
            return elsewhere[i].words;
    if (id == MV_OPTION_TABLE && (allowed & MV_HAS(CSV)))
        return NULL; /* the format of the report itself */
    return mv_option_table[id].words;
}

/* Sizes of at least this many bytes may be given as plain numbers. */
#define LEAST_WITHOUT_UNIT (UINT64_C(1) << 20)

/* Values that getopt_long returns for options without a letter. */
#define LONG_BASE 256

typedef struct {
    struct option longs[MV_OPTION_COUNT + 1];
    char shorts[2 * MV_OPTION_COUNT + 4];
} getopt_tables;

static void make_tables(mv_option_set allowed, getopt_tables *t)
{
    uint32_t count = 0, at = 0;

    *t = (getopt_tables){0};
    if (allowed & MV_STOP_AT_WORD)
        t->shorts[at++] = '+';
    t->shorts[at++] = ':'; /* makes getopt distinguish a missing argument from an unknown option */
    for (uint32_t i = 0; i < MV_OPTION_COUNT; i++) {
        const mv_option *o = &mv_option_table[i];
        if (!(allowed & (MV_OPTION_BIT(i))))
            continue;
        t->longs[count++] = (struct option){o->name, o->argument ? required_argument : no_argument,
                                            NULL, LONG_BASE + (int)i};
        if (o->letter) {
            t->shorts[at++] = o->letter;
            if (o->argument)
                t->shorts[at++] = ':';
        }
    }
}

static bool read_number(const char *text, uint64_t most, uint64_t *out)
{
    return mv_number_read(text, out) && *out <= most;
}

/* Returns the position of `text` among the words, or -1. `words` may be NULL. */
static int index_in(const char *word, const char *text)
{
    for (int i = 0; word && *word; i++) {
        size_t length = strcspn(word, " ");
        if (length == strlen(text) && memcmp(word, text, length) == 0)
            return i;
        word += length;
        word += *word == ' ';
    }
    return -1;
}

/* Returns the position of `text` among all words that the option accepts in any command, or -1. */
static int word_index(mv_option_id id, const char *text)
{
    return index_in(mv_option_table[id].words, text);
}

/* "1600x900" */
static bool take_size(mv_options *o, const char *text)
{
    const char *sign = strchr(text, 'x');
    uint64_t width, height;
    char number[16];

    if (!sign || (size_t)(sign - text) >= sizeof number)
        return false;
    snprintf(number, sizeof number, "%.*s", (int)(sign - text), text);
    if (!read_number(number, MV_IMAGE_MOST, &width) ||
        !read_number(sign + 1, MV_IMAGE_MOST, &height))
        return false;
    o->width = (uint32_t)width;
    o->height = (uint32_t)height;
    return width > 0 && height > 0;
}

/* "1.5" */
static bool take_scale(mv_options *o, const char *text)
{
    return mv_number_read_double(text, &o->scale) && o->scale >= 0.5 && o->scale <= 4;
}

/* Reads the argument of --frames: which frames of stacks to show, or with --bench the number of
 * frames to play. */
static bool take_frames(mv_options *o, const char *text)
{
    uint64_t number;

    if ((o->allowed & MV_HAS(BENCH)) && read_number(text, 1000000, &number)) {
        o->frame_count = (uint32_t)number;
        return number > 0;
    }
    o->all_frames = word_index(MV_OPTION_FRAMES, text) == 1;
    return word_index(MV_OPTION_FRAMES, text) >= 0;
}

static bool take_theme(mv_options *o, const char *text)
{
    o->is_dark = word_index(MV_OPTION_THEME, text) == 1;
    return word_index(MV_OPTION_THEME, text) >= 0;
}

static bool take_gate(mv_options *o, const char *text)
{
    if (o->fail_ons == MV_MOST_GATES)
        return false;
    o->fail_on[o->fail_ons++] = text;
    return true;
}

static bool take_conf(mv_options *o, const char *text)
{
    if (o->confs == MV_MOST_CONFS)
        return false;
    o->conf[o->confs++] = text;
    return true;
}

/* Reads the argument of --table: a table of export, or a table of a report, which checks the name
 * itself. */
static bool take_table(mv_options *o, const char *text)
{
    o->table = text;
    return (o->allowed & MV_HAS(CSV)) ? *text != 0 : word_index(MV_OPTION_TABLE, text) >= 0;
}

static bool is_change(mv_option_id id)
{
    return MV_OPTION_BIT(id) & MV_CHANGE_OPTIONS;
}

/* Only stores the argument, because the command that uses it parses it and has more specific
 * messages. */
static bool take_change(mv_options *o, mv_option_id id, const char *text)
{
    if (o->changes == MV_MOST_CHANGES_GIVEN || (text && !*text))
        return false;
    o->change[o->changes].option = id;
    o->change[o->changes++].text = text;
    return true;
}

/* How an option's argument is parsed, and which type of member stores it. */
typedef enum {
    IS_FLAG,      /* no argument, or the argument is not stored */
    IS_TEXT,      /* const char *, not empty */
    IS_ANY_TEXT,  /* const char *, may be empty */
    IS_WORD,      /* int: the index of one of the option's words */
    IS_WORD_TEXT, /* const char *: one of the option's words */
    IS_NUMBER,    /* uint64_t */
    IS_SIZE,      /* uint64_t, bytes */
    IS_DURATION,  /* uint64_t, microseconds */
    IS_OTHER      /* parsed by a function */
} argument_kind;

typedef struct {
    argument_kind kind;
    size_t member;        /* the member's offset in mv_options */
    uint64_t least, most; /* bounds of a number; minimum of a size or duration */
    bool (*take)(mv_options *o, const char *text);
} argument_reader;

#define INTO(name) .member = offsetof(mv_options, name)

static const argument_reader readers[MV_OPTION_COUNT] = {
    [MV_OPTION_DEVICE] = {.kind = IS_NUMBER, INTO(device), .most = INT32_MAX},
    [MV_OPTION_LEVEL] = {.kind = IS_TEXT, INTO(level)},
    [MV_OPTION_LIMIT] = {.kind = IS_NUMBER, INTO(limit), .most = UINT64_MAX},
    [MV_OPTION_MOST_EVENTS] = {.kind = IS_NUMBER, INTO(most_events), .most = UINT64_MAX},
    [MV_OPTION_DEPTH] = {.kind = IS_NUMBER, INTO(depth), .most = UINT32_MAX},
    [MV_OPTION_FROM] = {.kind = IS_TEXT, INTO(from)},
    [MV_OPTION_TO] = {.kind = IS_TEXT, INTO(to)},
    [MV_OPTION_OUTPUT] = {.kind = IS_TEXT, INTO(output)},
    [MV_OPTION_FRAMES] = {.kind = IS_OTHER, .take = take_frames},
    [MV_OPTION_COLOR] = {.kind = IS_WORD, INTO(color)},
    [MV_OPTION_STACKS] = {.kind = IS_WORD_TEXT, INTO(stacks)},
    [MV_OPTION_SIZE] = {.kind = IS_OTHER, .take = take_size},
    [MV_OPTION_VIEW] = {.kind = IS_WORD, INTO(view)},
    [MV_OPTION_BY] = {.kind = IS_WORD, INTO(by)},
    [MV_OPTION_TITLE] = {.kind = IS_TEXT, INTO(title)},
    [MV_OPTION_THEME] = {.kind = IS_OTHER, .take = take_theme},
    [MV_OPTION_FORMAT] = {.kind = IS_WORD, INTO(format)},
    [MV_OPTION_PAGE] = {.kind = IS_WORD, INTO(page)},
    [MV_OPTION_TABLE] = {.kind = IS_OTHER, .take = take_table},
    [MV_OPTION_FILTER] = {.kind = IS_ANY_TEXT,
                          INTO(filter)}, /* parsed where it is used, which has more specific
                                          * messages */
    [MV_OPTION_TOP] = {.kind = IS_NUMBER, INTO(top), .least = 1, .most = UINT32_MAX},
    [MV_OPTION_AT] = {.kind = IS_TEXT, INTO(at)},
    [MV_OPTION_WITH] = {.kind = IS_TEXT, INTO(with)},
    [MV_OPTION_RULES] = {.kind = IS_TEXT, INTO(rules)},
    [MV_OPTION_SOURCE] = {.kind = IS_TEXT, INTO(source)},
    [MV_OPTION_TARGET] = {.kind = IS_SIZE, INTO(target), .least = 1},
    [MV_OPTION_FAIL_ON] = {.kind = IS_OTHER, .take = take_gate},
    [MV_OPTION_CONF] = {.kind = IS_OTHER, .take = take_conf},
    [MV_OPTION_GROUPS] = {.kind = IS_TEXT, INTO(groups)},
    [MV_OPTION_RANKS] = {.kind = IS_NUMBER, INTO(ranks), .most = UINT32_MAX},
    [MV_OPTION_SCRIPT] = {.kind = IS_TEXT, INTO(script)},
    [MV_OPTION_SESSION] = {.kind = IS_TEXT, INTO(session)},
    [MV_OPTION_STATE] = {.kind = IS_TEXT, INTO(state)},
    [MV_OPTION_SHOT] = {.kind = IS_TEXT, INTO(shot)},
    [MV_OPTION_BENCH] = {.kind = IS_WORD_TEXT, INTO(bench)},
    [MV_OPTION_RENDERER] = {.kind = IS_TEXT, INTO(renderer)}, /* SDL checks the name of the
                                                               * renderer */
    [MV_OPTION_SCALE] = {.kind = IS_OTHER, .take = take_scale},
    [MV_OPTION_MEM] = {.kind = IS_SIZE, INTO(mem), .least = 1},
    [MV_OPTION_PORT] = {.kind = IS_NUMBER, INTO(port), .most = UINT16_MAX},
    [MV_OPTION_STEPS] = {.kind = IS_NUMBER, INTO(steps), .most = UINT32_MAX},
    [MV_OPTION_GPU] = {.kind = IS_TEXT, INTO(gpu)},
    [MV_OPTION_FOR] = {.kind = IS_DURATION, INTO(for_us), .least = 1},
    [MV_OPTION_START_AFTER] = {.kind = IS_TEXT, INTO(start_after)},
    [MV_OPTION_STOP_AFTER] = {.kind = IS_TEXT, INTO(stop_after)},
    [MV_OPTION_METRICS] = {.kind = IS_TEXT, INTO(metrics)},
    [MV_OPTION_OLDER] = {.kind = IS_DURATION, INTO(older_us), .least = 1},
    [MV_OPTION_MAX_SIZE] = {.kind = IS_SIZE, INTO(max_size), .least = MV_RING_LEAST_SIZE},
    [MV_OPTION_MAX_AGE] = {.kind = IS_DURATION, INTO(max_age_us), .least = 1000000},
    [MV_OPTION_ON] = {.kind = IS_TEXT, INTO(on)},
    [MV_OPTION_AFTER] = {.kind = IS_DURATION, INTO(after_us)},
    [MV_OPTION_COOLDOWN] = {.kind = IS_DURATION, INTO(cooldown_us)},
    [MV_OPTION_KEEP] = {.kind = IS_NUMBER, INTO(keep), .most = 1000000},
    [MV_OPTION_CAPACITY] = {.kind = IS_SIZE, INTO(capacity), .least = 1},
    [MV_OPTION_MAX_MEMORY] = {.kind = IS_SIZE, INTO(max_memory), .least = 1},
    [MV_OPTION_MAX_DISK] = {.kind = IS_SIZE, INTO(max_disk)},
};

/* A small number without a unit must be a mistake, because no device and no report has only 80
 * bytes. */
static bool is_missing_unit(const char *text, uint64_t bytes)
{
    return bytes > 0 && bytes < LEAST_WITHOUT_UNIT &&
           isdigit((unsigned char)text[strlen(text) - 1]);
}

/* whatif --target oom stands for the memory that the failed request needed. */
static char shortfall[] = "oom";

static bool may_be_shortfall(mv_option_set allowed, int id)
{
    return id == MV_OPTION_TARGET && (allowed & MV_HAS(CONF));
}

static bool is_shortfall(mv_options *o, mv_option_id id, const char *argument)
{
    o->target = id == MV_OPTION_TARGET ? 0 : o->target;
    return argument && may_be_shortfall(o->allowed, (int)id) && strcmp(argument, shortfall) == 0;
}

static bool take(mv_options *o, mv_option_id id, const char *argument)
{
    const argument_reader *r = &readers[id];
    int word = argument && mv_option_table[id].words ? word_index(id, argument) : 0;
    void *member = (char *)o + r->member;

    o->given |= MV_OPTION_BIT(id);
    if (is_change(id))
        return take_change(o, id, argument);
    switch (r->kind) {
    case IS_TEXT:
    case IS_ANY_TEXT:
    case IS_WORD_TEXT:
        memcpy(member, &argument, sizeof argument);
        return r->kind == IS_WORD_TEXT ? word >= 0
                                       : r->kind == IS_ANY_TEXT || (argument && *argument);
    case IS_WORD:
        memcpy(member, &word, sizeof word);
        return argument && index_in(mv_option_words(id, o->allowed), argument) >= 0;
    case IS_NUMBER:
        return read_number(argument, r->most, member) && *(uint64_t *)member >= r->least;
    case IS_SIZE:
        if (is_shortfall(o, id, argument))
            return true;
        return argument && mv_size_parse(argument, member) && *(uint64_t *)member >= r->least &&
               !is_missing_unit(argument, *(uint64_t *)member);
    case IS_DURATION:
        return mv_duration_read(argument, member) && *(uint64_t *)member >= r->least;
    case IS_OTHER:
        return r->take(o, argument);
    default:
        return true;
    }
}

static mv_option_id by_letter(int letter)
{
    for (uint32_t i = 0; i < MV_OPTION_COUNT; i++)
        if (mv_option_table[i].letter == letter)
            return (mv_option_id)i;
    return MV_OPTION_COUNT;
}

bool mv_option_takes_next(const char *word)
{
    size_t length = strlen(word);
    bool takes = false;

    if (strncmp(word, "--", 2) != 0) {
        for (const char *c = word + 1; *c && !takes; c++) {
            mv_option_id id = by_letter(*c);
            takes = id < MV_OPTION_COUNT && mv_option_table[id].argument;
            if (takes && c[1])
                return false;
        }
        return takes;
    }
    for (uint32_t i = 0; i < MV_OPTION_COUNT && length > 2; i++) {
        const mv_option *o = &mv_option_table[i];
        if (strcmp(o->name, word + 2) == 0)
            return o->argument != NULL;
        takes = takes || (o->argument && strncmp(o->name, word + 2, length - 2) == 0);
    }
    return takes;
}

bool mv_option_may_take_next(const char *word)
{
    bool takes = false, stands_alone = false;

    for (uint32_t i = 0; i < MV_OPTION_COUNT && strncmp(word, "--", 2) == 0; i++)
        if (strcmp(mv_option_table[i].name, word + 2) == 0) {
            takes = takes || mv_option_table[i].argument;
            stands_alone = stands_alone || !mv_option_table[i].argument;
        }
    return takes && stands_alone;
}

/* Whether the word on the command line is an option that exists but that this command does not
 * accept. */
static bool is_elsewhere(const char *name)
{
    for (uint32_t i = 0; i < MV_OPTION_COUNT; i++)
        if (strcmp(mv_option_table[i].name, name) == 0)
            return true;
    return false;
}

/* Returns the option of this command that the user meant, if `name` is what other tools or commands
 * call it; NULL: none. */
static const char *meant_by(const char *name, mv_option_set allowed)
{
    static const struct {
        const char *name;
        mv_option_id id;
    } tried[] = {{"top", MV_OPTION_LIMIT},  {"rows", MV_OPTION_LIMIT},  {"format", MV_OPTION_JSON},
                 {"gpu", MV_OPTION_DEVICE}, {"rank", MV_OPTION_DEVICE}, {"j", MV_OPTION_JSON}};

    for (unsigned i = 0; i < sizeof tried / sizeof *tried; i++)
        if (strcmp(tried[i].name, name) == 0 && (allowed & (MV_OPTION_BIT(tried[i].id))))
            return mv_option_table[tried[i].id].name;
    return NULL;
}

static void explain_unknown(mv_option_set allowed, const char *word, char *why, uint32_t size)
{
    bool is_letter = strncmp(word, "--", 2) != 0;
    mv_nearest nearest = {0};
    const char *meant;
    char name[64];

    snprintf(name, sizeof name, "%.*s", is_letter ? 1 : (int)strcspn(word + 2, "="),
             is_letter ? (const char[]){(char)optopt, 0} : word + 2);
    meant = meant_by(name, allowed);
    if (meant || is_letter) {
        snprintf(why, size, "unknown option %s%s%s%s%s", is_letter ? "-" : "--", name,
                 meant ? "; did you mean --" : "", meant ? meant : "", meant ? "?" : "");
        return;
    }
    for (uint32_t i = 0; i < MV_OPTION_COUNT; i++)
        if (allowed & (MV_OPTION_BIT(i)))
            mv_nearest_try(&nearest, name, mv_option_table[i].name);
    if (strcmp(name, "sort") == 0 && (allowed & MV_OPTION_BIT(MV_OPTION_JSON)))
        snprintf(
            why, size,
            "unknown option --sort: the order of a report is fixed; sort the rows of --json by "
            "any of their fields");
    else if (is_elsewhere(name))
        snprintf(why, size, "option --%s does not apply here", name);
    else if (nearest.word)
        snprintf(why, size, "unknown option --%s; did you mean --%s?", name, nearest.word);
    else
        snprintf(why, size, "unknown option --%s", name);
}

/* Explains either of getopt's two complaints. If a long option was given an argument that it does
 * not take, getopt also reports it in optopt. */
static void explain(int result, mv_option_set allowed, char **argv, char *why, uint32_t size)
{
    const char *word = argv[optind - 1];

    if (result == ':')
        snprintf(why, size, "option %s needs an argument", word);
    else if (optopt >= LONG_BASE)
        snprintf(why, size, "option --%s takes no argument",
                 mv_option_table[optopt - LONG_BASE].name);
    else
        explain_unknown(allowed, word, why, size);
}

/* Whether the argument is itself an option that takes no argument: --format=json in place of
 * --json. */
static bool is_flag(mv_option_set allowed, const char *argument)
{
    for (uint32_t i = 0; i < MV_OPTION_COUNT; i++)
        if ((allowed & MV_OPTION_BIT(i)) && !mv_option_table[i].argument &&
            strcmp(mv_option_table[i].name, argument) == 0)
            return true;
    return false;
}

/* Describes which number or size is expected; NULL: the option's explanation does. */
static const char *bounds_of(mv_option_id id)
{
    return id == MV_OPTION_MAX_SIZE ? " of 16M or more, such as 512M"
           : readers[id].kind == IS_SIZE
               ? " with a unit, such as 80GiB; a plain number is bytes, at least 1048576"
           : readers[id].kind == IS_DURATION ? " with a unit, such as 90s or 5m"
           : id == MV_OPTION_DEVICE          ? ", such as 0"
           : id == MV_OPTION_LIMIT           ? ", such as 20; 0 is all"
           : id == MV_OPTION_SIZE            ? ", each from 1 to 16384"
           : id == MV_OPTION_TOP             ? ", at least 1"
           : id == MV_OPTION_SCALE           ? " from 0.5 to 4"
           : id == MV_OPTION_PORT            ? " up to 65535"
                                             : NULL;
}

/* Returns how often the option can be given, if it was given more often; else 0. */
static unsigned limit_passed(const mv_options *given, mv_option_id id)
{
    if (is_change(id))
        return given->changes == MV_MOST_CHANGES_GIVEN ? MV_MOST_CHANGES_GIVEN : 0;
    if (id == MV_OPTION_CONF)
        return given->confs == MV_MOST_CONFS ? MV_MOST_CONFS : 0;
    return id == MV_OPTION_FAIL_ON && given->fail_ons == MV_MOST_GATES ? MV_MOST_GATES : 0;
}

static void explain_argument(const mv_options *given, mv_option_id id, const char *argument,
                             char *why, uint32_t size)
{
    const mv_option *o = &mv_option_table[id];
    mv_option_set allowed = given->allowed;
    unsigned limit = limit_passed(given, id);
    bool is_any_text = readers[id].kind == IS_TEXT; /* its words are only suggestions */
    const char *words = is_any_text ? NULL : mv_option_words(id, allowed), *bounds = bounds_of(id);

    *why = 0;
    if (limit) {
        mv_text_append(why, size, "--%s: more than %u %s", o->name, limit,
                       is_change(id) ? "changes" : "of this option");
        return;
    }
    mv_text_append(why, size, "--%s %s: expected ", o->name, *argument ? argument : "''");
    if (words)
        mv_text_append(why, size, "one of: %s", words);
    else if (bounds)
        mv_text_append(why, size, "%s%s", o->argument, bounds);
    else
        mv_text_append(why, size, "%s: %s", o->argument, mv_option_help(id, allowed));
    if (may_be_shortfall(allowed, (int)id))
        mv_text_append(why, size, "; or oom");
    if (is_flag(allowed, argument))
        mv_text_append(why, size, "; or --%s", argument);
}

bool mv_options_read(mv_option_set allowed, int argc, char **argv, mv_options *out, char *why,
                     uint32_t why_size)
{
    getopt_tables tables;
    int result;

    *out = (mv_options){.allowed = allowed, .device = MV_ALL_DEVICES};
    make_tables(allowed, &tables);
    opterr = 0;
    optind = 0;
    while ((result = getopt_long(argc, argv, tables.shorts, tables.longs, NULL)) != -1) {
        if (result == ':' && may_be_shortfall(allowed, optopt - LONG_BASE)) {
            optarg = shortfall;
            result = optopt;
        }
        if (result == '?' || result == ':') {
            explain(result, allowed, argv, why, why_size);
            return false;
        }
        mv_option_id id =
            result >= LONG_BASE ? (mv_option_id)(result - LONG_BASE) : by_letter(result);
        if (id == MV_OPTION_OUTPUT && out->output) {
            snprintf(why, why_size, "-o is given twice: %s and %s", out->output, optarg);
            return false;
        }
        if (!take(out, id, optarg)) {
            explain_argument(out, id, optarg, why, why_size);
            return false;
        }
    }
    out->files = argc - optind;
    out->file = argv + optind;
    return true;
}
