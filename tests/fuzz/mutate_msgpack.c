/* msgpack as tokens: one for each value, and one for the end of each container. The writer counts
 * the items again. */
#include "tests/fuzz/mutate_form.h"

enum { MOST_DEPTH = 128, MAP = 0x80, ARRAY = 0x90 };

typedef struct {
    uint32_t begin; /* token */
    uint32_t left;  /* number of values still expected */
    uint32_t items;
    uint32_t from; /* first token of the current item */
    bool is_map;
} level;

typedef struct {
    mvt_form *form;
    mv_cursor c;
    level levels[MOST_DEPTH];
    uint32_t depth;
} parser;

/* Reads a number whose lowest byte comes last. */
static uint64_t take_number(mv_cursor *c, unsigned bytes)
{
    uint64_t number = 0;

    for (unsigned i = 0; i < bytes; i++)
        number = number << 8 | mv_take_u8(c);
    return number;
}

static void open(parser *p, bool is_map, uint64_t count, uint32_t token)
{
    if (p->depth == MOST_DEPTH || count > p->c.span.length) {
        p->c.overrun = true;
        return;
    }
    p->levels[p->depth++] = (level){.begin = token,
                                    .left = (uint32_t)(is_map ? 2 * count : count),
                                    .from = token + 1,
                                    .is_map = is_map};
}

static void close_container(parser *p)
{
    mvt_token_add(p->form, (mvt_token){.kind = MVT_CLOSE});
    p->depth--;
}

/* Called when a value in the innermost container is complete. This may complete an item. The last
 * item completes the container, which is itself a value in the next outer container. */
static void complete(parser *p)
{
    mvt_form *form = p->form;

    while (p->depth > 0) {
        level *l = &p->levels[p->depth - 1];
        l->left--;
        if (!l->is_map || l->left % 2 == 0) {
            mvt_item_add(form, (mvt_item){.begin = l->from,
                                          .end = form->count,
                                          .owner = l->begin,
                                          .index = l->items++,
                                          .value = l->is_map ? l->from + 1 : MVT_NO_TOKEN});
            l->from = form->count;
        }
        if (l->left > 0)
            return;
        close_container(p);
    }
}

static void as_text(parser *p, mvt_token *token, uint64_t length)
{
    token->kind = MVT_TEXT;
    token->bytes = (mv_span){mv_take_bytes(&p->c, length), length};
}

static void as_number(parser *p, mvt_token *token, unsigned bytes, bool is_signed)
{
    token->kind = MVT_NUMBER;
    token->number = take_number(&p->c, bytes);
    if (is_signed && bytes < 8 && token->number >> (8 * bytes - 1))
        token->number |= UINT64_MAX << 8 * bytes;
    token->negative = is_signed && token->number >> 63;
}

static void as_container(parser *p, mvt_token *token, bool is_map, uint64_t count)
{
    token->kind = MVT_OPEN;
    token->op = is_map ? MAP : ARRAY;
    open(p, is_map, count, p->form->count);
}

static bool take_token(parser *p)
{
    uint64_t from = p->c.at;
    uint8_t first = mv_take_u8(&p->c);
    mvt_token token = {.kind = MVT_AS_IT_IS, .op = first};

    if (first < 0x80)
        token.kind = MVT_NUMBER, token.number = first;
    else if (first >= 0xe0)
        token.kind = MVT_NUMBER, token.negative = true,
        token.number = (uint64_t)(int64_t)(int8_t)first;
    else if (first < 0xa0)
        as_container(p, &token, first < 0x90, first & 15);
    else if (first < 0xc0)
        as_text(p, &token, first & 31);
    else {
        /* These values begin with 0xc0 to 0xdf. */
        static const uint8_t fixed[] = {[0x00] = 0, [0x0a] = 4, [0x0b] = 8, [0x14] = 2,
                                        [0x15] = 3, [0x16] = 5, [0x17] = 9, [0x18] = 17};
        unsigned which = first & 3;
        if (first >= 0xcc && first <= 0xcf)
            as_number(p, &token, 1u << which, false);
        else if (first >= 0xd0 && first <= 0xd3)
            as_number(p, &token, 1u << which, true);
        else if (first >= 0xd9 && first <= 0xdb)
            as_text(p, &token, take_number(&p->c, 1u << (first - 0xd9)));
        else if (first >= 0xc4 && first <= 0xc6)
            as_text(p, &token, take_number(&p->c, 1u << which));
        else if (first >= 0xdc)
            as_container(p, &token, first >= 0xde, take_number(&p->c, first & 1 ? 4 : 2));
        else if (first >= 0xc7 && first <= 0xc9)
            mv_take_bytes(&p->c, take_number(&p->c, 1u << (first - 0xc7)) + 1);
        else
            mv_take_bytes(&p->c, (size_t)(first - 0xc0) < sizeof fixed ? fixed[first - 0xc0] : 0);
    }
    if (p->c.overrun)
        return false;
    if (token.kind == MVT_AS_IT_IS)
        token.bytes = (mv_span){p->c.span.data + from, p->c.at - from};
    if (!mvt_token_add(p->form, token))
        return false;
    if (token.kind == MVT_OPEN && p->levels[p->depth - 1].left > 0)
        return true;
    if (token.kind == MVT_OPEN)
        close_container(p);
    complete(p);
    return true;
}

