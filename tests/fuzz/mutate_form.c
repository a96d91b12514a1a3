#include "tests/fuzz/mutate_form.h"

#include "parse/values/machine.h"

enum { MOST_BYTES = 1 << 20, MOST_TOKENS = 1 << 19, MOST_CHANGES = 4, TRIES = 24 };

uint64_t mvt_dice(uint64_t *random, uint64_t sides)
{
    uint64_t z = *random += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % sides;
}

static uint64_t dice(mvt_form *form, uint64_t sides)
{
    return mvt_dice(&form->random, sides);
}

bool mvt_token_add(mvt_form *form, mvt_token token)
{
    form->failed = form->failed || form->count == MOST_TOKENS ||
                   !mv_append(form->arena, form->tokens, form->count, form->capacity, token);
    return !form->failed;
}

bool mvt_number_add(mvt_form *form, uint8_t op, uint64_t number)
{
    return mvt_token_add(form, (mvt_token){.kind = MVT_NUMBER, .op = op, .number = number});
}

bool mvt_item_add(mvt_form *form, mvt_item item)
{
    form->failed = form->failed || !mv_append(form->arena, form->items, form->item_count,
                                              form->item_capacity, item);
    return !form->failed;
}

void mvt_put(mvt_out *out, const void *bytes, size_t length)
{
    out->full = out->full || length > out->room - out->at;
    if (out->full || length == 0)
        return;
    memcpy(out->to + out->at, bytes, length);
    out->at += length;
}

void mvt_put_u8(mvt_out *out, uint8_t byte)
{
    mvt_put(out, &byte, 1);
}

void mvt_put_number(mvt_out *out, uint64_t number, unsigned bytes)
{
    mvt_put(out, &number, bytes);
}

/* ---- numbers and texts -------------------------------------------------------------------- */

static const uint64_t edges[] = {0,
                                 1,
                                 2,
                                 255,
                                 256,
                                 511,
                                 512,
                                 513,
                                 0xffff,
                                 0x10000,
                                 1 << 20,
                                 2 << 20,
                                 10 << 20,
                                 20 << 20,
                                 INT32_MAX,
                                 1u << 31,
                                 UINT32_MAX,
                                 (uint64_t)1 << 32,
                                 (uint64_t)1 << 40,
                                 (uint64_t)1 << 48,
                                 INT64_MAX - 1,
                                 INT64_MAX,
                                 (uint64_t)1 << 63,
                                 UINT64_MAX - 511,
                                 UINT64_MAX - 1,
                                 UINT64_MAX};

uint32_t mvt_any_token(mvt_form *form, mvt_token_kind kind)
{
    for (unsigned i = 0; form->count && i < TRIES; i++) {
        uint32_t at = (uint32_t)dice(form, form->count);
        if (form->tokens[at].kind == kind)
            return at;
    }
    return MVT_NO_TOKEN;
}

/* Returns a number near this one in the file, perhaps from the same column, or any number. */
static uint32_t other_number(mvt_form *form, const mvt_token *token)
{
    uint32_t at = (uint32_t)(token - form->tokens);
    uint32_t close = at + (uint32_t)dice(form, 17) - 8;

    if (dice(form, 2) && close < form->count && form->tokens[close].kind == MVT_NUMBER)
        return close;
    return mvt_any_token(form, MVT_NUMBER);
}

void mvt_change_number(mvt_form *form, mvt_token *token)
{
    uint32_t other = other_number(form, token);
    uint64_t near = other == MVT_NO_TOKEN ? 0 : form->tokens[other].number;
    bool in_column = token > form->tokens && token[-1].kind == MVT_NUMBER;

    switch (in_column && dice(form, 2) ? 3 : dice(form, 9)) {
    case 0:
    case 1:
        token->number = edges[dice(form, sizeof edges / sizeof *edges)];
        break;
    case 2:
    case 3:
        token->number = near;
        break;
    case 4:
        token->number = near + dice(form, 3) - 1;
        break;
    case 5:
        token->number += near;
        break;
    case 6:
        token->number ^= (uint64_t)1 << dice(form, 64);
        break;
    case 7:
        token->number = dice(form, 2) ? token->number / 2 : token->number * 2;
        break;
    default:
        token->number += dice(form, 2) ? 512 : (uint64_t)-512;
    }
    token->negative = dice(form, 24) == 0;
    token->wide = dice(form, 16) == 0;
}

