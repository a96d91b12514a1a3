#include "tests/slow_allocator.h"

#include <criterion/criterion.h>
#include <string.h>

#define NONE  SLOW_BLOCKS
#define SPACE ((uint64_t)1 << 40)

void slow_init(slow_allocator *a, const mv_alloc_conf *conf, uint64_t limit, uint64_t addr,
               uint64_t space)
{
    memset(a, 0, sizeof *a);
    a->conf = *conf;
    a->limit = limit;
    a->next_addr = addr;
    a->next_space = space;
}

/* ---- the list ---------------------------------------------------------------------------- */

static unsigned insert(slow_allocator *a, slow_block b)
{
    unsigned i = 0;

    cr_assert_lt(a->count, (unsigned)SLOW_BLOCKS);
    while (i < a->count && a->block[i].addr < b.addr)
        i++;
    memmove(&a->block[i + 1], &a->block[i], (a->count - i) * sizeof b);
    a->block[i] = b;
    a->count++;
    return i;
}

static void erase(slow_allocator *a, unsigned i)
{
    a->count--;
    memmove(&a->block[i], &a->block[i + 1], (a->count - i) * sizeof a->block[i]);
}

static unsigned find(const slow_allocator *a, uint64_t addr)
{
    for (unsigned i = 0; i < a->count; i++)
        if (a->block[i].addr == addr)
            return i;
    return NONE;
}

const slow_block *slow_at(const slow_allocator *a, uint64_t addr)
{
    unsigned i = find(a, addr);

    return i == NONE ? NULL : &a->block[i];
}

static bool joins(const slow_allocator *a, unsigned i)
{
    return i + 1 < a->count && a->block[i].segment == a->block[i + 1].segment;
}

static bool is_split(const slow_allocator *a, unsigned i)
{
    return joins(a, i) || (i > 0 && joins(a, i - 1));
}

/* Cuts block i after `size` bytes; the upper part is i + 1. */
static void cut(slow_allocator *a, unsigned i, uint64_t size)
{
    slow_block upper = a->block[i];

    upper.addr += size;
    upper.size -= size;
    a->block[i].size = size;
    insert(a, upper);
}

/* Joins neighbours of one state; returns the joined block. */
static unsigned settle(slow_allocator *a, unsigned i)
{
    while (joins(a, i) && a->block[i + 1].state == a->block[i].state) {
        a->block[i].size += a->block[i + 1].size;
        erase(a, i + 1);
    }
    if (i > 0 && joins(a, i - 1) && a->block[i - 1].state == a->block[i].state) {
        a->block[i - 1].size += a->block[i].size;
        erase(a, i);
        i--;
    }
    a->block[i].since = a->calls[a->block[i].pool];
    return i;
}

/* ---- search ------------------------------------------------------------------------------ */

static bool is_before(const slow_block *x, const slow_block *y)
{
    if (x->stream != y->stream)
        return x->stream < y->stream;
    return x->size != y->size ? x->size < y->size : x->addr < y->addr;
}

/* The first free block of a pool, in its order, for which `than` comes before; NULL: the first. */
static unsigned after(const slow_allocator *a, unsigned pool, const slow_block *than)
{
    unsigned best = NONE;

    for (unsigned i = 0; i < a->count; i++) {
        const slow_block *b = &a->block[i];
        if (b->state != SLOW_FREE || b->pool != pool || (than && !is_before(than, b)))
            continue;
        if (best == NONE || is_before(b, &a->block[best]))
            best = i;
    }
    return best;
}

static unsigned after_in_stream(const slow_allocator *a, unsigned i)
{
    unsigned next = after(a, a->block[i].pool, &a->block[i]);

    return next == NONE || a->block[next].stream != a->block[i].stream ? NONE : next;
}

static uint64_t reach(const slow_allocator *a, unsigned i)
{
    uint64_t size = a->block[i].size;

    if (joins(a, i) && a->block[i + 1].state == SLOW_UNMAPPED)
        size += a->block[i + 1].size;
    return size;
}

static bool collects(const slow_allocator *a)
{
    return a->limit != UINT64_MAX && a->conf.gc_threshold > 0;
}

static unsigned search(slow_allocator *a, unsigned pool, uint64_t stream, uint64_t s)
{
    slow_block key = {.stream = stream, .size = s - 1, .addr = UINT64_MAX};
    uint64_t max_split = a->conf.rules.max_split;
    unsigned b, next;

    if (collects(a))
        a->calls[pool]++;
    b = after(a, pool, &key);
    if (b == NONE || a->block[b].stream != stream)
        return NONE;
    if (a->block[b].expandable) {
        if (a->conf.rules.expandable) {
            while (a->block[b].expandable && (next = after_in_stream(a, b)) != NONE &&
                   reach(a, next) < reach(a, b))
                b = next;
        } else {
            do {
                b = after_in_stream(a, b);
            } while (b != NONE && a->block[b].expandable);
            if (b == NONE)
                return NONE;
        }
    }
    if (s < max_split && a->block[b].size >= max_split)
        return NONE;
    if (s >= max_split && a->block[b].size >= s + a->conf.max_non_split_rounding)
        return NONE;
    return b;
}

