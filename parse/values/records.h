/* The parts of the value machine. Only its own files and the readers include this.
 *
 *     machine.c      makes values: strings, the memo, chains
 *     containers.c   fills dicts and lists, which makes complete values
 *     records.c      converts the pairs of a dict to a row of the trace
 *     rows.c         converts a list of records to a range of rows
 *     root.c         converts the outermost dict to the trace
 *     populate.c     takes page faults for the machine, on another thread */
#pragma once

#include "parse/values/machine.h"

/* ---- machine.c --------------------------------------------------------------------------- */

/* Copies the builder's first failure, if any, to the machine. */
bool mv_machine_built(mv_machine *m);

/* Fails the machine because there is no space for another row: either its number would not fit in a
 * reference, or memory ran out. Always returns false. */
bool mv_machine_full(mv_machine *m, uint64_t count);

/* Makes space for one more row in a list of the machine; false if its number would not fit in a
 * reference, or memory ran out. */
#define MV_MACHINE_ROOM(m, rows, count, capacity)                                                  \
    (((m)->count <= MV_REF_MASK && mv_room((m)->scratch, (m)->rows, (m)->count, (m)->capacity)) || \
     mv_machine_full((m), (m)->count))

bool mv_value_is_text(const mv_value *v);

/* Returns the interned string of a string value. A word is interned only when it is used as data,
 * for example when a function is called "size". */
mv_string_id mv_machine_text(mv_machine *m, const mv_value *v);

/* Returns the bytes of a string value, for messages. */
const char *mv_machine_quote(mv_machine *m, const mv_value *v);
const char *mv_word_text(mv_word word);

/* Returns a reference to the undecided container at stack[at]. */
mv_ref mv_machine_refer_open(mv_machine *m, uint64_t at);

/* Called when the kind of a fresh container is decided: updates the memo entry that refers to
 * it. */
void mv_machine_decided(mv_machine *m, const mv_value *v);

/* Makes `v` an empty chain of kind TABLE or CHAIN. */
bool mv_machine_chain(mv_machine *m, mv_value *v, mv_value_kind kind);

/* Adds a link to the chain `to`; `key` is NULL in lists. */
bool mv_machine_link(mv_machine *m, const mv_value *to, const mv_value *key, const mv_value *value);

/* Turns the machine's failure into the reason why `v` is refused wherever it is needed. Returns
 * false if the failure was not caused by the value. */
bool mv_machine_defer(mv_machine *m, mv_value *v);

/* Fails with the reason why `v` was refused, or why a list of rows is not allowed here. If there is
 * no such reason, returns false without failing. */
bool mv_machine_fail_refused(mv_machine *m, const mv_value *v);

/* Returns true if a value is a dict that begins with keys of a snapshot. */
bool mv_machine_is_snapshot(const mv_machine *m, const mv_value *v);

static inline bool mv_value_is_refused(const mv_value *v)
{
    return v->kind == MV_VALUE_OTHER && v->bits > 0;
}

/* ---- containers.c ------------------------------------------------------------------------ */

/* Decides the kind of the container at stack[at], because it is put into another container, is
 * fetched again, or is the result. */
bool mv_machine_settle(mv_machine *m, uint64_t at);

/* Gives a new stack object its number. Returns false when numbers or memory run out. */
bool mv_machine_call(mv_machine *m, mv_stack_id stack, uint32_t *call);

/* ---- records.c --------------------------------------------------------------------------- */

/* The pairs of a dict: key, value, key, value... */
typedef struct {
    const mv_value *pair;
    uint64_t count;
} mv_pairs;

/* Makes a row from the pairs of the dict `out`, and replaces the dict with a reference to the
 * row. */
typedef bool mv_record_make_fn(mv_machine *m, mv_pairs p, mv_value *out);

/* Returns the record type with these keys (bits of mv_word), or NULL. */
mv_record_make_fn *mv_record_maker(uint64_t keys);

/* Appends an event, and replaces `out` with a reference to it. */
bool mv_record_event(mv_machine *m, mv_event_row *row, const mv_tag_row *tag, mv_value *out);

/* Fails because `v`, the value of `key`, has an unexpected kind, or with the reason why `v` was
 * refused. */
bool mv_record_wrong_type(mv_machine *m, mv_word key, const mv_value *v, const char *expected);
bool mv_record_unknown_key(mv_machine *m, const mv_value *key);

/* ---- rows.c ------------------------------------------------------------------------------ */

/* Gets the rows of the list `v`, which is the value of `key`. No other list may contain these rows.
 * Rows of the root's lists may be in any order. */
bool mv_record_rows(mv_machine *m, mv_word key, mv_value_kind rows_of, const mv_value *v,
                    mv_range *out);
