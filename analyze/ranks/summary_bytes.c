#include "analyze/ranks/summary_bytes.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyze/ranks/summary_code.h"
#include "base/grow.h"

/* Minimum number of bytes per item of each kind. A count that is too large for the file is
 * refused. */
enum {
    LEAST_SUMMARY = 133,
    LEAST_TEXT = 4,
    FRAME_BYTES = 16,
    LEAST_STACK = 4,
    LEAST_SITE = 41,
    POINT_BYTES = 36
};

bool mv_summary_probe(mv_span head)
{
    return head.length >= MV_SUMMARY_MAGIC_BYTES &&
           memcmp(head.data, MV_SUMMARY_MAGIC, MV_SUMMARY_MAGIC_BYTES) == 0;
}

/* ---- writing ----------------------------------------------------------------------------- */

typedef struct {
    mv_arena *arena;
    uint8_t *data;
    uint64_t length, capacity;
    bool failed;
} writer;

static void put(writer *w, const void *data, uint64_t length)
{
    if (!mv_room_for(w->arena, w->data, w->length + length, w->capacity)) {
        w->failed = true;
        return;
    }
    memcpy(w->data + w->length, data, length);
    w->length += length;
}

static void put_u8(writer *w, uint32_t value)
{
    put(w, &(uint8_t){(uint8_t)value}, 1);
}

static void put_u32(writer *w, uint32_t value)
{
    put(w, &value, sizeof value);
}

static void put_u64(writer *w, uint64_t value)
{
    put(w, &value, sizeof value);
}

static void put_text(writer *w, mv_span text)
{
    put_u32(w, (uint32_t)text.length);
    put(w, text.data, (uint32_t)text.length);
}

/* Returns the doubts about both peaks in the form that older versions read, and which of the two
 * peaks is exact. */
static uint32_t flags_of(const mv_summary *s)
{
    mv_bound both = s->allocated | s->reserved;

    return (uint32_t)(both == MV_BOUND_EXACT) | (uint32_t)s->is_cut << 1 |
           (uint32_t)s->is_missing_reserved << 2 | (uint32_t)s->is_missing_failures << 3 |
           (uint32_t)((both & MV_BOUND_MOST) != 0) << 4 | (uint32_t)(both == MV_BOUND_MOST) << 5 |
           (uint32_t)(s->allocated == MV_BOUND_EXACT) << 6 |
           (uint32_t)(s->reserved == MV_BOUND_EXACT) << 7;
}

/* Members in the order of the file, for writing and for reading. */
#define FIRST_FACTS(X, s) \
    X(u32, s, device)     \
    X(u8, s, history)     \
    X(u8, s, verdict)     \
    X(u8, s, steps_source)
#define OTHER_FACTS(X, s)     \
    X(u32, s, steps)          \
    X(u64, s, events)         \
    X(u64, s, allocs)         \
    X(u64, s, ooms)           \
    X(u64, s, peak_allocated) \
    X(u64, s, peak_reserved)  \
    X(u64, s, end_allocated)  \
    X(u64, s, leaked_bytes)
#define SITE_FIELDS(X, s)  \
    X(u32, s, peak_blocks) \
    X(u64, s, peak_bytes)  \
    X(u64, s, allocs)      \
    X(u64, s, requested)
#define POINT_FIELDS(X, p) \
    X(u64, p, chain)       \
    X(u64, p, shape)       \
    X(u64, p, key)         \
    X(u64, p, size)        \
    X(u32, p, event)
#define PUT(bits, of, member)  put_##bits(w, (of)->member);
#define TAKE(bits, of, member) (of)->member = mv_take_##bits(&r->c);

static void put_facts(writer *w, const mv_summary *s)
{
    put_text(w, (mv_span){(const uint8_t *)s->name, strlen(s->name)});
    FIRST_FACTS(PUT, s)
    put_u8(w, flags_of(s));
    OTHER_FACTS(PUT, s)
}

