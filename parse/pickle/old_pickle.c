/* Detects pickles of protocols 0 and 1. They have no header, and their opcodes are letters.
 * Ordinary text may therefore begin with the same bytes, such as a name in a table or a word in
 * brackets. */
#include "parse/readers.h"

enum {
    MOST_FIRST_MEMO = 8
}; /* largest number expected for the first memo entry; numbers begin at
                               * 0, or at 1 in files of old writers */

static bool take(mv_cursor *c, uint8_t byte)
{
    if (c->at == c->span.length || c->span.data[c->at] != byte)
        return false;
    c->at++;
    return true;
}

static bool is_of_name(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '.';
}

/* Reads a line with a Python name or a number. If the file was transferred as text, the line may
 * end in \r\n. */
static bool take_line(mv_cursor *c, bool is_number)
{
    uint64_t from = c->at;

    while (c->at < c->span.length &&
           (is_number ? c->span.data[c->at] >= '0' && c->span.data[c->at] <= '9'
                      : is_of_name(c->span.data[c->at])))
        c->at++;
    if (c->at == from)
        return false;
    take(c, '\r');
    return take(c, '\n');
}

/* Reads PUT, whose operand is a line in protocol 0, and a byte that does not occur in text in
 * protocol 1. */
static bool take_memo(mv_cursor *c)
{
    if (take(c, 'p'))
        return take_line(c, true);
    return take(c, 'q') && c->at < c->span.length && c->span.data[c->at++] <= MOST_FIRST_MEMO;
}

/* Accepts a dict, a list or an object of a class, possibly as the first item of a tuple. Pickles
 * store each of these in the memo before adding items to it. */
bool mv_pickle_is_old(mv_span head)
{
    mv_cursor c = mv_cursor_over(head);
    bool has_mark = false;

    while (take(&c, '('))
        has_mark = true;
    if (take(&c, '}') || take(&c, ']') || (has_mark && (take(&c, 'd') || take(&c, 'l'))))
        return take_memo(&c);
    return take(&c, 'c') && take_line(&c, false) && take_line(&c, false) && take_memo(&c);
}
