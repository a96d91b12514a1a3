/* Pickles as tokens: one for each opcode with its operand. A model of the stack shows which opcodes
 * make a single value, and so which values are items of a list or a dict. An invalid pickle
 * consists only of opcodes. The writer numbers the memo again. */
#include "parse/pickle/opcodes.h"
#include "tests/fuzz/mutate_form.h"

enum { MOST_DEPTH = 4096, MOST_MARKS = 256, MOST_MEMO = 1 << 16 };

typedef struct {
    mvt_form *form;
    mv_cursor c;
    uint32_t starts[MOST_DEPTH]; /* first token of each value on the stack */
    uint32_t marks[MOST_MARKS];
    uint32_t items[MOST_DEPTH]; /* number of items, for a container at that position of the stack */
    uint32_t depth, mark_count;
    bool is_sound;
    uint32_t memo_count; /* largest memo position + 1 */
    uint32_t *memo;      /* [MOST_MEMO] token of the PUT + 1 */
} parser;

/* How an operand is written. */
typedef enum {
    NONE,
    FIXED_1,
    FIXED_2,
    FIXED_4,
    FIXED_8,
    TEXT_1,
    TEXT_4,
    TEXT_8,
    LINE,
    TWO_LINES
} operand_form;

static const uint8_t operands[256] = {[MV_OP_BININT1] = FIXED_1,
                                      [MV_OP_BINGET] = FIXED_1,
                                      [MV_OP_BINPUT] = FIXED_1,
                                      [MV_OP_PROTO] = FIXED_1,
                                      [MV_OP_EXT1] = FIXED_1,
                                      [MV_OP_BININT2] = FIXED_2,
                                      [MV_OP_EXT2] = FIXED_2,
                                      [MV_OP_BININT] = FIXED_4,
                                      [MV_OP_LONG_BINGET] = FIXED_4,
                                      [MV_OP_LONG_BINPUT] = FIXED_4,
                                      [MV_OP_EXT4] = FIXED_4,
                                      [MV_OP_BINFLOAT] = FIXED_8,
                                      [MV_OP_FRAME] = FIXED_8,
                                      [MV_OP_LONG1] = TEXT_1,
                                      [MV_OP_SHORT_BINUNICODE] = TEXT_1,
                                      [MV_OP_SHORT_BINSTRING] = TEXT_1,
                                      [MV_OP_SHORT_BINBYTES] = TEXT_1,
                                      [MV_OP_LONG4] = TEXT_4,
                                      [MV_OP_BINUNICODE] = TEXT_4,
                                      [MV_OP_BINSTRING] = TEXT_4,
                                      [MV_OP_BINBYTES] = TEXT_4,
                                      [MV_OP_BINUNICODE8] = TEXT_8,
                                      [MV_OP_BINBYTES8] = TEXT_8,
                                      [MV_OP_BYTEARRAY8] = TEXT_8,
                                      [MV_OP_FLOAT] = LINE,
                                      [MV_OP_INT] = LINE,
                                      [MV_OP_LONG] = LINE,
                                      [MV_OP_PERSID] = LINE,
                                      [MV_OP_STRING] = LINE,
                                      [MV_OP_UNICODE] = LINE,
                                      [MV_OP_GET] = LINE,
                                      [MV_OP_PUT] = LINE,
                                      [MV_OP_GLOBAL] = TWO_LINES,
                                      [MV_OP_INST] = TWO_LINES};

/* ---- the stack ---------------------------------------------------------------------------- */

static void push(parser *p, uint32_t start)
{
    if (p->depth == MOST_DEPTH) {
        p->is_sound = false;
        return;
    }
    p->items[p->depth] = 0;
    p->starts[p->depth++] = start;
}

static bool has(parser *p, uint32_t count)
{
    p->is_sound = p->is_sound && p->depth >= count;
    return p->is_sound;
}

static bool pop_mark(parser *p, uint32_t *from)
{
    p->is_sound = p->is_sound && p->mark_count > 0 && p->marks[p->mark_count - 1] <= p->depth;
    *from = p->is_sound ? p->marks[--p->mark_count] : 0;
    return p->is_sound;
}

/* The values starting at `from` become items of the container below them. They end at token
 * `end`. */