static void put_code(writer *w, const mv_trace *code)
{
    put_u32(w, code->strings.count);
    for (uint32_t i = 0; i < code->strings.count; i++)
        put_text(w, mv_string_span(code, (mv_string_id){i}));
    put_u32(w, code->frames.count);
    for (uint32_t i = 0; i < code->frames.count; i++) {
        put_u32(w, code->frames.function[i].row);
        put_u32(w, code->frames.file[i].row);
        put_u64(w, (uint64_t)code->frames.line[i]);
    }
    put_u32(w, code->stacks.count);
    for (uint32_t i = 0; i < code->stacks.count; i++) {
        uint32_t count;
        const mv_frame_id *frames = mv_stack_frames(code, (mv_stack_id){i}, &count);
        put_u32(w, count);
        for (uint32_t k = 0; k < count; k++)
            put_u32(w, frames[k].row);
    }
}

static void put_point(writer *w, const mv_summary_point *p)
{
    POINT_FIELDS(PUT, p)
}

static void put_points(writer *w, const mv_summary *s)
{
    uint32_t skip = 0;

    while (s->points >> skip > MV_SUMMARY_FILE_POINTS)
        skip++;
    put_u8(w, s->stride + skip);
    put_u32(w, s->points >> skip);
    for (uint32_t i = 0; i < s->points >> skip; i++)
        put_point(w, &s->point[((i + 1) << skip) - 1]);
    put_point(w, &s->end);
}

static void put_sizes(writer *w, const mv_summary_site *site)
{
    uint32_t count = 0;

    while (count < MV_SUMMARY_SIZES && site->times[count])
        count++;
    put_u8(w, count);
    for (uint32_t i = 0; i < count; i++) {
        put_u64(w, site->size[i]);
        put_u32(w, site->times[i]);
    }
}

static void put_summary(writer *w, const mv_summary *s)
{
    put_facts(w, s);
    put_code(w, s->code);
    put_u32(w, s->leak_stack.row);
    put_u32(w, s->sites);
    for (uint32_t i = 0; i < s->sites; i++) {
        const mv_summary_site *site = &s->site[i];
        put_u64(w, site->key);
        put_u32(w, site->stack.row);
        SITE_FIELDS(PUT, site)
        put_sizes(w, site);
    }
    put_points(w, s);
}

mv_code mv_summaries_encode(mv_arena *arena, const mv_summary *const *summaries, uint32_t count,
                            mv_span *out, mv_err *err)
{
    writer w = {.arena = arena};

    put(&w, MV_SUMMARY_MAGIC, MV_SUMMARY_MAGIC_BYTES);
    put_u32(&w, MV_SUMMARY_VERSION);
    put_u32(&w, count);
    put_u64(&w, 0);
    put_u64(&w, 0);
    for (uint32_t i = 0; i < count; i++)
        put_summary(&w, summaries[i]);
    if (w.failed)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "summaries");
    uint64_t payload = w.length - MV_SUMMARY_HEADER;
    memcpy(w.data + 16, &payload, sizeof payload);
    uint64_t hash = XXH3_64bits(w.data + MV_SUMMARY_HEADER, payload);
    memcpy(w.data + 24, &hash, sizeof hash);
    *out = (mv_span){w.data, w.length};
    return MV_OK;
}

/* ---- reading ----------------------------------------------------------------------------- */

typedef struct {
    mv_arena *arena;
    mv_shared_parts *shared;
    mv_cursor c;
    mv_err *err;
} reader;

static mv_code no_memory(reader *r)
{
    return mv_fail(r->err, MV_NOMEM, MV_NO_OFFSET, "summaries");
}

static mv_code out_of_range(reader *r, const char *what)
{
    return mv_fail(r->err, MV_RANGE, r->c.at, "%s", what);
}

/* Reads a number of items, each of which takes at least `least` bytes. */
static mv_code take_count(reader *r, uint32_t least, const char *what, uint32_t *out)
{
    *out = mv_take_u32(&r->c);
    if (r->c.overrun || *out > (r->c.span.length - r->c.at) / least)
        return mv_fail(r->err, MV_TRUNCATED, r->c.at, "%s", what);
    return MV_OK;
}

static mv_code take_text(reader *r, const char *what, mv_span *out)
{
    uint32_t length = mv_take_u32(&r->c);

    out->length = length;
    out->data = mv_take_bytes(&r->c, length);
    return r->c.overrun ? mv_fail(r->err, MV_TRUNCATED, r->c.at, "%s", what) : MV_OK;
}