/* ---- growth ------------------------------------------------------------------------------ */

static uint64_t up(uint64_t n, uint64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static uint64_t segment_size(const slow_allocator *a, uint64_t s)
{
    if (s <= 1 << 20)
        return 2 << 20;
    return s < 10 << 20 ? a->conf.large_segment : up(s, 2 << 20);
}

static uint64_t page_of(const slow_allocator *a, unsigned pool)
{
    return pool % 2 ? a->conf.large_segment : 2 << 20;
}

/* Maps pages from the start of unmapped block i on; the block that they become part of. */
static unsigned map(slow_allocator *a, unsigned i, uint64_t bytes)
{
    uint64_t size = up(bytes, page_of(a, a->block[i].pool));

    if (size < a->block[i].size)
        cut(a, i, size);
    a->block[i].state = SLOW_FREE;
    a->reserved += a->block[i].size;
    a->segment_allocs++;
    return settle(a, i);
}

static unsigned find_room(slow_allocator *a, unsigned pool, uint64_t stream, uint64_t s)
{
    slow_block space = {.stream = stream,
                        .pool = pool,
                        .expandable = true,
                        .state = SLOW_UNMAPPED,
                        .segment = ++a->next_segment,
                        .addr = a->next_space,
                        .start = a->next_space};

    for (unsigned i = 0; i < a->count; i++) {
        unsigned from = i;
        uint64_t sum = 0;
        if (a->block[i].state != SLOW_UNMAPPED || a->block[i].pool != pool ||
            a->block[i].stream != stream)
            continue;
        if (i > 0 && joins(a, i - 1) && a->block[i - 1].state == SLOW_FREE)
            from--;
        for (unsigned j = from;; j++) {
            if (a->block[j].state == SLOW_USED || a->block[j].state == SLOW_PENDING)
                break;
            sum += a->block[j].size;
            if (!joins(a, j))
                break;
        }
        if (sum >= s)
            return from;
    }
    a->next_space += SPACE;
    space.size = SPACE / page_of(a, pool) * page_of(a, pool);
    return insert(a, space);
}

static unsigned expand(slow_allocator *a, unsigned pool, uint64_t stream, uint64_t s)
{
    unsigned c = find_room(a, pool, stream, s);

    if (a->block[c].state == SLOW_UNMAPPED)
        c = map(a, c, a->block[c].size < s ? a->block[c].size : s);
    while (a->block[c].size < s) {
        uint64_t lacks = s - a->block[c].size, room = a->block[c + 1].size;
        c = map(a, c + 1, lacks < room ? lacks : room);
    }
    return c;
}

static unsigned grow(slow_allocator *a, unsigned pool, uint64_t stream, uint64_t s)
{
    slow_block b = {.size = segment_size(a, s), .stream = stream, .pool = pool};

    if (a->limit != UINT64_MAX && a->reserved + b.size > a->limit)
        return NONE;
    if (a->conf.rules.expandable)
        return expand(a, pool, stream, s);
    b.addr = b.start = a->next_addr;
    b.segment = ++a->next_segment;
    b.since = a->calls[pool];
    a->next_addr += b.size;
    a->reserved += b.size;
    a->segment_allocs++;
    return insert(a, b);
}

/* ---- release ----------------------------------------------------------------------------- */

static void free_segment(slow_allocator *a, unsigned i)
{
    a->reserved -= a->block[i].size;
    a->segment_frees++;
    erase(a, i);
}

static void unmap(slow_allocator *a, unsigned i)
{
    uint64_t page = page_of(a, a->block[i].pool), start = a->block[i].start;
    uint64_t low = start + up(a->block[i].addr - start, page);
    uint64_t high = start + (a->block[i].addr + a->block[i].size - start) / page * page;

    if (low >= high)
        return;
    if (low > a->block[i].addr) {
        cut(a, i, low - a->block[i].addr);
        i++;
    }
    if (a->block[i].size > high - low)
        cut(a, i, high - low);
    a->reserved -= high - low;
    a->segment_frees++;
    a->block[i].state = SLOW_UNMAPPED;
    settle(a, i);
}

static void release_pool(slow_allocator *a, unsigned pool)
{
    slow_block at = {0};
    bool any = false;

    for (unsigned i; (i = after(a, pool, any ? &at : NULL)) != NONE;) {
        at = a->block[i];
        any = true;
        if (!at.expandable && !is_split(a, i))
            free_segment(a, i);
    }
    for (bool again = true; again;) {
        again = false;
        for (unsigned i = 0; i < a->count && !again; i++) {
            uint64_t before = a->reserved;
            if (a->block[i].state == SLOW_FREE && a->block[i].pool == pool &&
                a->block[i].expandable)
                unmap(a, i);
            again = a->reserved != before;
        }
    }
}

void slow_empty_cache(slow_allocator *a)
{
    for (bool again = true; again;) {
        unsigned first = NONE;
        for (unsigned i = 0; i < a->count; i++)
            if (a->block[i].state == SLOW_PENDING &&
                (first == NONE || a->block[i].asked < a->block[first].asked))
                first = i;
        again = first != NONE;
        if (again)
            slow_complete_free(a, a->block[first].addr);
    }
    release_pool(a, 1);
    release_pool(a, 0);
}

static bool release_available(slow_allocator *a, unsigned pool, uint64_t stream, uint64_t s)
{
    uint64_t max_split = a->conf.rules.max_split, freed = 0;
    uint64_t want = s > max_split ? s : max_split;
    slow_block key = {.stream = stream, .size = want - 1, .addr = UINT64_MAX};
    unsigned b;

    if (max_split == UINT64_MAX)
        return false;
    b = after(a, pool, &key);
    if (b != NONE && a->block[b].stream == stream && !a->block[b].expandable) {
        free_segment(a, b);
        return true;
    }
    while (freed < want) {
        unsigned last = NONE;
        for (unsigned i = 0; i < a->count; i++)
            if (a->block[i].state == SLOW_FREE && a->block[i].pool == pool &&
                a->block[i].stream == stream && !a->block[i].expandable &&
                a->block[i].size < want && a->block[i].size >= max_split &&
                (last == NONE || is_before(&a->block[last], &a->block[i])))
                last = i;
        if (last == NONE)
            break;
        freed += a->block[last].size;
        free_segment(a, last);
    }
    return freed >= want;
}

static void collect(slow_allocator *a)
{
    double keep = a->conf.gc_threshold * (double)a->limit;
    uint64_t target, freed = 0;

    if (a->reserved <= (uint64_t)keep)
        return;
    target = a->reserved - (uint64_t)keep;
    for (bool some = true; some && freed < target;) {
        double ages = 0, count = 0;
        slow_block at = {0};
        bool any = false;
        some = false;
        for (unsigned i = 0; i < a->count; i++)
            if (a->block[i].state == SLOW_FREE && a->block[i].pool == 1 && !is_split(a, i)) {
                ages += (double)(a->calls[1] - a->block[i].since);
                count++;
            }
        for (unsigned i; (i = after(a, 1, any ? &at : NULL)) != NONE;) {
            at = a->block[i];
            any = true;
            if (is_split(a, i) || at.expandable || (double)(a->calls[1] - at.since) < ages / count)
                continue;
            freed += at.size;
            some = true;
            free_segment(a, i);
        }
    }
}

/* ---- malloc and free --------------------------------------------------------------------- */

static unsigned obtain(slow_allocator *a, unsigned pool, uint64_t stream, uint64_t s,
                       bool capturing)
{
    unsigned b;

    if (collects(a))
        collect(a);
    b = grow(a, pool, stream, s);
    if (b == NONE && release_available(a, pool, stream, s))
        b = grow(a, pool, stream, s);
    if (b == NONE && !capturing) {
        slow_empty_cache(a);
        b = grow(a, pool, stream, s);
    }
    return b;
}

uint64_t slow_malloc(slow_allocator *a, uint64_t bytes, uint64_t stream, unsigned pool_id,
                     bool capturing)
{
    uint64_t s = mv_round_request(&a->conf.rules, bytes), rest;
    unsigned pool = 2 * pool_id + (s > 1 << 20), b = search(a, pool, stream, s);

    if (b == NONE)
        b = obtain(a, pool, stream, s, capturing);
    if (b == NONE) {
        a->ooms++;
        return 0;
    }
    rest = a->block[b].size - s;
    if (pool % 2 == 0 || a->conf.rules.expandable ? rest >= 512
                                                  : s < a->conf.rules.max_split && rest > 1 << 20) {
        cut(a, b, s);
        a->block[b + 1].since = a->calls[pool];
    }
    a->block[b].state = SLOW_USED;
    a->allocated += a->block[b].size;
    a->active += a->block[b].size;
    return a->block[b].addr;
}

void slow_request_free(slow_allocator *a, uint64_t addr)
{
    unsigned i = find(a, addr);

    a->block[i].state = SLOW_PENDING;
    a->block[i].asked = ++a->next_asked;
    a->allocated -= a->block[i].size;
}

void slow_complete_free(slow_allocator *a, uint64_t addr)
{
    unsigned i = find(a, addr);

    a->active -= a->block[i].size;
    a->block[i].state = SLOW_FREE;
    settle(a, i);
}
