#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "cli/nearest.h"
#include "viz/scene/raster.h"

const mv_option mv_option_table[MV_OPTION_COUNT] = {
#define MV_OPTION_ROW(id, name, letter, argument, words, help) \
    {name, letter, argument, words, help},
    MV_OPTION_LIST(MV_OPTION_ROW)
#undef MV_OPTION_ROW
};

/* getopt_long returns these, or a letter. */
#define LONG_BASE 256

typedef struct {
    struct option longs[MV_OPTION_COUNT + 1];
    char shorts[2 * MV_OPTION_COUNT + 4];
} getopt_tables;

static void make_tables(uint64_t allowed, getopt_tables *t)
{
    uint32_t count = 0, at = 0;

    *t = (getopt_tables){0};
    if (allowed & MV_STOP_AT_WORD)
        t->shorts[at++] = '+';
    t->shorts[at++] = ':'; /* a missing argument is told from an unknown option */
    for (uint32_t i = 0; i < MV_OPTION_COUNT; i++) {
        const mv_option *o = &mv_option_table[i];
        if (!(allowed & (UINT64_C(1) << i)))
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
    char *end;

    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return errno == 0 && *end == 0 && *out <= most;
}

/* The position of `text` among the option's words, or -1. */
static int word_index(mv_option_id id, const char *text)
{
    const char *word = mv_option_table[id].words;

    for (int i = 0; *word; i++) {
        size_t length = strcspn(word, " ");
        if (length == strlen(text) && memcmp(word, text, length) == 0)
            return i;
        word += length;
        word += *word == ' ';
    }
    return -1;
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
    char *end;

    o->scale = strtod(text, &end);
    return end != text && *end == 0 && o->scale >= 0.5 && o->scale <= 4;
}

/* Which frames of stacks; where there is something to time, also how many frames of pictures. */
static bool take_frames(mv_options *o, uint64_t allowed, const char *text)
{
    uint64_t number;

    if ((allowed & MV_HAS(BENCH)) && read_number(text, 1000000, &number)) {
        o->frame_count = (uint32_t)number;
        return number > 0;
    }
    o->all_frames = word_index(MV_OPTION_FRAMES, text) == 1;
    return word_index(MV_OPTION_FRAMES, text) >= 0;
}

static bool take(mv_options *o, uint64_t allowed, mv_option_id id, char *argument)
{
    uint64_t number;

    o->given |= UINT64_C(1) << id;
    switch (id) {
    case MV_OPTION_DEVICE:
        if (!read_number(argument, INT32_MAX, &number))
            return false;
        o->device = (int64_t)number;
        return true;
    case MV_OPTION_LIMIT:
        return read_number(argument, UINT64_MAX, &o->limit);
    case MV_OPTION_FROM:
        o->from = argument;
        return *argument != 0;
    case MV_OPTION_TO:
        o->to = argument;
        return *argument != 0;
    case MV_OPTION_OUTPUT:
        o->output = argument;
        return *argument != 0;
    case MV_OPTION_FRAMES:
        return take_frames(o, allowed, argument);
    case MV_OPTION_COLOR:
        o->color = (mv_color)word_index(id, argument);
        return word_index(id, argument) >= 0;
    case MV_OPTION_STACKS:
        o->stacks = argument;
        return word_index(id, argument) >= 0;
    case MV_OPTION_SIZE:
        return take_size(o, argument);
    case MV_OPTION_VIEW:
        o->view = (mv_picture_view)word_index(id, argument);
        return word_index(id, argument) >= 0;
    case MV_OPTION_BY:
        o->by = word_index(id, argument);
        return o->by >= 0;
    case MV_OPTION_THEME:
        o->is_dark = word_index(id, argument) == 1;
        return word_index(id, argument) >= 0;
    case MV_OPTION_FORMAT:
        o->format = (mv_export_format)word_index(id, argument);
        return word_index(id, argument) >= 0;
    case MV_OPTION_TABLE:
        o->table = argument;
        return word_index(id, argument) >= 0;
    case MV_OPTION_FILTER:
        o->filter = argument; /* read by those who use it: it has sentences of its own */
        return true;
    case MV_OPTION_TOP:
        if (!read_number(argument, UINT32_MAX, &number))
            return false;
        o->top = (uint32_t)number;
        return number > 0;
    case MV_OPTION_AT:
        o->at = argument;
        return *argument != 0;
    case MV_OPTION_RULES:
        o->rules = argument;
        return *argument != 0;
    case MV_OPTION_SOURCE:
        o->source = argument;
        return *argument != 0;
    case MV_OPTION_TARGET:
        return mv_size_parse(argument, &o->target);
    case MV_OPTION_FAIL_ON:
        if (o->fail_ons == MV_MOST_GATES)
            return false;
        o->fail_on[o->fail_ons++] = argument;
        return true;
    case MV_OPTION_CONF:
        if (o->confs == MV_MOST_CONFS)
            return false;
        o->conf[o->confs++] = argument;
        return true;
    case MV_OPTION_SCRIPT:
        o->script = argument;
        return *argument != 0;
    case MV_OPTION_SHOT:
        o->shot = argument;
        return *argument != 0;
    case MV_OPTION_BENCH:
        return word_index(id, argument) >= 0;
    case MV_OPTION_RENDERER:
        o->renderer = argument; /* what there is, SDL knows */
        return *argument != 0;
    case MV_OPTION_SCALE:
        return take_scale(o, argument);
    case MV_OPTION_MEM:
        return mv_size_parse(argument, &o->mem) && o->mem > 0;
    case MV_OPTION_CAPACITY:
        return mv_size_parse(argument, &o->capacity) && o->capacity > 0;
    case MV_OPTION_MAX_MEMORY:
        return mv_size_parse(argument, &o->max_memory) && o->max_memory > 0;
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

/* Whether the word on the command line is a known option that this command has no use for. */
static bool is_elsewhere(const char *name)
{
    for (uint32_t i = 0; i < MV_OPTION_COUNT; i++)
        if (strcmp(mv_option_table[i].name, name) == 0)
            return true;
    return false;
}

static void explain_unknown(uint64_t allowed, const char *word, char *why, uint32_t size)
{
    mv_nearest nearest = {0};
    char name[64];

    if (strncmp(word, "--", 2) != 0) {
        snprintf(why, size, "unknown option -%c", optopt);
        return;
    }
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    for (uint32_t i = 0; i < MV_OPTION_COUNT; i++)
        if (allowed & (UINT64_C(1) << i))
            mv_nearest_try(&nearest, name, mv_option_table[i].name);
    if (is_elsewhere(name))
        snprintf(why, size, "option --%s does not apply here", name);
    else if (nearest.word)
        snprintf(why, size, "unknown option --%s; did you mean --%s?", name, nearest.word);
    else
        snprintf(why, size, "unknown option --%s", name);
}

/* getopt's two complaints. A long option that takes no argument but was given one is reported
 * through optopt as well. */
static void explain(int result, uint64_t allowed, char **argv, char *why, uint32_t size)
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

bool mv_options_read(uint64_t allowed, int argc, char **argv, mv_options *out, char *why,
                     uint32_t why_size)
{
    getopt_tables tables;
    int result;

    *out = (mv_options){.device = MV_ALL_DEVICES};
    make_tables(allowed, &tables);
    opterr = 0;
    optind = 0;
    while ((result = getopt_long(argc, argv, tables.shorts, tables.longs, NULL)) != -1) {
        if (result == '?' || result == ':') {
            explain(result, allowed, argv, why, why_size);
            return false;
        }
        mv_option_id id =
            result >= LONG_BASE ? (mv_option_id)(result - LONG_BASE) : by_letter(result);
        if (!take(out, allowed, id, optarg)) {
            const mv_option *o = &mv_option_table[id];
            snprintf(why, why_size, "--%s %s: expected %s%s", o->name, optarg,
                     o->words ? "one of: " : "", o->words ? o->words : o->argument);
            return false;
        }
    }
    out->files = argc - optind;
    out->file = argv + optind;
    return true;
}
