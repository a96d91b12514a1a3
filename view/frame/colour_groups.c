#include "view/frame/colour_groups.h"

#include "analyze/filter/site_words.h"
#include "view/document/search_text.h"

static const char *const size_names[MV_COLOUR_STEPS] = {"below 64 KiB",     "64 KiB to 1 MiB",
                                                        "1 to 16 MiB",      "16 to 256 MiB",
                                                        "256 MiB to 4 GiB", "4 GiB and more"};
static const char *const size_words[MV_COLOUR_STEPS] = {"size<64k",           "size>=64k size<1M",
                                                        "size>=1M size<16M",  "size>=16M size<256M",
                                                        "size>=256M size<4G", "size>=4G"};
static const char *const life_names[MV_COLOUR_STEPS + 1] = {"below 10 events",
                                                            "10 to 99 events",
                                                            "100 to 999 events",
                                                            "1,000 to 9,999 events",
                                                            "10,000 to 99,999 events",
                                                            "100,000 events and more",
                                                            "never freed"};
static const char *const life_words[MV_COLOUR_STEPS + 1] = {"life<10",
                                                            "life>=10 life<100",
                                                            "life>=100 life<1000",
                                                            "life>=1000 life<10000",
                                                            "life>=10000 life<100000",
                                                            "life>=100000 -life:never",
                                                            "life:never"};

mv_colouring mv_colouring_of(const mv_view *view)
{
    return (mv_colouring){.document = mv_view_document(view),
                          .device = mv_view_device(view),
                          .lives = &mv_view_device(view)->lives,
                          .mode = view->now->colour,
                          .is_evaluated = mv_view_is_evaluated(view)};
}

uint32_t mv_colouring_steps(const mv_colouring *c)
{
    return c->mode == MV_COLOUR_SIZE       ? MV_COLOUR_STEPS
           : c->mode == MV_COLOUR_LIFETIME ? MV_COLOUR_STEPS + 1
                                           : 0;
}

/* ---- the group of an allocation ---------------------------------------------------------- */

/* Returns the step of a number. Step 0 is below `first`, and the limit of each further step is
 * `times` as high. */
static uint32_t step_of(uint64_t number, uint64_t first, uint64_t times)
{
    uint32_t step = 0;

    while (step < MV_COLOUR_STEPS - 1 && number >= first) {
        number /= times;
        step++;
    }
    return step;
}

static uint32_t life_step(const mv_alloc_lives *a, uint32_t alloc)
{
    uint32_t birth = a->birth[alloc] == MV_BEFORE ? 0 : a->birth[alloc];

    return a->freed[alloc] == MV_NEVER ? MV_COLOUR_STEPS : step_of(a->freed[alloc] - birth, 10, 10);
}

static uint64_t code_group(const mv_colouring *c, uint32_t alloc)
{
    uint32_t stack = c->lives->allocs.stack[alloc].row;

    if (stack >= c->device->site_colours.stacks)
        return MV_GROUP_NO_STACK;
    if (c->device->site_colours.line_of_stack[stack] == MV_NO_ROW)
        return MV_GROUP_NO_PYTHON;
    return c->mode == MV_COLOUR_STACK ? stack : c->device->site_colours.line_of_stack[stack];
}

static uint64_t row_group(uint32_t row, uint32_t count)
{
    return row < count ? row : MV_GROUP_UNKNOWN;
}

uint64_t mv_colour_group(const mv_colouring *c, uint32_t alloc)
{
    const mv_lives *lives = &c->device->lives;
    const mv_trace *trace = &c->document->trace;
    bool is_leaked = c->is_evaluated && c->device->leaks.is_leaked[alloc];

    if (mv_colouring_is_by_code(c))
        return code_group(c, alloc) | (is_leaked ? MV_GROUP_LEAK : 0);
    if (is_leaked)
        return MV_GROUP_LEAK;
    switch (c->mode) {
    case MV_COLOUR_CATEGORY:
        return c->is_evaluated ? c->device->attribution.categories.of_alloc[alloc]
                               : MV_GROUP_UNKNOWN;
    case MV_COLOUR_SIZE:
        return step_of(lives->allocs.block[alloc], 64u << 10, 16);
    case MV_COLOUR_LIFETIME:
        return life_step(&lives->allocs, alloc);
    case MV_COLOUR_STREAM:
        return row_group(mv_alloc_stream(lives, alloc).row, trace->streams.count);
    default: /* MV_COLOUR_POOL */
        return row_group(mv_alloc_pool(lives, alloc).row, trace->pools.count);
    }
}