static bool parse(mvt_form *form, mv_span bytes)
{
    parser p = {.form = form, .c = mv_cursor_over(bytes)};

    do {
        if (p.c.at >= bytes.length || !take_token(&p))
            return false;
    } while (p.depth > 0);
    form->tail = (mv_span){bytes.data + p.c.at, bytes.length - p.c.at};
    return form->tokens[0].kind == MVT_OPEN;
}

static void put_big(mvt_out *out, uint8_t first, uint64_t number, unsigned bytes)
{
    mvt_put_u8(out, first);
    while (bytes-- > 0)
        mvt_put_u8(out, (uint8_t)(number >> 8 * bytes));
}

/* Writes a number in 1, 2 or 4 bytes, whichever is enough, after the first byte for that width. */
static void put_sized(mvt_out *out, const uint8_t first[3], uint64_t number, bool wide)
{
    unsigned which = wide || number > UINT16_MAX ? 2 : number > UINT8_MAX;

    if (first[which] == 0)
        which++;
    put_big(out, first[which], number, 1u << which);
}

/* Counts the values in each container, indexed by the token that begins the container. */
static uint32_t *count_values(const mvt_form *form)
{
    uint32_t *counts = mv_push_array(form->arena, uint32_t, form->count);
    uint32_t *open = mv_push_array(form->arena, uint32_t, form->count);
    uint32_t depth = 0;

    for (uint32_t i = 0; counts && open && i < form->count; i++) {
        if (form->tokens[i].kind == MVT_CLOSE) {
            depth -= depth > 0;
            continue;
        }
        if (depth > 0)
            counts[open[depth - 1]]++;
        if (form->tokens[i].kind == MVT_OPEN)
            open[depth++] = i;
    }
    return open ? counts : NULL;
}

static size_t write(const mvt_form *form, uint8_t *to, size_t room)
{
    mvt_out out = {.to = to, .room = room};
    const uint32_t *counts = count_values(form);

    for (uint32_t i = 0; counts && i < form->count; i++) {
        const mvt_token *token = &form->tokens[i];
        if (token->kind == MVT_NUMBER) {
            static const uint8_t firsts[] = {0xcc, 0xcd, 0xce};
            uint64_t n = token->number;
            if (token->negative && n >> 63)
                put_big(&out, 0xd3, n, 8);
            else if (token->wide || n > UINT32_MAX)
                put_big(&out, 0xcf, n, 8);
            else if (n < 0x80)
                mvt_put_u8(&out, (uint8_t)n);
            else
                put_sized(&out, firsts, n, false);
        } else if (token->kind == MVT_TEXT) {
            static const uint8_t texts[] = {0xd9, 0xda, 0xdb}, bytes[] = {0xc4, 0xc5, 0xc6};
            bool is_binary = token->op >= 0xc4 && token->op <= 0xc6;
            if (!token->wide && !is_binary && token->bytes.length < 32)
                mvt_put_u8(&out, (uint8_t)(0xa0 | token->bytes.length));
            else
                put_sized(&out, is_binary ? bytes : texts, token->bytes.length, token->wide);
            mvt_put(&out, token->bytes.data, token->bytes.length);
        } else if (token->kind == MVT_OPEN) {
            uint64_t count = (token->op == MAP ? counts[i] / 2 : counts[i]) + token->number;
            static const uint8_t arrays[] = {0, 0xdc, 0xdd}, maps[] = {0, 0xde, 0xdf};
            if (!token->wide && count < 16)
                mvt_put_u8(&out, (uint8_t)(token->op | count));
            else
                put_sized(&out, token->op == MAP ? maps : arrays, count, token->wide);
        } else
            mvt_put(&out, token->bytes.data, token->bytes.length);
    }
    return counts && !out.full ? out.at : 0;
}

static bool change_msgpack(mvt_form *form)
{
    static const struct {
        uint8_t length, bytes[9];
    } values[] = {{1, {0xc0}},
                  {1, {0xc2}},
                  {1, {0xc3}},
                  {9, {0xcb, 0x3f, 0xf8}},
                  {9, {0xcb, 0x7f, 0xf0}},
                  {5, {0xca, 0xff}},
                  {3, {0xd4, 1, 1}},
                  {1, {0x90}},
                  {1, {0x80}},
                  {2, {0xc4, 0}},
                  {1, {0xff}},
                  {9, {0xd3, 0x80}}};
    uint64_t which = mvt_dice(&form->random, sizeof values / sizeof *values);
    uint32_t at = mvt_any_token(form, mvt_dice(&form->random, 3) ? MVT_NUMBER : MVT_TEXT);

    if (mvt_dice(&form->random, 4) == 0) { /* a wrong count, or one in a longer form */
        at = mvt_any_token(form, MVT_OPEN);
        if (at == MVT_NO_TOKEN)
            return false;
        form->tokens[at].wide = true;
        if (mvt_dice(&form->random, 4) == 0)
            form->tokens[at].number = mvt_dice(&form->random, 2) ? 1 : UINT32_MAX / 2;
        return true;
    }
    if (at == MVT_NO_TOKEN)
        return false;
    form->tokens[at] =
        (mvt_token){.kind = MVT_AS_IT_IS, .bytes = {values[which].bytes, values[which].length}};
    return true;
}

const mvt_format mvt_format_msgpack = {parse, write, change_msgpack, NULL};
