#include "tests/fixture_pickler.h"

#include <criterion/criterion.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { BATCH = 1000, FRAME_BYTES = 64 << 10, LEAST_FRAME = 4, FRAME_HEADER = 9, NO_MEMO = 0 };

#define NO_FRAME UINT64_MAX

static const char *const words[MVT_WORD_COUNT] = {
#define WORD_TEXT(word) #word,
    MVT_WORD_LIST(WORD_TEXT)
#undef WORD_TEXT
};

/* ---- bytes ------------------------------------------------------------------------------- */

static void put_raw(mvt_pickler *p, const void *bytes, uint64_t length)
{
    if (p->length + length > p->capacity) {
        p->capacity = (p->length + length) * 2 + 4096;
        p->data = mv_arena_grow(p->arena, p->data, p->capacity);
        cr_assert_not_null(p->data);
    }
    memcpy(p->data + p->length, bytes, length);
    p->length += length;
}

static void close_frame(mvt_pickler *p)
{
    uint8_t *header = p->data + p->frame;
    uint64_t bytes;

    if (p->frame == NO_FRAME)
        return;
    bytes = p->length - p->frame - FRAME_HEADER;
    if (bytes >= LEAST_FRAME) {
        header[0] = 0x95;
        memcpy(header + 1, &bytes, sizeof bytes);
    } else {
        memmove(header, header + FRAME_HEADER, bytes);
        p->length -= FRAME_HEADER;
    }
    p->frame = NO_FRAME;
}

static void put(mvt_pickler *p, const void *bytes, uint64_t length)
{
    static const uint8_t room[FRAME_HEADER];

    if (p->is_framing && p->frame == NO_FRAME) {
        p->frame = p->length;
        put_raw(p, room, sizeof room);
    }
    put_raw(p, bytes, length);
}

void mvt_put_op(mvt_pickler *p, uint8_t op)
{
    put(p, &op, 1);
}

static void put_op_with(mvt_pickler *p, uint8_t op, const void *operand, uint64_t length)
{
    mvt_put_op(p, op);
    put(p, operand, length);
}

/* CPython ends a frame only between two objects. */
void mvt_begin_value(mvt_pickler *p)
{
    if (p->frame != NO_FRAME && p->length - p->frame - FRAME_HEADER >= FRAME_BYTES)
        close_frame(p);
}

/* ---- memo -------------------------------------------------------------------------------- */

static void memoize(mvt_pickler *p, uint32_t *entry)
{
    uint32_t number = p->memos++;

    if (!p->cpp)
        mvt_put_op(p, 0x94);
    else if (number <= UINT8_MAX)
        put_op_with(p, 'q', &number, 1);
    else
        put_op_with(p, 'r', &number, 4);
    if (entry)
        *entry = number + 1;
}

/* CPython's containers and tuples enter the memo when they are opened. */
void mvt_memoize_opened(mvt_pickler *p, uint32_t *entry)
{
    if (!p->cpp)
        memoize(p, entry);
}

void mvt_memoize_complete(mvt_pickler *p, uint32_t *entry)
{
    if (p->cpp)
        memoize(p, entry);
}

bool mvt_put_again(mvt_pickler *p, uint32_t entry)
{
    uint32_t number = entry - 1;

    if (entry == NO_MEMO)
        return false;
    mvt_begin_value(p);
    if (number <= UINT8_MAX)
        put_op_with(p, 'h', &number, 1);
    else
        put_op_with(p, 'j', &number, 4);
    return true;
}

/* ---- strings ----------------------------------------------------------------------------- */

static void spell(mvt_pickler *p, const void *text, uint64_t length)
{
    bool is_large = !p->cpp && length >= FRAME_BYTES;

    mvt_begin_value(p);
    if (is_large) { /* CPython writes large strings between frames */
        close_frame(p);
        p->is_framing = false;
    }
    if (!p->cpp && length <= UINT8_MAX)
        put_op_with(p, 0x8c, &length, 1);
    else
        put_op_with(p, 'X', &length, 4);
    put(p, text, length);
    p->is_framing = !p->cpp;
}

static void put_text_once(mvt_pickler *p, const void *text, uint64_t length)
{
    uint64_t hash = XXH3_64bits(text, length);
    mvt_shared_text *known;

    for (mv_probe probe = mv_intern_start(&p->texts, hash); mv_intern_next(&p->texts, &probe);) {
        known = &p->text[probe.row];
        if (known->length == length && memcmp(p->data + known->at, text, length) == 0) {
            mvt_put_again(p, known->memo);
            return;
        }
    }
    spell(p, text, length);
    if (p->text_count == p->text_capacity) {
        p->text_capacity = p->text_capacity * 2 + 256;
        p->text = mv_arena_grow(p->arena, p->text, p->text_capacity * sizeof *p->text);
        cr_assert_not_null(p->text);
    }
    known = &p->text[p->text_count];
    known->at = p->length - length;
    known->length = length;
    memoize(p, &known->memo);
    cr_assert(mv_intern_add(&p->texts, hash, p->text_count));
    p->text_count++;
}