static void fill(parser *p, uint32_t from, uint32_t step, uint32_t end)
{
    if (!p->is_sound || from == 0) {
        p->is_sound = false;
        return;
    }
    for (uint32_t i = from; i + step <= p->depth; i += step)
        mvt_item_add(p->form, (mvt_item){.begin = p->starts[i],
                                         .end = i + step < p->depth ? p->starts[i + step] : end,
                                         .owner = p->starts[from - 1],
                                         .index = p->items[from - 1]++,
                                         .value = step == 2 ? p->starts[i + 1] : MVT_NO_TOKEN});
    p->depth = from;
}

/* Applies the effect that the opcode at token `at` has on the stack. */
static void follow(parser *p, uint8_t op, uint32_t at)
{
    uint32_t from, count;

    switch (op) {
    case MV_OP_MARK:
        p->is_sound = p->is_sound && p->mark_count < MOST_MARKS;
        if (p->is_sound)
            p->marks[p->mark_count++] = p->depth;
        return;
    case MV_OP_APPENDS:
    case MV_OP_SETITEMS:
        if (pop_mark(p, &from))
            fill(p, from, op == MV_OP_APPENDS ? 1 : 2, at);
        return;
    case MV_OP_APPEND:
        if (has(p, 2))
            fill(p, p->depth - 1, 1, at + 1);
        return;
    case MV_OP_SETITEM:
        if (has(p, 3))
            fill(p, p->depth - 2, 2, at + 1);
        return;
    case MV_OP_TUPLE1:
    case MV_OP_TUPLE2:
    case MV_OP_TUPLE3:
        count = op - MV_OP_TUPLE1 + 1u;
        if (has(p, count))
            p->depth -= count - 1;
        return;
    case MV_OP_TUPLE:
    case MV_OP_LIST:
    case MV_OP_DICT:
        if (!pop_mark(p, &from))
            return;
        from = from < p->depth ? (p->depth = from, p->starts[from] - 1) : at;
        push(p, from);
        return;
    case MV_OP_POP:
        if (has(p, 1))
            p->depth--;
        return;
    case MV_OP_POP_MARK:
        if (pop_mark(p, &from))
            p->depth = from;
        return;
    case MV_OP_PROTO:
    case MV_OP_FRAME:
    case MV_OP_STOP:
    case MV_OP_MEMOIZE:
    case MV_OP_BINPUT:
    case MV_OP_LONG_BINPUT:
        return;
    default:
        push(p, at);
    }
}

/* ---- parsing ------------------------------------------------------------------------------ */

static mv_span take_line(mv_cursor *c)
{
    uint64_t from = c->at;

    while (!c->overrun && mv_take_u8(c) != '\n')
        continue;
    return (mv_span){c->span.data + from, c->at - from};
}

static void as_number(mvt_token *token, mv_span bytes)
{
    if (bytes.length > 9 || (bytes.length == 9 && bytes.data[8] != 0))
        return;
    token->kind = MVT_NUMBER;
    memcpy(&token->number, bytes.data, bytes.length < 8 ? bytes.length : 8);
    if (bytes.length > 0 && bytes.length < 9 && bytes.data[bytes.length - 1] & 0x80) {
        token->number |= bytes.length < 8 ? UINT64_MAX << 8 * bytes.length : 0;
        token->negative = true;
    }
}

/* PUTs and GETs whose position is too large stay bytes. */
static void as_memo(parser *p, mvt_token *token, uint64_t place)
{
    bool is_get = token->op == MV_OP_BINGET || token->op == MV_OP_LONG_BINGET;
    uint32_t at = p->form->count;

    if (place >= MOST_MEMO || (is_get && !p->memo[place]))
        return;
    token->number = place;
    if (is_get) {
        const mvt_token *put = &p->form->tokens[p->memo[place] - 1];
        token->kind = MVT_GET;
        token->id = put->id;
        token->bytes = put->bytes;
        return;
    }
    token->kind = MVT_PUT;
    token->id = p->form->ids++;
    token->bytes = (mv_span){0};
    if (at > 0 && p->form->tokens[at - 1].kind == MVT_TEXT)
        token->bytes = p->form->tokens[at - 1].bytes;
    p->memo[place] = at + 1;
    p->memo_count = place < p->memo_count ? p->memo_count : (uint32_t)place + 1;
}