/* Returns the bounds of the peaks. Files of older versions contain only lower bounds. */
static mv_bound peaks_of(uint32_t flags)
{
    return flags & 1    ? MV_BOUND_EXACT
           : flags & 32 ? MV_BOUND_MOST
           : flags & 16 ? MV_BOUND_ABOUT
                        : MV_BOUND_LEAST;
}

static mv_code take_facts(reader *r, mv_summary *s)
{
    mv_span name;
    uint8_t flags;
    mv_code code = take_text(r, "name", &name);

    if (code != MV_OK)
        return code;
    s->name = mv_arena_text(r->arena, (const char *)name.data, name.length);
    if (!s->name)
        return no_memory(r);
    FIRST_FACTS(TAKE, s)
    flags = mv_take_u8(&r->c);
    s->allocated = flags & 64 ? MV_BOUND_EXACT : peaks_of(flags);
    s->reserved = flags & 128 ? MV_BOUND_EXACT : peaks_of(flags);
    s->is_cut = flags >> 1 & 1;
    s->is_missing_reserved = flags >> 2 & 1;
    s->is_missing_failures = flags >> 3 & 1;
    OTHER_FACTS(TAKE, s)
    if (r->c.overrun)
        return mv_fail(r->err, MV_TRUNCATED, r->c.at, "facts");
    if (s->history >= MV_HISTORY_COUNT || s->verdict > MV_VERDICT_LEAK ||
        s->steps_source > MV_STEPS_INFERRED || s->allocs > UINT32_MAX || s->device > INT32_MAX)
        return out_of_range(r, "facts");
    return MV_OK;
}

static mv_code take_strings(reader *r, mv_trace *out)
{
    mv_strings *s = &out->strings;
    uint64_t bytes = 0;
    uint32_t count;
    mv_cursor first;
    mv_span text;
    mv_code code = take_count(r, LEAST_TEXT, "strings", &count);

    first = r->c;
    for (uint32_t i = 0; i < count && code == MV_OK; i++) {
        code = take_text(r, "string", &text);
        bytes += text.length + 1;
    }
    if (code != MV_OK)
        return code;
    if (!mv_code_push_strings(r->arena, out, count, bytes))
        return no_memory(r);
    for (; s->count < count; s->count++) {
        text.length = mv_take_u32(&first);
        memcpy(s->bytes + s->at[s->count], mv_take_bytes(&first, text.length), text.length);
        s->at[s->count + 1] = s->at[s->count] + text.length + 1;
    }
    return MV_OK;
}

static bool is_row(uint32_t row, uint32_t count)
{
    return row < count || row == MV_NO_ROW;
}

static mv_code take_frames(reader *r, mv_trace *out)
{
    mv_frames *f = &out->frames;
    uint32_t count;
    mv_code code = take_count(r, FRAME_BYTES, "frames", &count);

    if (code != MV_OK)
        return code;
    if (!mv_code_push_frames(r->arena, out, count))
        return no_memory(r);
    for (uint32_t i = 0; i < count; i++) {
        f->function[i].row = mv_take_u32(&r->c);
        f->file[i].row = mv_take_u32(&r->c);
        f->line[i] = (int64_t)mv_take_u64(&r->c);
        if (!is_row(f->function[i].row, out->strings.count) ||
            !is_row(f->file[i].row, out->strings.count))
            return out_of_range(r, "text of a frame");
    }
    f->count = count;
    return MV_OK;
}

/* Reads the lengths of the stacks and returns their sum in *frames. The first stack is always
 * empty. */
static mv_code measure_stacks(reader *r, uint32_t count, uint64_t *frames)
{
    mv_code code = count > 0 ? MV_OK : out_of_range(r, "stacks");

    for (uint32_t i = 0; i < count && code == MV_OK; i++) {
        uint32_t length;
        code = take_count(r, sizeof(uint32_t), "stack", &length);
        if (code == MV_OK && i == 0 && length > 0)
            code = out_of_range(r, "first stack");
        if (code == MV_OK)
            mv_take_bytes(&r->c, length * sizeof(uint32_t));
        *frames += length;
    }
    return code;
}

