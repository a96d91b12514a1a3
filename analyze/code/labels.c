#include "analyze/code/labels.h"

#include <stdio.h>

#include "base/size.h"
#include "base/sort.h"
#include "base/text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    LABEL_SIZE = 512,
    MOST_ADDED = 6,  /* maximum number of frames added to a label */
    MOST_PARTS = 12, /* maximum number of a path's folders shown */
    REACH = 24,      /* number of frames compared, from the culprit and from the innermost frame */
    MANY = 500,      /* maximum number of rows that share a label */
    REACH_OF_MANY = 6,
    ROUNDS = 5,
    NO_POSITION = -1 /* value for a frame that is not in the stack */
};

/* The direction in which frames of rows are compared. Positions are counted in shown frames, either
 * outwards from the innermost frame, or from the culprit inwards or outwards. */
typedef enum { FROM_LEAF, INWARDS, OUTWARDS } direction;

typedef struct {
    direction from;
    uint32_t steps;
    mv_frame_kind most; /* less specific frames are skipped */
} frame_place;

typedef struct {
    const mv_labelled *row;
    const mv_frame_id *frames;
    uint32_t count;
    uint32_t number; /* row number, from 0 */
    int64_t culprit; /* position of the culprit; NO_POSITION: no frames */
    bool is_native;  /* the stack has no Python frames */
    uint32_t parts;  /* number of folders shown in the culprit's path */
    uint32_t added;  /* number of frames added to the label */
    int64_t position[MOST_ADDED];
    uint64_t value;   /* key by which the rows of a cluster are sorted */
    const char *text; /* the label */
} label_row;

typedef struct {
    mv_arena *arena;
    label_row *items;
    const mv_trace *trace; /* the first row's trace */
    uint64_t *hash;        /* [frames.count] hashes of the frames' labels; 0: not computed yet */
    bool is_spent;         /* out of memory */
} label_maker;

static uint64_t hash_text(const char *text)
{
    return XXH3_64bits(text, strlen(text));
}

static mv_frame_kind kind_at(const label_row *i, int64_t position)
{
    return (mv_frame_kind)i->row->kinds[i->frames[position].row];
}

/* ---- strings ----------------------------------------------------------------------------- */

/* Writes the last `parts` folders of the frame's path, with a slash at the end. */
static void put_folders(const mv_labelled *row, mv_frame_id frame, uint32_t parts, char *out,
                        size_t size)
{
    const char *path = mv_string_text(row->trace, row->trace->frames.file[frame.row]);
    const char *end = strrchr(path, '/'), *start;

    *out = 0;
    if (!end || parts == 0)
        return;
    for (start = end; start > path && parts > 0;)
        parts -= *--start == '/';
    start += *start == '/' && start > path;
    snprintf(out, size, "%.*s", (int)(end + 1 - start), start);
}

static size_t add_text(char *out, size_t used, const char *text)
{
    int length = used < LABEL_SIZE ? snprintf(out + used, LABEL_SIZE - used, "%s", text) : 0;

    return length > 0 ? used + (size_t)length : used;
}

static void write_label(const label_row *i, char out[LABEL_SIZE])
{
    char label[LABEL_SIZE], folders[LABEL_SIZE];
    size_t used = 0;
    int64_t last = INT64_MAX;

    if (i->culprit == NO_POSITION) {
        mv_culprit_label(i->row->trace, i->row->kinds, i->row->stack, out, LABEL_SIZE);
        return;
    }
    for (uint32_t n = 0; n <= i->added; n++) { /* the outermost remaining frame */
        int64_t next = i->culprit < last ? i->culprit : NO_POSITION;
        for (uint32_t k = 0; k < i->added; k++)
            if (i->position[k] < last && i->position[k] > next)
                next = i->position[k];
        if (next == NO_POSITION)
            break;
        if (n > 0)
            used = add_text(out, used, " > ");
        put_folders(i->row, i->frames[next], next == i->culprit ? i->parts : 0, folders,
                    sizeof folders);
        used = add_text(out, used, folders);
        mv_frame_label(i->row->trace, i->frames[next], label, sizeof label);
        used = add_text(out, used, label);
        last = next;
    }
}