static void take_operand(mv_cursor *c, uint8_t op, mv_span *out)
{
    static const uint8_t widths[] = {[FIXED_1] = 1, [FIXED_2] = 2, [FIXED_4] = 4, [FIXED_8] = 8,
                                     [TEXT_1] = 1,  [TEXT_4] = 4,  [TEXT_8] = 8,  [TWO_LINES] = 0};
    operand_form how = operands[op];
    uint64_t length = widths[how];

    if (how == LINE || how == TWO_LINES) {
        *out = take_line(c);
        if (how == TWO_LINES)
            out->length += take_line(c).length;
        return;
    }
    if (how == TEXT_1)
        length = mv_take_u8(c);
    else if (how == TEXT_4)
        length = mv_take_u32(c);
    else if (how == TEXT_8)
        length = mv_take_u64(c);
    *out = (mv_span){mv_take_bytes(c, length), length};
}

static bool take_token(parser *p)
{
    uint64_t from = p->c.at;
    uint8_t op = mv_take_u8(&p->c);
    mvt_token token = {.kind = MVT_AS_IT_IS, .op = op};
    mv_span operand = {0};

    take_operand(&p->c, op, &operand);
    if (p->c.overrun)
        return false;
    token.bytes = (mv_span){p->c.span.data + from, p->c.at - from};
    switch (op) {
    case MV_OP_BININT1:
    case MV_OP_BININT2: /* unsigned: an extra byte distinguishes it from a negative number */
        token.kind = MVT_NUMBER;
        memcpy(&token.number, operand.data, operand.length);
        break;
    case MV_OP_BININT:
    case MV_OP_LONG1:
    case MV_OP_LONG4:
        as_number(&token, operand);
        break;
    case MV_OP_SHORT_BINUNICODE:
    case MV_OP_BINUNICODE:
    case MV_OP_BINUNICODE8:
        token.kind = MVT_TEXT;
        token.bytes = operand;
        break;
    case MV_OP_MEMOIZE:
        as_memo(p, &token, p->memo_count);
        break;
    case MV_OP_BINPUT:
    case MV_OP_BINGET:
        as_memo(p, &token, operand.data[0]);
        break;
    case MV_OP_LONG_BINPUT:
    case MV_OP_LONG_BINGET:
        as_memo(p, &token, mv_load_u32(operand.data));
        break;
    }
    if (p->is_sound)
        follow(p, op, p->form->count);
    return mvt_token_add(p->form, token);
}

static bool parse(mvt_form *form, mv_span bytes)
{
    parser *p = mv_push_struct(form->arena, parser);

    if (!p || bytes.length < 2 || bytes.data[0] != MV_OP_PROTO)
        return false;
    *p = (parser){.form = form, .c = mv_cursor_over(bytes), .is_sound = true};
    p->memo = mv_push_array(form->arena, uint32_t, MOST_MEMO);
    while (p->memo && p->c.at < bytes.length) {
        uint64_t from = p->c.at;
        if (!take_token(p)) { /* bytes that are not an opcode, or an incomplete one */
            form->tail = (mv_span){bytes.data + from, bytes.length - from};
            return form->count > 2;
        }
        if (form->tokens[form->count - 1].op == MV_OP_STOP)
            break;
    }
    form->tail = (mv_span){bytes.data + p->c.at, bytes.length - p->c.at};
    return p->memo && form->count > 2;
}

static void put_op(mvt_out *out, uint8_t op, uint64_t number, unsigned bytes)
{
    mvt_put_u8(out, op);
    mvt_put_number(out, number, bytes);
}

static void put_number(mvt_out *out, const mvt_token *token)
{
    uint64_t n = token->number;
    bool fits = token->negative && n >> 63 ? n >= (uint64_t)INT32_MIN : n <= INT32_MAX;
    uint8_t length = n >> 63 && !token->negative ? 9 : 8;

    if (token->wide) {
        put_op(out, MV_OP_LONG4, length, 4);
    } else if (fits && n <= UINT8_MAX) {
        put_op(out, MV_OP_BININT1, n, 1);
        return;
    } else if (fits && n <= UINT16_MAX) {
        put_op(out, MV_OP_BININT2, n, 2);
        return;
    } else if (fits) {
        put_op(out, MV_OP_BININT, n, 4);
        return;
    } else {
        while (!token->negative && length > 1 && n >> (8 * length - 9) == 0)
            length--;
        put_op(out, MV_OP_LONG1, length, 1);
    }
    mvt_put_number(out, n, length < 8 ? length : 8);
    if (length > 8)
        mvt_put_u8(out, 0);
}