#define TEXT(text)                                \
    {                                             \
        (const uint8_t *)(text), sizeof(text) - 1 \
    }
#define WORD(name, text) TEXT(text),

static const mv_span words[] = {MV_WORD_LIST(WORD)};
static const mv_span hostile[] = {TEXT(""),
                                  TEXT("\x1b]0;t\a\x1b[2J"),
                                  TEXT("=1+1"),
                                  TEXT("@a"),
                                  TEXT("a\0b"),
                                  TEXT("\xed\xa0\x80"),
                                  TEXT("\xff\xfe"),
                                  TEXT("\xc2\x9b"
                                       "2J"),
                                  TEXT("\xe2\x80\xae"),
                                  TEXT("<script>alert(1)</script>"),
                                  TEXT("\"'&<>]]>"),
                                  TEXT("a\nb\tc\rd"),
                                  TEXT("../../x"),
                                  TEXT("%s%n"),
                                  TEXT("<eval_with_key>.7"),
                                  TEXT("??"),
                                  TEXT("PYTORCH_CUDA_ALLOC_CONF"),
                                  TEXT("ProfilerStep#3"),
                                  TEXT("Profiler step#1"),
                                  TEXT("## forward ##"),
                                  TEXT("Optimizer.step#Adam.step"),
                                  TEXT("torch/optim/optimizer.py"),
                                  TEXT("c10::cuda::CUDACachingAllocator"),
                                  TEXT("_ZN2at6native5emptyEv"),
                                  TEXT("expandable_segments"),
                                  TEXT("roundup_power2_divisions")};

/* Makes a long text by repeating a part of the file itself. */
static mv_span long_text(mvt_form *form, mv_span part)
{
    uint64_t length = dice(form, 2) ? 300 : 5000;
    uint8_t *text = mv_arena_push(form->arena, length, 1);

    for (uint64_t i = 0; text && i < length; i++)
        text[i] = part.length ? part.data[i % part.length] : 'a';
    return (mv_span){text, text ? length : 0};
}

/* ---- items -------------------------------------------------------------------------------- */

bool mvt_splice(mvt_form *form, uint32_t at, uint32_t dropped, const mvt_token *put, uint32_t count)
{
    uint32_t rest = form->count - at - dropped;
    mvt_token *copy = mv_push_array(form->arena, mvt_token, count);

    if (copy && count) /* the tokens may be in the list itself, which moves when it grows */
        memcpy(copy, put, count * sizeof *put);
    if (!copy ||
        !mv_room_for(form->arena, form->tokens, (uint64_t)form->count + count, form->capacity))
        return false;
    memmove(form->tokens + at + count, form->tokens + at + dropped, rest * sizeof *put);
    if (count)
        memcpy(form->tokens + at, copy, count * sizeof *put);
    form->count = at + count + rest;
    return true;
}

static const mvt_item *any_item(mvt_form *form)
{
    return form->item_count ? &form->items[dice(form, form->item_count)] : NULL;
}

/* Returns the item at `index` in a container. */
static const mvt_item *item_of(const mvt_form *form, uint32_t owner, uint32_t index)
{
    for (uint32_t i = 0; i < form->item_count; i++)
        if (form->items[i].owner == owner && form->items[i].index == index)
            return &form->items[i];
    return NULL;
}

static bool same_bytes(mv_span a, mv_span b)
{
    return a.data && b.data && a.length == b.length && memcmp(a.data, b.data, a.length) == 0;
}

/* Returns another item that could take this one's place: one with the same key, or another list
 * item. */
static const mvt_item *like(mvt_form *form, const mvt_item *item)
{
    for (unsigned i = 0; i < TRIES; i++) {
        const mvt_item *other = any_item(form);
        if (other != item && (other->value == MVT_NO_TOKEN) == (item->value == MVT_NO_TOKEN) &&
            (item->value == MVT_NO_TOKEN ||
             same_bytes(form->tokens[other->begin].bytes, form->tokens[item->begin].bytes)))
            return other;
    }
    return NULL;
}

static bool repeat(mvt_form *form, const mvt_item *item, uint64_t times)
{
    for (; times > 0; times--)
        if (!mvt_splice(form, item->end, 0, form->tokens + item->begin, item->end - item->begin))
            return false;
    return true;
}