static mv_code take_stacks(reader *r, mv_trace *out)
{
    mv_stacks *s = &out->stacks;
    uint64_t frames = 0;
    uint32_t count;
    mv_cursor first;
    mv_code code = take_count(r, LEAST_STACK, "stacks", &count);

    first = r->c;
    if (code == MV_OK)
        code = measure_stacks(r, count, &frames);
    if (code != MV_OK)
        return code;
    if (!mv_code_push_stacks(r->arena, out, count, frames))
        return no_memory(r);
    for (; s->count < count; s->count++) {
        uint64_t at = s->first[s->count], end = at + mv_take_u32(&first);
        s->first[s->count + 1] = end;
        for (; at < end; at++) {
            s->frame[at].row = mv_take_u32(&first);
            if (s->frame[at].row >= out->frames.count)
                return out_of_range(r, "frame of a stack");
        }
    }
    return MV_OK;
}

/* Reads strings, frames and stacks, which keep the rows that they have in the file. */
static mv_code take_code(reader *r, mv_summary *s)
{
    mv_trace *out = mv_push_struct(r->arena, mv_trace);
    mv_code code = out ? take_strings(r, out) : no_memory(r);

    if (code == MV_OK)
        code = take_frames(r, out);
    if (code == MV_OK)
        code = take_stacks(r, out);
    s->code = out;
    return code;
}

static bool take_stack_id(reader *r, const mv_summary *s, mv_stack_id *out)
{
    out->row = mv_take_u32(&r->c);
    return is_row(out->row, s->code->stacks.count);
}

static void take_sizes(reader *r, mv_summary_site *site)
{
    uint32_t count = mv_take_u8(&r->c);

    for (uint32_t i = 0; i < count && !r->c.overrun; i++) {
        uint64_t size = mv_take_u64(&r->c);
        uint32_t times = mv_take_u32(&r->c);
        if (i >= MV_SUMMARY_SIZES)
            continue;
        site->size[i] = size;
        site->times[i] = times;
    }
}

static mv_code take_sites(reader *r, mv_summary *s)
{
    mv_code code = take_count(r, LEAST_SITE, "sites", &s->sites);

    if (code != MV_OK)
        return code;
    s->site = mv_push_array(r->arena, mv_summary_site, s->sites);
    if (!s->site)
        return no_memory(r);
    for (uint32_t i = 0; i < s->sites; i++) {
        mv_summary_site *site = &s->site[i];
        site->key = mv_take_u64(&r->c);
        if (!take_stack_id(r, s, &site->stack))
            return out_of_range(r, "stack of a site");
        SITE_FIELDS(TAKE, site)
        take_sizes(r, site);
        if (r->c.overrun)
            return mv_fail(r->err, MV_TRUNCATED, r->c.at, "sites");
        if (site->key <= (i ? site[-1].key : 0))
            return out_of_range(r, "order of sites");
    }
    return MV_OK;
}

static void take_point(reader *r, mv_summary_point *p)
{
    POINT_FIELDS(TAKE, p)
}

static mv_code take_points(reader *r, mv_summary *s)
{
    mv_code code;

    s->stride = mv_take_u8(&r->c);
    code = take_count(r, POINT_BYTES, "points", &s->points);
    if (code != MV_OK)
        return code;
    if (s->stride > 31 || s->points != s->allocs >> s->stride)
        return out_of_range(r, "points");
    s->point = mv_push_array(r->arena, mv_summary_point, s->points);
    if (!s->point)
        return no_memory(r);
    for (uint32_t i = 0; i < s->points; i++)
        take_point(r, &s->point[i]);
    take_point(r, &s->end);
    return r->c.overrun ? mv_fail(r->err, MV_TRUNCATED, r->c.at, "points") : MV_OK;
}

/* ---- shared parts ------------------------------------------------------------------------ */

static void skip_list(mv_cursor *c, uint64_t size)
{
    mv_take_bytes(c, mv_take_u32(c) * size);
}

static void skip_lists(mv_cursor *c, uint64_t size)
{
    for (uint32_t count = mv_take_u32(c); count > 0 && !c->overrun; count--)
        skip_list(c, size);
}

static void skip_code(mv_cursor *c)
{
    skip_lists(c, 1);
    skip_list(c, FRAME_BYTES);
    skip_lists(c, sizeof(uint32_t));
}

static void skip_sites(mv_cursor *c)
{
    for (uint32_t count = mv_take_u32(c); count > 0 && !c->overrun; count--) {
        mv_take_bytes(c, LEAST_SITE - 1);
        mv_take_bytes(c, mv_take_u8(c) * (sizeof(uint64_t) + sizeof(uint32_t)));
    }
}