static void set_text(label_maker *l, label_row *i, const char *label)
{
    i->text = mv_arena_text(l->arena, label, strlen(label));
    l->is_spent = l->is_spent || !i->text;
}

static void make_text(label_maker *l, label_row *i)
{
    char label[LABEL_SIZE];

    write_label(i, label);
    set_text(l, i, label);
}

/* ---- rows -------------------------------------------------------------------------------- */

static void add_frame(label_row *i, int64_t position)
{
    for (uint32_t k = 0; k < i->added; k++)
        if (i->position[k] == position)
            return;
    if (position != i->culprit && i->added < MOST_ADDED)
        i->position[i->added++] = position;
}

static void open_item(label_row *i, const mv_labelled *row, uint32_t number, bool shows_inner)
{
    mv_frame_id culprit = mv_culprit_frame(row->trace, row->kinds, row->stack);

    *i = (label_row){.row = row, .number = number, .culprit = NO_POSITION};
    i->frames = mv_stack_frames(row->trace, row->stack, &i->count);
    for (uint32_t k = 0; k < i->count && i->culprit == NO_POSITION; k++)
        if (i->frames[k].row == culprit.row)
            i->culprit = k;
    if (i->culprit == NO_POSITION)
        return;
    i->is_native = kind_at(i, i->culprit) > MV_FRAME_FRAMEWORK;
    if (!shows_inner || kind_at(i, i->culprit) != MV_FRAME_USER)
        return;
    for (int64_t k = 0; k < i->culprit; k++)
        if (kind_at(i, k) == MV_FRAME_PACKAGE) {
            add_frame(i, k);
            return;
        }
}

/* ---- differences between rows ------------------------------------------------------------ */

/* Returns the position of the frame at `p` in a row's stack, or NO_POSITION. */
static int64_t position_at(const label_row *i, frame_place p)
{
    int64_t step = p.from == INWARDS ? -1 : 1;
    int64_t at = p.from == FROM_LEAF ? 0 : i->culprit + step;
    int64_t end = p.from == FROM_LEAF ? i->culprit : i->count;
    uint32_t steps = p.steps;

    if (i->culprit == NO_POSITION)
        return NO_POSITION;
    for (; at >= 0 && at < end; at += step)
        if (kind_at(i, at) <= p.most && steps-- == 0)
            return at;
    return NO_POSITION;
}

static uint64_t value_at(const label_maker *l, const label_row *i, frame_place p)
{
    int64_t position = position_at(i, p);
    char label[LABEL_SIZE];
    uint64_t *known, hash;

    if (position == NO_POSITION)
        return 0;
    known = i->row->trace == l->trace ? &l->hash[i->frames[position].row] : NULL;
    if (known && *known)
        return *known;
    hash = hash_text(mv_frame_label(i->row->trace, i->frames[position], label, sizeof label));
    if (known)
        *known = hash;
    return hash;
}

static uint32_t count_values(label_row *items, uint32_t count)
{
    uint32_t values = 1;

    mv_sort_rows(NULL, items, count, MV_RISING(label_row, value), MV_RISING(label_row, number));
    for (uint32_t i = 1; i < count; i++)
        values += items[i].value != items[i - 1].value;
    return values;
}

static uint32_t values_at(const label_maker *l, label_row *items, uint32_t count, frame_place p)
{
    for (uint32_t i = 0; i < count; i++)
        items[i].value = value_at(l, &items[i], p);
    return count_values(items, count);
}

/* Finds the first position at which the most rows differ. Returns false if the rows are equal at
 * all positions. */
