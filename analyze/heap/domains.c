#include "analyze/heap/domains.h"

#include "base/search.h"
#include "base/sort.h"

/* The domain of one segment, before domains are numbered. */
typedef struct {
    uint32_t segment;
    uint32_t pool;
    uint32_t stream;
    uint8_t kind;
} segment_domain;

static int compare(uint8_t kind, uint32_t pool, uint32_t stream, const segment_domain *b)
{
    if (kind != b->kind)
        return kind < b->kind ? -1 : 1;
    if (pool != b->pool)
        return pool < b->pool ? -1 : 1;
    return (stream > b->stream) - (stream < b->stream);
}

static void number(const segment_domain *of, uint32_t count, mv_domains *out)
{
    for (uint32_t i = 0; i < count; i++) {
        const segment_domain *b = &of[i];
        if (i == 0 || compare(b->kind, b->pool, b->stream, &of[i - 1]) != 0) {
            out->kind[out->count] = b->kind;
            out->pool[out->count] = (mv_pool_id){b->pool};
            out->stream[out->count++] = (mv_stream_id){b->stream};
        }
        out->of_segment[b->segment] = out->count - 1;
    }
}

static void find_spans(mv_domains *d)
{
    uint32_t pool = 0, kind = 0;

    for (uint32_t i = 0; i < d->count; i++) {
        if (d->kind[i] != d->kind[kind])
            kind = i;
        if (kind == i || d->pool[i].row != d->pool[pool].row)
            pool = i;
        d->same_pool[i].first = pool;
        d->same_kind[i].first = kind;
    }
    for (uint32_t i = d->count; i-- > 0;) {
        bool last = i + 1 == d->count;
        bool ends_kind = last || d->kind[i] != d->kind[i + 1];
        bool ends_pool = ends_kind || d->pool[i].row != d->pool[i + 1].row;
        d->same_kind[i].end = ends_kind ? i + 1 : d->same_kind[i + 1].end;
        d->same_pool[i].end = ends_pool ? i + 1 : d->same_pool[i + 1].end;
    }
}

static bool make_columns(mv_arena *arena, uint32_t segments, mv_domains *out)
{
    out->kind = mv_push_array(arena, uint8_t, segments);
    out->pool = mv_push_array(arena, mv_pool_id, segments);
    out->stream = mv_push_array(arena, mv_stream_id, segments);
    out->same_pool = mv_push_array(arena, mv_domain_span, segments);
    out->same_kind = mv_push_array(arena, mv_domain_span, segments);
    out->of_segment = mv_push_array(arena, uint32_t, segments);
    return out->kind && out->pool && out->stream && out->same_pool && out->same_kind &&
           out->of_segment;
}

bool mv_domains_find(mv_arena *arena, const mv_lives *lives, mv_domains *out)
{
    const mv_segment_lives *s = &lives->segments;
    segment_domain *of;
    mv_arena scratch;

    bool made;

    *out = (mv_domains){0};
    mv_arena_init(&scratch, arena->budget);
    of = mv_push_array(&scratch, segment_domain, s->count);
    made = of && make_columns(arena, s->count, out);
    if (made) {
        for (uint32_t i = 0; i < s->count; i++)
            of[i] =
                (segment_domain){i, mv_domain_pool(s->pool[i]).row, s->stream[i].row, s->kind[i]};
        mv_sort_rows(&scratch, of, s->count, MV_RISING(segment_domain, kind),
                     MV_RISING(segment_domain, pool), MV_RISING(segment_domain, stream));
        number(of, s->count, out);
        find_spans(out);
    }
    mv_arena_release(&scratch);
    return made;
}

uint32_t mv_domain_of(const mv_domains *domains, uint8_t kind, mv_pool_id pool, mv_stream_id stream)
{
    mv_bisect b = mv_bisect_over(0, domains->count);

    while (mv_bisect_next(&b)) {
        segment_domain row = {0, domains->pool[b.middle].row, domains->stream[b.middle].row,
                              domains->kind[b.middle]};
        int order = compare(kind, mv_domain_pool(pool).row, stream.row, &row);
        if (order == 0)
            return (uint32_t)b.middle;
        mv_bisect_narrow(&b, order > 0);
    }
    return MV_NO_ROW;
}