static bool swap(mvt_form *form, const mvt_item *item)
{
    const mvt_item *next = item_of(form, item->owner, item->index + 1);
    uint32_t length = item->end - item->begin;

    if (!next || next->begin < item->end)
        return false;
    mvt_token *copy = mv_push_array(form->arena, mvt_token, length);
    if (!copy)
        return false;
    memcpy(copy, form->tokens + item->begin, length * sizeof *copy);
    return mvt_splice(form, next->end, 0, copy, length) &&
           mvt_splice(form, item->begin, length, NULL, 0);
}

static bool drop(mvt_form *form, const mvt_item *item)
{
    return mvt_splice(form, item->begin, item->end - item->begin, NULL, 0);
}

/* Returns the key whose value is the list that contains the item, or NULL. In a table that is a map
 * of columns with equal lengths, the key names a column. */
static const mvt_item *column_of(const mvt_form *form, const mvt_item *item)
{
    bool in_list = item->value == MVT_NO_TOKEN && item->owner != MVT_NO_TOKEN;

    for (uint32_t i = 0; in_list && i < form->item_count; i++)
        if (form->items[i].value == item->owner && form->tokens[item->owner].kind == MVT_OPEN &&
            form->tokens[item->begin].kind == MVT_NUMBER)
            return &form->items[i];
    return NULL;
}

/* Drops or doubles the same row in each column. */
static bool change_row(mvt_form *form, const mvt_item *column, uint32_t row)
{
    bool twice = dice(form, 2);
    uint32_t table = column->owner;

    /* runs backwards, so that earlier tokens stay in place */
    for (uint32_t i = form->item_count; i-- > 0;) {
        const mvt_item *cell = form->items[i].owner == table && form->items[i].value != MVT_NO_TOKEN
                                   ? item_of(form, form->items[i].value, row)
                                   : NULL;
        if (cell && !(twice ? repeat(form, cell, 1) : drop(form, cell)))
            return false;
    }
    return true;
}

static bool change_items(mvt_form *form)
{
    const mvt_item *item = any_item(form);
    const mvt_item *other = item ? like(form, item) : NULL;

    const mvt_item *column = item ? column_of(form, item) : NULL;

    if (!item)
        return false;
    if (column && dice(form, 8))
        return dice(form, 2) ? change_row(form, column, item->index) : swap(form, item);
    switch (dice(form, 8)) {
    case 0:
        return drop(form, item);
    case 1:
        return repeat(form, item, dice(form, 12) ? 1 : dice(form, 60));
    case 2:
        return swap(form, item);
    case 3:
    case 4:
        return other && item->value == MVT_NO_TOKEN &&
               mvt_splice(form, item->begin, 0, form->tokens + other->begin,
                          other->end - other->begin);
    default:
        return other && (other->end <= item->begin || other->begin >= item->end) &&
               mvt_splice(form, item->begin, item->end - item->begin, form->tokens + other->begin,
                          other->end - other->begin);
    }
}

/* ---- a mutation --------------------------------------------------------------------------- */

static bool change_text(mvt_form *form)
{
    uint32_t at = mvt_any_token(form, MVT_TEXT);

    if (at == MVT_NO_TOKEN)
        return false;
    mvt_token *token = &form->tokens[at];
    uint32_t other = mvt_any_token(form, MVT_TEXT);
    switch (dice(form, 8)) {
    case 0:
    case 1:
    case 2:
        token->bytes = words[dice(form, sizeof words / sizeof *words)];
        break;
    case 3:
    case 4:
        token->bytes = hostile[dice(form, sizeof hostile / sizeof *hostile)];
        break;
    case 5:
        token->bytes = long_text(form, token->bytes);
        break;
    case 6:
        if (token->bytes.length)
            token->bytes.length = dice(form, token->bytes.length);
        break;
    default:
        if (other != MVT_NO_TOKEN)
            token->bytes = form->tokens[other].bytes;
    }
    token->wide = dice(form, 16) == 0;
    return true;
}

static bool change_once(mvt_form *form, const mvt_format *format)
{
    uint64_t what = dice(form, 16);

    if (what >= 10)
        return change_items(form);
    if (what >= 8)
        return format->change(form);
    if (what >= 6)
        return change_text(form);
    uint32_t at = mvt_any_token(form, MVT_NUMBER);
    if (at != MVT_NO_TOKEN)
        mvt_change_number(form, &form->tokens[at]);
    return at != MVT_NO_TOKEN;
}