static bool find_place(const label_maker *l, label_row *items, uint32_t count, mv_frame_kind most,
                       frame_place *best)
{
    uint32_t best_values = 1, reach = count > MANY ? REACH_OF_MANY : REACH;

    for (direction from = FROM_LEAF; from <= OUTWARDS; from++)
        for (uint32_t steps = 0; steps < reach && best_values < count; steps++) {
            frame_place p = {from, steps, most};
            uint32_t values = values_at(l, items, count, p);
            if (values > best_values) {
                best_values = values;
                *best = p;
            }
        }
    return best_values > 1;
}

/* Calls `each` for every run of items with equal values. */
static void each_run(label_maker *l, label_row *items, uint32_t count,
                     void (*each)(label_maker *, label_row *, uint32_t, uint32_t depth),
                     uint32_t depth)
{
    for (uint32_t start = 0, end; start < count; start = end) {
        for (end = start + 1; end < count && items[end].value == items[start].value;)
            end++;
        each(l, items + start, end - start, depth);
    }
}

/* ---- making labels different ------------------------------------------------------------- */

/* Adds the size, and then a number, to the labels of rows whose stacks are equal. */
static void add_sizes(label_maker *l, label_row *items, uint32_t count)
{
    char label[LABEL_SIZE + 64], size[MV_SIZE_TEXT];
    uint32_t sizes, same = 0;

    for (uint32_t i = 0; i < count; i++)
        items[i].value = hash_text(mv_size_text(size, items[i].row->bytes));
    sizes = count_values(items, count);
    for (uint32_t i = 0; i < count; i++) {
        write_label(&items[i], label);
        if (sizes > 1)
            mv_text_append(label, sizeof label, " (%s)", mv_size_text(size, items[i].row->bytes));
        same = i > 0 && items[i].value == items[i - 1].value ? same + 1 : 0;
        if (same > 0)
            mv_text_append(label, sizeof label, " #%u", same + 1);
        set_text(l, &items[i], label);
    }
}

/* Adds a frame to the labels of rows that share a label, and repeats this for rows that still share
 * a label. */
static void add_frames(label_maker *l, label_row *items, uint32_t count, uint32_t depth)
{
    mv_frame_kind code = items[0].is_native ? MV_FRAME_INFORMATIVE : MV_FRAME_PACKAGE;
    mv_frame_kind all = items[0].is_native ? MV_FRAME_NOISE : MV_FRAME_FRAMEWORK;
    frame_place p;

    if (count == 1) {
        make_text(l, items);
        return;
    }
    if (depth == MOST_ADDED ||
        (!find_place(l, items, count, code, &p) && !find_place(l, items, count, all, &p))) {
        add_sizes(l, items, count);
        return;
    }
    values_at(l, items, count, p);
    for (uint32_t i = 0; i < count; i++)
        if (items[i].value != 0)
            add_frame(&items[i], position_at(&items[i], p));
    each_run(l, items, count, add_frames, depth + 1);
}

/* Returns the number of files that the last `parts` folders of their paths distinguish. */
static uint32_t count_folders(label_row *items, uint32_t count, uint32_t parts)
{
    char folders[LABEL_SIZE];

    for (uint32_t i = 0; i < count; i++) {
        put_folders(items[i].row, items[i].frames[items[i].culprit], parts, folders,
                    sizeof folders);
        items[i].value = hash_text(folders);
    }
    return count_values(items, count);
}

/* Adds folders to labels of files with equal names until the files differ. */
static void add_folders(label_maker *l, label_row *items, uint32_t count)
{
    uint32_t files = count_folders(items, count, UINT32_MAX), parts = 0;

    for (uint32_t seen = 1; seen < files && parts < MOST_PARTS;)
        seen = count_folders(items, count, ++parts);
    for (uint32_t i = 0; i < count; i++)
        items[i].parts = parts;
    each_run(l, items, count, add_frames, 0);
}