/* Python keeps one object for each text of one Latin-1 character, and one for none. */
static bool is_python_singleton(mv_span text)
{
    return text.length < 2 || (text.length == 2 && (text.data[0] == 0xc2 || text.data[0] == 0xc3));
}

void mvt_put_text(mvt_pickler *p, mv_span text)
{
    if (p->cpp || is_python_singleton(text)) {
        put_text_once(p, text.data, text.length);
        return;
    }
    spell(p, text.data, text.length);
    memoize(p, NULL);
}

void mvt_put_word(mvt_pickler *p, mvt_word w)
{
    if (p->cpp) {
        put_text_once(p, words[w], strlen(words[w]));
        return;
    }
    if (mvt_put_again(p, p->word[w]))
        return;
    spell(p, words[w], strlen(words[w]));
    memoize(p, &p->word[w]);
}

/* A name of the model that is a word here. */
void mvt_put_name(mvt_pickler *p, const char *name)
{
    for (mvt_word w = 0; w < MVT_WORD_COUNT; w++)
        if (strcmp(words[w], name) == 0) {
            mvt_put_word(p, w);
            return;
        }
    put_text_once(p, name, strlen(name));
}

/* ---- numbers ----------------------------------------------------------------------------- */

static void put_wide(mvt_pickler *p, __int128 value)
{
    uint8_t bytes[1 + sizeof value];

    bytes[0] = 1;
    memcpy(bytes + 1, &value, sizeof value);
    if (p->cpp)
        bytes[0] = 8;
    else
        while (value !=
               (__int128)((unsigned __int128)value << (128 - 8 * bytes[0])) >> (128 - 8 * bytes[0]))
            bytes[0]++;
    put_op_with(p, 0x8a, bytes, 1u + bytes[0]);
}

void mvt_put_integer(mvt_pickler *p, __int128 value)
{
    mvt_begin_value(p);
    if (value >= 0 && value <= UINT8_MAX)
        put_op_with(p, 'K', &value, 1);
    else if (value >= 0 && value <= UINT16_MAX)
        put_op_with(p, 'M', &value, 2);
    else if (value >= INT32_MIN && value <= INT32_MAX)
        put_op_with(p, 'J', &value, 4);
    else
        put_wide(p, value);
}

/* PyTorch's C++ writer knows signed integers alone. */
void mvt_put_unsigned(mvt_pickler *p, uint64_t value)
{
    mvt_put_integer(p, p->cpp ? (__int128)(int64_t)value : (__int128)value);
}

void mvt_put_real(mvt_pickler *p, double value)
{
    uint64_t bits;

    mvt_begin_value(p);
    memcpy(&bits, &value, sizeof bits);
    bits = __builtin_bswap64(bits);
    put_op_with(p, 'G', &bits, sizeof bits);
}

void mvt_put_bool(mvt_pickler *p, bool value)
{
    mvt_begin_value(p);
    mvt_put_op(p, value ? 0x88 : 0x89);
}

/* ---- containers -------------------------------------------------------------------------- */

static void open_container(mvt_pickler *p, uint8_t op, uint32_t count, uint32_t *entry)
{
    mvt_begin_value(p);
    mvt_put_op(p, op);
    mvt_memoize_opened(p, entry);
    if (p->cpp || count > 1)
        mvt_put_op(p, '(');
}

static void close_container(mvt_pickler *p, uint8_t one, uint8_t many, uint32_t count)
{
    if (p->cpp || count > 1)
        mvt_put_op(p, many);
    else if (count == 1)
        mvt_put_op(p, one);
}

void mvt_open_dict(mvt_pickler *p, uint32_t count, uint32_t *entry)
{
    open_container(p, '}', count, entry);
}

void mvt_close_dict(mvt_pickler *p, uint32_t count)
{
    close_container(p, 's', 'u', count);
}

void mvt_open_list(mvt_pickler *p, uint32_t count, uint32_t *entry)
{
    open_container(p, ']', count, entry);
}

void mvt_next_item(mvt_pickler *p, uint32_t i)
{
    if (!p->cpp && i > 0 && i % BATCH == 0) {
        mvt_put_op(p, 'e');
        mvt_put_op(p, '(');
    }
}

void mvt_close_list(mvt_pickler *p, uint32_t count)
{
    close_container(p, 'a', 'e', count);
}

void mvt_put_empty_list(mvt_pickler *p)
{
    if (mvt_put_again(p, p->empty_list))
        return;
    mvt_open_list(p, 0, &p->empty_list);
    mvt_close_list(p, 0);
    mvt_memoize_complete(p, &p->empty_list);
}

/* ---- the whole ------------------------------------------------------------------------------- */

void mvt_pickler_init(mvt_pickler *p, mv_arena *arena, bool cpp)
{
    const uint8_t start[] = {0x80, cpp ? 2 : 4};

    *p = (mvt_pickler){.arena = arena, .cpp = cpp, .frame = NO_FRAME, .texts.arena = arena};
    put_raw(p, start, sizeof start);
    p->is_framing = !cpp;
}

mv_span mvt_pickler_finish(mvt_pickler *p)
{
    mvt_put_op(p, '.');
    close_frame(p);
    return (mv_span){p->data, p->length};
}
