/* JSON as a tree (RFC 8259): what requests are read into.
 *
 *     const mv_json *root = mv_json_read(arena, text, &err);
 *     const mv_json *method = mv_json_member(root, "method");     NULL: there is none
 *
 * Strict: one value, no comments, no commas at the end, no NaN, texts of valid UTF-8. A value is at
 * most MV_JSON_DEPTH deep. Of members with the same key the last one counts. */
#ifndef MV_JSON_TREE_H
#define MV_JSON_TREE_H

#include "base/arena.h"
#include "base/cursor.h"
#include "base/err.h"

#define MV_JSON_DEPTH 64

typedef enum {
    MV_JSON_NULL,
    MV_JSON_FALSE,
    MV_JSON_TRUE,
    MV_JSON_NUMBER,
    MV_JSON_STRING,
    MV_JSON_ARRAY,
    MV_JSON_OBJECT
} mv_json_kind;

typedef struct mv_json {
    mv_json_kind kind;
    mv_span key;  /* of a member, without its escapes */
    mv_span text; /* of STRING without its escapes; of NUMBER as it is written; both end in a NUL */
    struct mv_json *child; /* of ARRAY and OBJECT: the first; NULL: empty */
    struct mv_json *next;  /* of the same ARRAY or OBJECT */
} mv_json;

/* Everything lives in `arena`. NULL if it is not JSON (MV_FORMAT, MV_DEPTH; the offset shows where)
 * or memory runs out. */
const mv_json *mv_json_read(mv_arena *arena, mv_span text, mv_err *err);

/* NULL if `object` is NULL, not an object, or has no such member. */
const mv_json *mv_json_member(const mv_json *object, const char *key);

/* Whether the value is that string. */
bool mv_json_is(const mv_json *value, const char *text);

#endif