static void put_text(mvt_out *out, const mvt_token *token)
{
    uint64_t length = token->bytes.length;

    if (token->wide)
        put_op(out, MV_OP_BINUNICODE8, length, 8);
    else if (token->op == MV_OP_SHORT_BINUNICODE && length <= UINT8_MAX)
        put_op(out, MV_OP_SHORT_BINUNICODE, length, 1);
    else
        put_op(out, MV_OP_BINUNICODE, length, 4);
    mvt_put(out, token->bytes.data, length);
}

static void put_memo(mvt_out *out, uint8_t small, uint8_t large, uint32_t place)
{
    put_op(out, place <= UINT8_MAX ? small : large, place, place <= UINT8_MAX ? 1 : 4);
}

static size_t write(const mvt_form *form, uint8_t *to, size_t room)
{
    mvt_out out = {.to = to, .room = room};
    uint32_t ids = form->ids, next = 0;

    for (uint32_t i = 0; i < form->count; i++)
        ids = form->tokens[i].id < ids ? ids : form->tokens[i].id + 1;
    uint32_t *places = mv_push_array(form->arena, uint32_t, ids + 1); /* + 1 */
    if (!places)
        return 0;
    for (uint32_t i = 0; i < form->count; i++) {
        const mvt_token *token = &form->tokens[i];
        uint32_t place;
        switch (token->kind) {
        case MVT_NUMBER:
            put_number(&out, token);
            break;
        case MVT_TEXT:
            put_text(&out, token);
            break;
        case MVT_PUT:
            place = token->op == MV_OP_MEMOIZE ? next : (uint32_t)token->number;
            next = place < next ? next : place + 1;
            places[token->id] = place + 1;
            if (token->op == MV_OP_MEMOIZE)
                mvt_put_u8(&out, MV_OP_MEMOIZE);
            else
                put_memo(&out, MV_OP_BINPUT, MV_OP_LONG_BINPUT, place);
            break;
        case MVT_GET:
            if (!places[token->id]) {
                /* Writes a value whose PUT no longer exists: its text, or an empty list. */
                if (token->bytes.data)
                    put_text(&out, token);
                else
                    mvt_put_u8(&out, MV_OP_EMPTY_LIST);
            } else
                put_memo(&out, MV_OP_BINGET, MV_OP_LONG_BINGET, places[token->id] - 1);
            break;
        default:
            mvt_put(&out, token->bytes.data, token->bytes.length);
        }
    }
    return out.full ? 0 : out.at;
}

/* ---- changes that only pickles have ------------------------------------------------------- */

#define OPS(text)                                 \
    {                                             \
        (const uint8_t *)(text), sizeof(text) - 1 \
    }

/* Opcode sequences, some of which leave the stack unchanged. */
static const mv_span neutral[] = {OPS("N0"),
                                  OPS("K\1"
                                      "20"
                                      "0"),
                                  OPS("(K\1"
                                      "1"),
                                  OPS("("
                                      "1"),
                                  OPS("\x95\1\0\0\0\0\0\0\0"),
                                  OPS("\x88\x89\x86"
                                      "0"),
                                  OPS("(K\1K\2t0")};
static const uint8_t rude_single[] = "(012.N]})eaustldRb\x85\x88\x94\x93";
enum { RUDE_SINGLE = sizeof rude_single - 1 };
static const mv_span rude[] = {OPS("cos\nx\n"),
                               OPS("h\xff"),
                               OPS("j\xff\xff\xff\xff"),
                               OPS("r\xff\xff\0\0"),
                               OPS("G\x7f\xf8\0\0\0\0\0\0"),
                               OPS("\x8b\xff\xff\xff\x7f"),
                               OPS("\x8d\xff\xff\xff\xff\xff\xff\xff\xff"),
                               OPS("\x8e\0\0\0\0\0\0\0\0"),
                               OPS("B\1\0\0\0a"),
                               OPS("\x8f\x90")};