/* ---- its colour -------------------------------------------------------------------------- */

static uint32_t code_colour(const mv_colouring *c, const mv_theme *theme, uint64_t group)
{
    const mv_site_colours *s = &c->device->site_colours;
    uint32_t row = (uint32_t)group;

    if (group & MV_GROUP_NO_STACK)
        return theme->unknown;
    if (group & MV_GROUP_NO_PYTHON)
        return theme->native;
    return mv_hue_colour(theme, c->mode == MV_COLOUR_STACK ? s->by_content[row] : s->line_hue[row]);
}

uint32_t mv_group_colour(const mv_colouring *c, const mv_theme *theme, uint64_t group)
{
    if (group & MV_GROUP_LEAK)
        return theme->leak;
    if (mv_colouring_is_by_code(c))
        return code_colour(c, theme, group);
    if (group & MV_GROUP_UNKNOWN)
        return theme->unknown;
    if (mv_colouring_steps(c))
        return mv_step_colour((uint32_t)group);
    if (c->mode == MV_COLOUR_CATEGORY && group == MV_CATEGORY_UNKNOWN)
        return theme->unknown;
    return mv_site_colour((uint32_t)group);
}

/* ---- its label --------------------------------------------------------------------------- */

const char *mv_stream_label(const mv_trace *trace, mv_stream_id stream, char out[MV_GROUP_LABEL])
{
    if (stream.row >= trace->streams.count)
        snprintf(out, MV_GROUP_LABEL, "unknown stream");
    else if (trace->streams.value[stream.row] == 0)
        snprintf(out, MV_GROUP_LABEL, "default stream");
    else
        snprintf(out, MV_GROUP_LABEL, "stream 0x%llx",
                 (unsigned long long)trace->streams.value[stream.row]);
    return out;
}

const char *mv_pool_label(const mv_trace *trace, mv_pool_id pool, char out[MV_GROUP_LABEL])
{
    if (pool.row >= trace->pools.count)
        snprintf(out, MV_GROUP_LABEL, "unknown pool");
    else if (pool.row == MV_DEFAULT_POOL.row)
        snprintf(out, MV_GROUP_LABEL, "default pool");
    else
        snprintf(out, MV_GROUP_LABEL, "pool (%llu, %llu)",
                 (unsigned long long)trace->pools.a[pool.row],
                 (unsigned long long)trace->pools.b[pool.row]);
    return out;
}

static mv_stack_id stack_of(const mv_colouring *c, uint64_t group)
{
    if (group & MV_GROUP_NO_STACK)
        return MV_NO_STACK;
    if (group & MV_GROUP_NO_PYTHON)
        return MV_EMPTY_STACK;
    return c->mode == MV_COLOUR_STACK ? (mv_stack_id){(uint32_t)group}
                                      : c->device->site_colours.line_stack[(uint32_t)group];
}

const char *mv_group_label(const mv_colouring *c, uint64_t group, char out[MV_GROUP_LABEL])
{
    const mv_trace *trace = &c->document->trace;
    uint32_t row = (uint32_t)group;

    if (mv_colouring_is_by_code(c))
        return mv_culprit_label(trace, c->document->sites.kinds, stack_of(c, group), out,
                                MV_GROUP_LABEL);
    if (group & MV_GROUP_LEAK)
        snprintf(out, MV_GROUP_LABEL, "leaks");
    else if (c->mode == MV_COLOUR_CATEGORY)
        snprintf(out, MV_GROUP_LABEL, "%.200s",
                 group & MV_GROUP_UNKNOWN ? "not known yet"
                                          : c->device->attribution.categories.name[row]);
    else if (c->mode == MV_COLOUR_SIZE)
        snprintf(out, MV_GROUP_LABEL, "%s", size_names[row]);
    else if (c->mode == MV_COLOUR_LIFETIME)
        snprintf(out, MV_GROUP_LABEL, "%s", life_names[row]);
    else if (c->mode == MV_COLOUR_STREAM)
        return mv_stream_label(trace, (mv_stream_id){group & MV_GROUP_UNKNOWN ? MV_NO_ROW : row},
                               out);
    else
        return mv_pool_label(trace, (mv_pool_id){group & MV_GROUP_UNKNOWN ? MV_NO_ROW : row}, out);
    return out;
}