static void skip_points(mv_cursor *c)
{
    mv_take_u8(c);
    skip_list(c, POINT_BYTES);
    mv_take_bytes(c, POINT_BYTES);
}

/* Decodes a part if its bytes are new. Damaged parts are always decoded, so that the error is
 * found. */
static mv_code take_part(reader *r, mv_part_kind kind, mv_summary *s)
{
    static void (*const skip[])(mv_cursor *) = {skip_code, skip_sites, skip_points};
    static mv_code (*const take[])(reader *, mv_summary *) = {take_code, take_sites, take_points};
    /* stacks of sites are rows of the code, and the number of allocations determines the number of
     * points */
    uint64_t context[] = {0, (uintptr_t)s->code, s->allocs};
    mv_cursor end = r->c;
    mv_part_key key;
    mv_code code;

    if (!r->shared)
        return take[kind](r, s);
    skip[kind](&end);
    if (end.overrun)
        return take[kind](r, s);
    key =
        mv_part_key_of(kind, context[kind], (mv_span){r->c.span.data + r->c.at, end.at - r->c.at});
    if (mv_shared_parts_find(r->shared, kind, key, s)) {
        r->c = end;
        return MV_OK;
    }
    code = take[kind](r, s);
    if (code == MV_OK)
        mv_shared_parts_add(r->shared, key, s);
    return code;
}

static mv_code take_summary(reader *r, mv_summary *s)
{
    mv_code code = take_facts(r, s);

    if (code == MV_OK)
        code = take_part(r, MV_PART_CODE, s);
    if (code == MV_OK && !take_stack_id(r, s, &s->leak_stack))
        code = out_of_range(r, "stack of the leak");
    if (code == MV_OK)
        code = take_part(r, MV_PART_SITES, s);
    return code == MV_OK ? take_part(r, MV_PART_POINTS, s) : code;
}

static mv_code take_header(reader *r, uint32_t *count)
{
    uint64_t payload, hash;
    uint32_t version;

    if (!mv_summary_probe(r->c.span))
        return mv_fail(r->err, MV_FORMAT, 0, "not a summary");
    mv_take_bytes(&r->c, MV_SUMMARY_MAGIC_BYTES);
    version = mv_take_u32(&r->c);
    *count = mv_take_u32(&r->c);
    payload = mv_take_u64(&r->c);
    hash = mv_take_u64(&r->c);
    if (r->c.overrun)
        return mv_fail(r->err, MV_TRUNCATED, r->c.span.length, "header");
    if (version != MV_SUMMARY_VERSION)
        return mv_fail(r->err, MV_VERSION, MV_SUMMARY_MAGIC_BYTES, "summary version %u", version);
    if (payload > r->c.span.length - MV_SUMMARY_HEADER)
        return mv_fail(r->err, MV_TRUNCATED, r->c.span.length, "summaries");
    r->c.span.length = MV_SUMMARY_HEADER + payload;
    if (XXH3_64bits(r->c.span.data + MV_SUMMARY_HEADER, payload) != hash)
        return mv_fail(r->err, MV_CHECKSUM, MV_SUMMARY_HEADER, "summaries");
    if (*count > payload / LEAST_SUMMARY)
        return mv_fail(r->err, MV_TRUNCATED, r->c.span.length, "%u summaries", *count);
    return MV_OK;
}

mv_code mv_summaries_decode(mv_arena *arena, mv_shared_parts *shared, mv_span bytes,
                            mv_summary **out, uint32_t *count, mv_err *err)
{
    reader r = {.arena = arena, .shared = shared, .c = mv_cursor_over(bytes), .err = err};
    mv_code code = take_header(&r, count);

    if (code != MV_OK)
        return code;
    *out = mv_push_array(arena, mv_summary, *count);
    if (!*out)
        return no_memory(&r);
    for (uint32_t i = 0; i < *count && code == MV_OK; i++)
        code = take_summary(&r, &(*out)[i]);
    if (code == MV_OK && r.c.at != r.c.span.length)
        code = mv_fail(err, MV_RANGE, r.c.at, "bytes after the last summary");
    return code;
}