static mvt_token as_it_is(mv_span bytes)
{
    return (mvt_token){.kind = MVT_AS_IT_IS, .bytes = bytes};
}

static mvt_token some_rude(uint32_t number)
{
    return as_it_is(number < RUDE_SINGLE ? (mv_span){&rude_single[number], 1}
                                         : rude[number - RUDE_SINGLE]);
}

/* Puts a value of another kind in place of a number, a text or a fetched value. */
static bool change_kind(mvt_form *form, uint32_t at)
{
    static const mv_span values[] = {OPS("N"),
                                     OPS("]"),
                                     OPS("}"),
                                     OPS(")"),
                                     OPS("\x88"),
                                     OPS("G\x3f\xf8\0\0\0\0\0\0"),
                                     OPS("G\xff\xf0\0\0\0\0\0\0"),
                                     OPS("K\1K\2\x86"),
                                     OPS("J\xff\xff\xff\xff")};

    if (at == MVT_NO_TOKEN)
        return false;
    form->tokens[at] = as_it_is(values[mvt_dice(&form->random, sizeof values / sizeof *values)]);
    return true;
}

/* Finds the items between a mark and the opcode that turns them into a container. */
static bool make_from_mark(mvt_form *form)
{
    uint32_t at = MVT_NO_TOKEN, begin;

    for (unsigned i = 0; i < 24 && form->item_count && at == MVT_NO_TOKEN; i++) {
        const mvt_item *item = &form->items[mvt_dice(&form->random, form->item_count)];
        uint8_t op = item->end < form->count ? form->tokens[item->end].op : 0;
        if (op == MV_OP_APPENDS || op == MV_OP_SETITEMS)
            at = item->end, begin = item->owner;
    }
    if (at == MVT_NO_TOKEN)
        return false;
    form->tokens[at] =
        as_it_is(form->tokens[at].op == MV_OP_APPENDS ? (mv_span)OPS("l") : (mv_span)OPS("d"));
    return mvt_splice(form, begin, form->tokens[begin + 1].kind == MVT_PUT ? 2 : 1, NULL, 0);
}

static bool change_memo(mvt_form *form)
{
    uint32_t at = mvt_any_token(form, MVT_GET), other = mvt_any_token(form, MVT_GET);

    if (at == MVT_NO_TOKEN || other == MVT_NO_TOKEN ||
        !form->tokens[at].bytes.data != !form->tokens[other].bytes.data)
        return false;
    form->tokens[at].id = form->tokens[other].id;
    form->tokens[at].bytes = form->tokens[other].bytes;
    return true;
}

static bool change_pickle(mvt_form *form)
{
    uint32_t at = 1 + (uint32_t)mvt_dice(&form->random, form->count - 1);
    mvt_token put;

    switch (mvt_dice(&form->random, 10)) {
    case 0:
        put = some_rude(mvt_dice(&form->random, RUDE_SINGLE + sizeof rude / sizeof *rude));
        return mvt_splice(form, at, mvt_dice(&form->random, 2) != 0, &put, 1);
    case 1:
    case 2:
        put = as_it_is(neutral[mvt_dice(&form->random, sizeof neutral / sizeof *neutral)]);
        return mvt_splice(form, at, 0, &put, 1);
    case 3:
        return change_kind(form,
                           mvt_any_token(form, mvt_dice(&form->random, 2) ? MVT_NUMBER : MVT_TEXT));
    case 4:
    case 5:
        return change_memo(form);
    case 6: /* a protocol, and PUTs */
        form->tokens[0] =
            as_it_is(mvt_dice(&form->random, 2) ? (mv_span)OPS("\x80\2") : (mv_span)OPS("\x80\5"));
        return true;
    case 7:
        at = mvt_any_token(form, MVT_PUT);
        return at != MVT_NO_TOKEN && mvt_splice(form, at, 1, NULL, 0);
    default:
        return make_from_mark(form);
    }
}

const mvt_format mvt_format_pickle = {parse, write, change_pickle, NULL};