static void separate_cluster(label_maker *l, label_row *items, uint32_t count, uint32_t round)
{
    if (count == 1)
        return;
    if (round == ROUNDS - 1)
        add_sizes(l, items, count);
    else if (round > 0 || items[0].culprit == NO_POSITION || items[0].is_native)
        add_frames(l, items, count, 0);
    else
        add_folders(l, items, count);
}

/* Makes equal labels different. One round is not always enough if frames were skipped, because "a >
 * c" may also mean a > b > c. Returns false when all labels are different. */
static bool separate_round(label_maker *l, uint32_t count, uint32_t round)
{
    for (uint32_t i = 0; i < count; i++)
        l->items[i].value =
            hash_text(l->items[i].text) ^ l->items[i].row->key * 0x9e3779b97f4a7c15u;
    if (count_values(l->items, count) == count || count == 0)
        return false;
    each_run(l, l->items, count, separate_cluster, round);
    return true;
}

const char **mv_labels_find(mv_arena *arena, const mv_labelled *rows, uint32_t count,
                            bool shows_inner)
{
    const char **labels = mv_push_array(arena, const char *, count);
    label_maker l = {.arena = arena};
    mv_arena scratch;

    mv_arena_init(&scratch, arena->budget);
    l.items = mv_push_array(&scratch, label_row, count);
    l.trace = count ? rows[0].trace : NULL;
    l.hash = count ? mv_push_array(&scratch, uint64_t, l.trace->frames.count) : NULL;
    l.is_spent = !labels || !l.items || (count && !l.hash);
    for (uint32_t i = 0; i < count && !l.is_spent; i++) {
        open_item(&l.items[i], &rows[i], i, shows_inner);
        make_text(&l, &l.items[i]);
    }
    for (uint32_t round = 0; round < ROUNDS && !l.is_spent; round++)
        if (!separate_round(&l, count, round))
            break;
    if (!l.is_spent)
        mv_sort_rows(&scratch, l.items, count, MV_RISING(label_row, number));
    for (uint32_t i = 0; i < count && !l.is_spent; i++)
        labels[i] = l.items[i].text;
    mv_arena_release(&scratch);
    return l.is_spent ? NULL : labels;
}

const char **mv_labels_of_rows(mv_arena *arena, const mv_trace *trace, const uint8_t *kinds,
                               const void *rows, uint32_t count, size_t size, size_t stack,
                               size_t bytes)
{
    mv_labelled *labelled = mv_push_array(arena, mv_labelled, count);

    for (uint32_t i = 0; labelled && i < count; i++) {
        const char *row = (const char *)rows + i * size;
        labelled[i] = (mv_labelled){.trace = trace, .kinds = kinds};
        memcpy(&labelled[i].stack, row + stack, sizeof labelled[i].stack);
        memcpy(&labelled[i].bytes, row + bytes, sizeof labelled[i].bytes);
    }
    return labelled ? mv_labels_find(arena, labelled, count, false) : NULL;
}

static const char *with_operator(mv_arena *arena, const mv_trace *trace, const char *label,
                                 mv_tag_id tag)
{
    const char *op = mv_string_text(trace, trace->tags.op[tag.row]);
    const char *shapes = mv_string_text(trace, trace->tags.shapes[tag.row]);

    if (strcmp(op, label) == 0)
        return *shapes ? mv_arena_printf(arena, "%s %s", label, shapes) : label;
    return mv_arena_printf(arena, "%s \xc2\xb7 %s%s%s", label, op, *shapes ? " " : "", shapes);
}

const char **mv_labels_operators(mv_arena *arena, const mv_trace *trace, const char **labels,
                                 const void *rows, uint32_t count, size_t size, size_t tag)
{
    for (uint32_t i = 0; labels && i < count; i++) {
        const mv_tag_id *of = (const void *)((const char *)rows + i * size + tag);
        if (trace->tags.op[of->row].row == MV_NO_ROW)
            continue;
        labels[i] = with_operator(arena, trace, labels[i], *of);
        if (!labels[i])
            return NULL;
    }
    return labels;
}
