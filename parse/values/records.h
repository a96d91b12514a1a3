/* The parts of the value machine. Only its own files and the readers include this.
 *
 *     machine.c      strings, memo, chains: values
 *     containers.c   filling dicts and lists: completed values
 *     records.c      a dict's pairs -> a row of the trace
 *     rows.c         a list of records -> a range of rows
 *     root.c         the outermost dict -> the trace */
#ifndef MV_RECORDS_H
#define MV_RECORDS_H

#include "parse/values/machine.h"

/* ---- machine.c --------------------------------------------------------------------------- */

/* The builder remembers its first failure; this makes it the machine's. */
bool mv_machine_built(mv_machine *m);

/* Fails the machine because there is no space for another row: more than a reference can number, or
 * no memory. Always false. */
bool mv_machine_full(mv_machine *m, uint64_t count);

/* Whether a list of the machine has space for one more row that a reference can number. */
#define MV_MACHINE_ROOM(m, rows, count, capacity)                                                  \
    (((m)->count <= MV_REF_MASK && mv_room((m)->scratch, (m)->rows, (m)->count, (m)->capacity)) || \
     mv_machine_full((m), (m)->count))

bool mv_value_is_text(const mv_value *v);

/* The string of a text value. A word is interned only when it is used as data (a function may be
 * called "size"). */
mv_string_id mv_machine_text(mv_machine *m, const mv_value *v);

/* The bytes of a text value, for messages. */
const char *mv_machine_quote(mv_machine *m, const mv_value *v);
const char *mv_word_text(mv_word word);

/* A container whose kind is decided when something else refers to it. */
bool mv_value_is_undecided(const mv_value *v);

/* The reference to the undecided container at stack[at]. */
mv_ref mv_machine_refer_open(mv_machine *m, uint64_t at);

/* A fresh container got its kind: updates the memo entry that refers to it. */
void mv_machine_decided(mv_machine *m, const mv_value *v);

/* Makes `v` a chain without links, of kind TABLE or CHAIN. */
bool mv_machine_chain(mv_machine *m, mv_value *v, mv_value_kind kind);

/* Adds a link to the chain `to`; `key` is NULL in lists. */
bool mv_machine_link(mv_machine *m, const mv_value *to, const mv_value *key, const mv_value *value);

/* Turns the machine's failure into the reason why `v` is refused where it is needed. False if the
 * failure is not the value's fault. */
bool mv_machine_defer(mv_machine *m, mv_value *v);

/* Fails with the reason why `v` was refused, or why a list of rows is not allowed here; false,
 * without failing, if there is no such reason. */
bool mv_machine_fail_refused(mv_machine *m, const mv_value *v);

/* Whether a value is a dict with the keys of a snapshot, judging by its first keys. */
bool mv_machine_is_snapshot(const mv_machine *m, const mv_value *v);

static inline bool mv_value_is_refused(const mv_value *v)
{
    return v->kind == MV_VALUE_OTHER && v->bits > 0;
}

/* ---- containers.c ------------------------------------------------------------------------ */

/* Fixes the kind of stack[at]: it goes into a container, is fetched again or is the result. */
bool mv_machine_settle(mv_machine *m, uint64_t at);

/* Numbers a new stack object. False when there is no number or no memory left. */
bool mv_machine_call(mv_machine *m, mv_stack_id stack, uint32_t *call);

/* Makes space for `count` rows in m->frames. */
bool mv_machine_reserve_frames(mv_machine *m, uint64_t count);

/* ---- records.c --------------------------------------------------------------------------- */

/* Pairs of a dict: key, value, key, value... */
typedef struct {
    const mv_value *pair;
    uint64_t count;
} mv_pairs;

/* Makes a row from the pairs and turns `out`, the dict, into a reference to it. */
typedef bool mv_record_make_fn(mv_machine *m, mv_pairs p, mv_value *out);

/* The record type with these keys (bits of mv_word), or NULL. */
mv_record_make_fn *mv_record_maker(uint64_t keys);

/* Appends an event; `out` becomes a reference to it. */
bool mv_record_event(mv_machine *m, mv_event_row *row, const mv_tag_row *tag, mv_value *out);

/* Fails because `v`, under `key`, has an unexpected kind, or with the reason why `v` was
 * refused. */
bool mv_record_wrong_type(mv_machine *m, mv_word key, const mv_value *v, const char *expected);
bool mv_record_unknown_key(mv_machine *m, const mv_value *key);

/* ---- rows.c ------------------------------------------------------------------------------ */

/* The rows of a list, under `key`; no other list contains them. Rows of the root's lists may be in
 * any order. */
bool mv_record_rows(mv_machine *m, mv_word key, mv_value_kind rows_of, const mv_value *v,
                    mv_range *out);

#endif
