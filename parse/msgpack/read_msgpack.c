#include "parse/msgpack/read_msgpack.h"

#include <stdarg.h>
#include <stdio.h>

enum { PROGRESS_BYTES = 4 << 20 };

/* ---- detection --------------------------------------------------------------------------- */

/* Returns the number of array items or map pairs in the container at the cursor; 0 if there is no
 * container. */
static uint32_t take_container(mv_cursor *c, uint8_t fixed, uint8_t wide)
{
    uint8_t byte = mv_take_u8(c);
    uint32_t count;

    if ((byte & 0xf0) == fixed)
        return byte & 0x0f;
    if (byte != wide && byte != wide + 1)
        return 0;
    count = mv_take_u8(c);
    for (int i = byte == wide ? 1 : 3; i > 0; i--)
        count = count << 8 | mv_take_u8(c);
    return count;
}

static uint32_t take_map(mv_cursor *c)
{
    return take_container(c, 0x80, 0xde);
}

/* Returns the string at the cursor, or the part of it that is in the window. Returns a NULL pointer
 * if there is no string or it is empty. Writers in languages without a string type write keys as
 * `bin`. */
static mv_span take_key(mv_cursor *c)
{
    uint8_t byte = mv_take_u8(c);
    uint32_t length = 0;
    mv_span key;

    if ((byte & 0xe0) == 0xa0)
        length = byte & 0x1f;
    else if (byte == 0xd9 || byte == 0xc4)
        length = mv_take_u8(c);
    if (c->overrun || length == 0)
        return (mv_span){0};
    key = (mv_span){c->span.data + c->at, length};
    if (length > c->span.length - c->at)
        key.length = c->span.length - c->at;
    return key;
}

static bool is_visible(mv_span text)
{
    for (uint64_t i = 0; i < text.length; i++)
        if (text.data[i] < 0x20 || text.data[i] == 0x7f)
            return false;
    return true;
}

/* Returns the first key of the root map, or of the first map in the root list. */
static mv_span first_key(mv_span head)
{
    mv_cursor c = mv_cursor_over(head);

    if (take_map(&c) == 0) {
        c = mv_cursor_over(head);
        if (take_container(&c, 0x90, 0xdc) == 0 || take_map(&c) == 0)
            return (mv_span){0};
    }
    return take_key(&c);
}

bool mv_msgpack_probe(mv_span head)
{
    mv_span key = first_key(head);

    /* torch.cuda.memory_snapshot() returns an empty list in an idle process. */
    if (head.length == 1 && head.data[0] == 0x90)
        return true;
    return key.length > 0 && is_visible(key);
}

static bool is_compact(mv_source *source)
{
    static const char name[] = "format";
    mv_cursor c;
    mv_span key;

    mv_source_need(source, 64);
    c = mv_cursor_over((mv_span){source->at, (uint64_t)(source->end - source->at)});
    if (take_map(&c) == 0)
        return false;
    key = take_key(&c);
    return key.length == sizeof name - 1 && memcmp(key.data, name, key.length) == 0;
}

/* ---- feeding ----------------------------------------------------------------------------- */

int mv_msgpack_refuse(mv_msgpack_fault *fault, mv_code code, const char *format, ...)
{
    va_list args;

    if (fault->code != MV_OK)
        return -1;
    fault->code = code;
    va_start(args, format);
    vsnprintf(fault->detail, sizeof fault->detail, format, args);
    va_end(args);
    return -1;
}

/* Returns true if the parser is inside an extension. Extensions are refused after their header, so
 * there is no need to wait for their data. */
static bool is_extension(unsigned state)
{
    switch (state) {
    case MSGPACK_CS_EXT_8:
    case MSGPACK_CS_EXT_16:
    case MSGPACK_CS_EXT_32:
    case MSGPACK_CS_FIXEXT_1:
    case MSGPACK_CS_FIXEXT_2:
    case MSGPACK_CS_FIXEXT_4:
    case MSGPACK_CS_FIXEXT_8:
    case MSGPACK_CS_FIXEXT_16:
    case MSGPACK_ACS_EXT_VALUE:
        return true;
    default:
        return false;
    }
}

static mv_code stopped(const mv_source *source, const mv_msgpack_step *step,
                       const mv_msgpack_fault *fault, mv_err *err)
{
    uint64_t offset = mv_source_offset(source);

    if (fault->code != MV_OK)
        return mv_fail(err, fault->code, offset, "%s", fault->detail);
    if (is_extension(step->state))
        return mv_fail(err, MV_TYPE, offset, "%s",
                       "extension types do not occur in a memory snapshot");
    if (step->status == MSGPACK_UNPACK_NOMEM_ERROR)
        return mv_fail(err, MV_DEPTH, offset, "more than %d containers", MSGPACK_EMBED_STACK_SIZE);
    return mv_fail(err, MV_CORRUPT, offset, "%s", "0xc1 is not a msgpack type");
}

static void report(const mv_source *source, const mv_read_opts *opts, uint64_t *next)
{
    if (!opts || !opts->progress || mv_source_offset(source) < *next)
        return;
    *next = mv_source_offset(source) + PROGRESS_BYTES;
    opts->progress(opts->user, mv_source_file_read(source), mv_source_file_bytes(source));
}

mv_code mv_msgpack_feed(mv_source *source, const mv_read_opts *opts, mv_msgpack_step_fn *step,
                        void *parser, const mv_msgpack_fault *fault, mv_err *err)
{
    uint64_t wanted = 1, progress = 0;

    for (;;) {
        mv_msgpack_step s;
        /* The template takes a string in one piece, so an incomplete string stays in the window. */
        if (!mv_source_need(source, wanted))
            return mv_source_fail(source, err, wanted > 1 ? "inside a value" : "");
        s = step(parser, (mv_span){source->at, (uint64_t)(source->end - source->at)});
        source->at += s.used;
        if (s.status > 0)
            return MV_OK;
        if (s.status < 0 || is_extension(s.state))
            return stopped(source, &s, fault, err);
        wanted = s.state == MSGPACK_CS_HEADER ? 1 : s.wanted;
        report(source, opts, &progress);
    }
}

/* ---- reading ----------------------------------------------------------------------------- */

mv_code mv_msgpack_read(mv_arena *arena, mv_source *source, const mv_read_opts *opts, mv_trace *out,
                        mv_err *err)
{
    bool compact = is_compact(source);
    mv_code code;

    if (compact)
        code = mv_msgpack_compact_read(arena, source, opts, out, err);
    else
        code = mv_msgpack_plain_read(arena, source, opts, out, err);
    if (code == MV_OK)
        code = mv_rest_drain(source, out, 0, err);
    else if (err->offset == MV_NO_OFFSET)
        err->offset = mv_source_offset(source);
    out->origin.format = compact ? MV_FORMAT_COMPACT : MV_FORMAT_MSGPACK;
    out->origin.data_bytes = mv_source_offset(source);
    return code;
}