/* Writes the tokens, and then as much of the tail as there is room for. */
static size_t write_all(const mvt_form *form, const mvt_format *format, uint8_t *to, size_t room)
{
    size_t size = format->write(form, to, room), tail = form->tail.length;

    if (size == 0)
        return 0;
    tail = tail < room - size ? tail : room - size;
    if (tail)
        memcpy(to + size, form->tail.data, tail);
    return size + tail;
}

/* Changes some of the bytes, without regard to any format. */
static void change_tail(mvt_form *form)
{
    uint64_t length = form->tail.length;
    uint8_t *tail = mv_arena_push(form->arena, length, 1);

    if (!tail || length == 0)
        return;
    memcpy(tail, form->tail.data, length);
    for (unsigned i = 0; i < 1 + dice(form, 4); i++) {
        uint8_t *at = tail + dice(form, length);
        *at = dice(form, 2) ? (uint8_t)dice(form, 256) : *at ^ (uint8_t)(1u << dice(form, 8));
    }
    form->tail.data = tail;
}

static size_t change(mvt_form *form, const mvt_format *format, uint8_t *data, size_t size,
                     size_t room)
{
    bool changed = false;

    if (!format->parse(form, (mv_span){data, size}) || form->failed)
        return 0;
    if (form->tail.length && dice(form, 4) == 0) {
        change_tail(form);
        changed = true;
    }
    for (unsigned i = 0; i < TRIES && !changed; i++)
        changed = change_once(form, format);
    if (!changed)
        return 0;
    /* The tokens' texts still point into `data`, so the result is first written to a copy. */
    uint8_t *copy = mv_arena_push(form->arena, room, 1);
    size = copy ? write_all(form, format, copy, room) : 0;
    if (size)
        memcpy(data, copy, size);
    return size;
}

size_t mvt_mutate(const mvt_format *format, uint8_t *data, size_t size, size_t room, uint64_t seed)
{
    mv_budget budget = {.limit = 256 << 20};
    size_t changed = 0;
    mv_arena arena;

    format = format->find ? format->find((mv_span){data, size}) : format;
    if (!format || size > MOST_BYTES || room > MOST_BYTES || size > room)
        return 0;
    mv_arena_init(&arena, &budget);
    uint64_t times = mvt_dice(&seed, 3) ? 1 : 1 + mvt_dice(&seed, MOST_CHANGES);
    for (uint64_t i = 0; i < times; i++) {
        mvt_form form = {.arena = &arena, .random = seed + i};
        size_t after = change(&form, format, data, size, room);
        if (after)
            changed = size = after;
        mv_arena_release(&arena);
        mv_arena_init(&arena, &budget);
    }
    mv_arena_release(&arena);
    return changed;
}

/* Inserts an item from one file into the other, in place of an item or before it. */
static bool take_from(mvt_form *to, mvt_form *from)
{
    for (unsigned i = 0; i < TRIES; i++) {
        const mvt_item *item = any_item(to), *other = any_item(from);
        mvt_token *tokens;
        if (!item || !other)
            return false;
        if ((item->value == MVT_NO_TOKEN) != (other->value == MVT_NO_TOKEN) ||
            (item->value != MVT_NO_TOKEN &&
             !same_bytes(to->tokens[item->begin].bytes, from->tokens[other->begin].bytes)))
            continue;
        tokens = from->tokens + other->begin;
        uint32_t length = other->end - other->begin;
        for (uint32_t k = 0; k < length; k++)
            tokens[k].id += to->ids;
        return mvt_splice(to, item->begin,
                          item->value != MVT_NO_TOKEN || dice(to, 2) ? item->end - item->begin : 0,
                          tokens, length);
    }
    return false;
}

size_t mvt_cross(const mvt_format *format, mv_span a, mv_span b, uint8_t *out, size_t room,
                 uint64_t seed)
{
    mv_budget budget = {.limit = 256 << 20};
    mv_arena arena;
    size_t size = 0;

    if (format->find)
        format = format->find(a) == format->find(b) ? format->find(a) : NULL;
    if (!format || a.length > MOST_BYTES || b.length > MOST_BYTES || room > MOST_BYTES)
        return 0;
    mv_arena_init(&arena, &budget);
    mvt_form to = (mvt_form){.arena = &arena, .random = seed};
    mvt_form from = (mvt_form){.arena = &arena, .random = ~seed};
    if (format->parse(&to, a) && format->parse(&from, b) && !to.failed && !from.failed &&
        take_from(&to, &from))
        size = write_all(&to, format, out, room);
    mv_arena_release(&arena);
    return size;
}
