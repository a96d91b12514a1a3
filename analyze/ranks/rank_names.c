#include "analyze/ranks/rank_names.h"

#include "base/sort.h"
#include "base/text.h"

/* Returns the `back`th character from the end of the path. Slashes and the start of the path are
 * less than all other characters. */
static int letter(const char *path, size_t length, size_t back)
{
    if (back >= length || path[length - 1 - back] == '/')
        return 0;
    return (unsigned char)path[length - 1 - back];
}

/* Sorts by the last component of the path, then by the folders from the innermost to the outermost,
 * so that paths with the most components in common are neighbours. */
static int compare_paths(const char *a, const char *b)
{
    size_t m = strlen(a), n = strlen(b), most = m > n ? m : n;

    for (size_t i = 0; i < most; i++)
        if (letter(a, m, i) != letter(b, n, i))
            return letter(a, m, i) < letter(b, n, i) ? -1 : 1;
    return strcmp(a, b);
}

static int in_order(const void *left, const void *right, const void *context)
{
    const mv_rank_place *places = context;
    const mv_rank_place *a = &places[*(const uint32_t *)left];
    const mv_rank_place *b = &places[*(const uint32_t *)right];
    int order = compare_paths(a->path, b->path);

    return order ? order : (a->device > b->device) - (a->device < b->device);
}

/* Returns the start of the component that ends before `end`. */
static size_t part_start(const char *path, size_t end)
{
    while (end > 0 && path[end - 1] != '/')
        end--;
    return end;
}

/* Returns the number of components that two different paths have in common at their ends. */
static uint32_t common_parts(const char *a, const char *b)
{
    size_t m = strlen(a), n = strlen(b);
    uint32_t common = 0;

    while (m > 0 && n > 0) {
        size_t i = part_start(a, m), j = part_start(b, n);
        if (m - i != n - j || memcmp(a + i, b + j, m - i) != 0)
            break;
        common++;
        m = i > 0 ? i - 1 : 0;
        n = j > 0 ? j - 1 : 0;
    }
    return common;
}

/* Returns the last `parts` components of a path, or the whole path. */
static const char *last_parts(const char *path, uint32_t parts)
{
    size_t start = strlen(path);

    for (uint32_t i = 0; i < parts && start > 0; i++)
        start = part_start(path, i ? start - 1 : start);
    return path[start] ? path + start : path;
}

typedef struct {
    const mv_rank_place *places;
    const uint32_t *order; /* [count] */
    uint32_t count;
} listing;

static const char *path_at(const listing *l, uint32_t i)
{
    return l->places[l->order[i]].path;
}

/* Names the devices [first, end) of the order, which are all from one file. */
static bool name_file(mv_arena *arena, const listing *l, uint32_t first, uint32_t end,
                      const char **out)
{
    const char *path = path_at(l, first), *name;
    uint32_t before = first ? common_parts(path_at(l, first - 1), path) : 0;
    uint32_t after = end < l->count ? common_parts(path, path_at(l, end)) : 0;
    bool is_several = l->places[l->order[first]].device != l->places[l->order[end - 1]].device;

    name = last_parts(path, 1 + (before > after ? before : after));
    for (uint32_t i = first; i < end; i++) {
        uint32_t at = l->order[i], device = l->places[at].device;
        if (is_several && end - first == l->count)
            out[at] = mv_arena_printf(arena, "device %u", device);
        else if (is_several)
            out[at] = mv_arena_printf(arena, "%s device %u", name, device);
        else
            out[at] = mv_arena_text(arena, name, strlen(name));
        if (!out[at])
            return false;
    }
    return true;
}

const char **mv_rank_names(mv_arena *arena, const mv_rank_place *places, uint32_t count)
{
    const char **out = mv_push_array(arena, const char *, count);
    uint32_t *order = mv_push_array(arena, uint32_t, count);
    listing l = {places, order, count};

    if (!out || !order)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    mv_sort_by(arena, order, count, sizeof *order, in_order, places);
    for (uint32_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && strcmp(path_at(&l, first), path_at(&l, end)) == 0;)
            end++;
        if (!name_file(arena, &l, first, end, out))
            return NULL;
    }
    return out;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t digits(const char *text)
{
    size_t count = 0;

    while (is_digit(text[count]))
        count++;
    return count;
}

/* Compares paths. Numbers in paths are compared as numbers: without leading zeros, the number with
 * more digits is larger. */
static int compare_numbered(const char *a, const char *b)
{
    while (*a && *b) {
        size_t m, n;
        int order;
        if (!is_digit(*a) || !is_digit(*b)) {
            if (*a != *b)
                break;
            a++;
            b++;
            continue;
        }
        for (; *a == '0'; a++)
            ;
        for (; *b == '0'; b++)
            ;
        m = digits(a);
        n = digits(b);
        order = m != n ? (m > n) - (m < n) : memcmp(a, b, m);
        if (order)
            return order;
        a += m;
        b += n;
    }
    return (unsigned char)*a - (unsigned char)*b;
}

static int by_number(const void *left, const void *right, const void *context)
{
    const mv_rank_place *places = context;
    const mv_rank_place *a = &places[*(const uint32_t *)left];
    const mv_rank_place *b = &places[*(const uint32_t *)right];
    int order = compare_numbered(a->path, b->path);

    return order ? order : (a->device > b->device) - (a->device < b->device);
}

uint32_t *mv_rank_order(mv_arena *arena, const mv_rank_place *places, uint32_t count)
{
    uint32_t *order = mv_push_array(arena, uint32_t, count);

    for (uint32_t i = 0; order && i < count; i++)
        order[i] = i;
    if (order)
        mv_sort_by(arena, order, count, sizeof *order, by_number, places);
    return order;
}