/* ---- its search -------------------------------------------------------------------------- */

static bool code_words(const mv_colouring *c, uint64_t group, char *out, size_t size)
{
    uint32_t row = (uint32_t)group;
    int length;

    if (!(group & (MV_GROUP_NO_STACK | MV_GROUP_NO_PYTHON)) && c->mode == MV_COLOUR_SITE)
        return *mv_site_term(&c->document->trace, c->device->site_colours.line_frame[row], out,
                             size) != 0;
    if (group & MV_GROUP_NO_STACK)
        length = snprintf(out, size, "nostack");
    else if (group & MV_GROUP_NO_PYTHON)
        length = snprintf(out, size, "nopython");
    else
        length = snprintf(out, size, "stack:%u", row);
    return length > 0 && (size_t)length < size;
}

/* Writes the search for a group without regard to leaks. */
static bool plain_words(const mv_colouring *c, uint64_t group, char *out, size_t size)
{
    const mv_trace *trace = &c->document->trace;
    uint32_t row = (uint32_t)group;
    char category[MV_SEARCH_LINE];
    int length = -1;

    if (mv_colouring_is_by_code(c))
        return code_words(c, group, out, size);
    if (c->mode == MV_COLOUR_SIZE)
        length = snprintf(out, size, "%s", size_words[row]);
    else if (c->mode == MV_COLOUR_LIFETIME)
        length = snprintf(out, size, "%s", life_words[row]);
    else if (c->mode == MV_COLOUR_CATEGORY && !(group & MV_GROUP_UNKNOWN))
        length = snprintf(
            out, size, "%s",
            mv_search_of_category(c->device->attribution.categories.name[row], category) + 1);
    else if (c->mode == MV_COLOUR_STREAM && group & MV_GROUP_UNKNOWN)
        length = snprintf(out, size, "stream:unknown");
    else if (c->mode == MV_COLOUR_STREAM)
        length =
            snprintf(out, size, trace->streams.value[row] > 9 ? "stream:0x%llx" : "stream:%llx",
                     (unsigned long long)trace->streams.value[row]);
    else if (c->mode == MV_COLOUR_POOL && group & MV_GROUP_UNKNOWN)
        length = snprintf(out, size, "pool:unknown");
    else if (c->mode == MV_COLOUR_POOL)
        length = snprintf(out, size, "pool:%llu,%llu", (unsigned long long)trace->pools.a[row],
                          (unsigned long long)trace->pools.b[row]);
    return length > 0 && (size_t)length < size;
}

static bool append(char *out, size_t size, const char *words)
{
    size_t length = strlen(out);
    int more = snprintf(out + length, size - length, "%s%s", length ? " " : "", words);

    return more >= 0 && length + (size_t)more < size;
}

static bool has_leaks(const mv_colouring *c)
{
    return c->is_evaluated && c->device->leaks.count > 0;
}

bool mv_group_words(const mv_colouring *c, uint64_t group, char *out, size_t size)
{
    char plain[MV_SEARCH_TEXT];

    *out = 0;
    if (group == MV_GROUP_LEAK && !mv_colouring_is_by_code(c))
        return append(out, size, "leak");
    if (!plain_words(c, group, plain, sizeof plain))
        return false;
    if (group & MV_GROUP_LEAK && !append(out, size, "leak"))
        return false;
    return append(out, size, plain) &&
           (group & MV_GROUP_LEAK || !has_leaks(c) || append(out, size, "-leak"));
}

bool mv_group_words_of_others(const mv_colouring *c, const uint64_t *groups, uint32_t count,
                              char *out, size_t size)
{
    char plain[MV_SEARCH_TEXT] = "-";

    *out = 0;
    if (mv_colouring_steps(c)) /* a step is written as two terms, but a '-' negates only one term */
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!(groups[i] & MV_GROUP_LEAK) &&
            (!plain_words(c, groups[i], plain + 1, sizeof plain - 1) || !append(out, size, plain)))
            return false;
    return !has_leaks(c) || append(out, size, "-leak");
}
