/* The parts that the value machine is made of; nobody but its own files and readers includes it.
 *
 *     machine.c      strings, memo, chains: what a value is
 *     containers.c   filling dicts and lists: when a value becomes something
 *     records.c      a dict's pairs -> a row of the trace
 *     root.c         the outermost dict -> the trace
 */
#ifndef MV_RECORDS_H
#define MV_RECORDS_H

#include "parse/values/machine.h"

/* ---- machine.c --------------------------------------------------------------------------- */

/* The builder fails stickily; this makes its failure the machine's. */
bool mv_machine_built(mv_machine *m);

/* A bigger block for the scratch array `*array` of `*capacity` elements, at least `wanted`. */
bool mv_machine_grow(mv_machine *m, void *array, uint64_t *capacity, uint64_t wanted,
                     uint64_t size);
bool mv_machine_grow_rows(mv_machine *m, void *array, uint32_t *capacity, uint64_t size);

bool mv_value_is_text(const mv_value *v);

/* The string of a text value. A word is interned only when it is used as data (a function may be
 * called "size"). */
mv_string_id mv_machine_text(mv_machine *m, const mv_value *v);

/* A text value's bytes, for messages. */
const char *mv_machine_quote(mv_machine *m, const mv_value *v);
const char *mv_word_text(mv_word word);

/* A container whose content is still to be decided when something else refers to it. */
bool mv_value_is_undecided(const mv_value *v);

/* The reference to the undecided container at stack[at]. */
mv_ref mv_machine_refer_open(mv_machine *m, uint64_t at);

/* After a fresh container turned into something: the memo entry that waits for it learns what. */
void mv_machine_decided(mv_machine *m, const mv_value *v);

/* Makes `v` a chain (of `kind` TABLE or CHAIN) without links; adds a link to it. */
bool mv_machine_chain(mv_machine *m, mv_value *v, mv_value_kind kind);
bool mv_machine_link(mv_machine *m, const mv_value *to, const mv_value *key, const mv_value *value);

/* ---- containers.c ------------------------------------------------------------------------ */

/* From now on stack[at] is fixed: it goes into a container, is fetched again or is the result. */
bool mv_machine_settle(mv_machine *m, uint64_t at);

/* Numbers a new stack object; false when the numbers or memory are out. */
bool mv_machine_call(mv_machine *m, mv_stack_id stack, uint32_t *call);

/* Makes room for `count` rows in m->frames. */
bool mv_machine_reserve_frames(mv_machine *m, uint64_t count);

/* ---- records.c --------------------------------------------------------------------------- */

/* Pairs of a dict: key, value, key, value... */
typedef struct {
    const mv_value *pair;
    uint64_t count;
} mv_pairs;

/* Makes a row from the pairs and turns `out`, the dict, into a reference to it. */
typedef bool mv_record_make_fn(mv_machine *m, mv_pairs p, mv_value *out);

/* What a dict with this set of keys (bits of mv_word) is; NULL when it is none of the records. */
mv_record_make_fn *mv_record_maker(uint64_t keys);

/* Appends an event; `out` becomes a reference to it. */
bool mv_record_event(mv_machine *m, mv_event_row *row, const mv_tag_row *tag, mv_value *out);

bool mv_record_rows(mv_machine *m, mv_word key, mv_value_kind rows_of, const mv_value *v,
                    mv_range *out);
bool mv_record_wrong_type(mv_machine *m, mv_word key, const char *expected);
bool mv_record_unknown_key(mv_machine *m, const mv_value *key);

#endif
