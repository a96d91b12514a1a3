/* The kinds of the model's columns. Some kinds are row numbers, which have a separate type for each
 * table, so that a stack cannot be used as a frame; the others are values. The lists of columns in
 * parse/model/trace.h name a kind for each column. Properties common to all columns of a kind are
 * defined here. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/wire.h"

typedef struct {
    uint32_t row;
} mv_string_id;
typedef struct {
    uint32_t row;
} mv_frame_id;
typedef struct {
    uint32_t row;
} mv_stack_id;
typedef struct {
    uint32_t row;
} mv_stream_id;
typedef struct {
    uint32_t row;
} mv_pool_id;
typedef struct {
    uint32_t row;
} mv_tag_id;

/* Limit for ordinals, which is higher than the number of devices of any machine. It exists because
 * each ordinal adds a table to every analysis. */
enum { MV_MOST_DEVICES = 4096 };

static inline bool mv_is_ordinal(int64_t device) /* -1 is allowed too */
{
    return device >= -1 && device < MV_MOST_DEVICES;
}

/* The table to which a column's numbers refer. */
typedef enum {
    MV_REF_NONE,
    MV_REF_STRING,
    MV_REF_FX,
    MV_REF_STACK,
    MV_REF_POOL,
    MV_REF_CALL, /* MV_NO_ROW is allowed for this reference and the ones above */
    MV_REF_FRAME,
    MV_REF_STREAM,
    MV_REF_TAG,
    MV_REF_CODE, /* a code, which must be below its kind's limit */
    MV_REF_COUNT
} mv_row_ref;

static inline bool mv_ref_may_be_none(uint8_t ref)
{
    return ref <= MV_REF_CALL;
}

/* How compact msgpack writes a value. */
typedef enum {
    MV_FORM_NONE,   /* in no column table */
    MV_FORM_BYTES,  /* uint64_t; MV_NO_BYTES is nil */
    MV_FORM_TIME,   /* int64_t; MV_NO_TIME is nil */
    MV_FORM_DELTA,  /* a time, written as its difference (modulo 2^64) from the previous time, which
                     * is 0 for the first */
    MV_FORM_DEVICE, /* int32_t from -1 to MV_MOST_DEVICES - 1 */
    MV_FORM_INT,    /* int32_t */
    MV_FORM_CODE,   /* uint8_t below its kind's limit */
    MV_FORM_COUNT,  /* uint32_t */
    MV_FORM_ROW     /* uint32_t; MV_NO_ROW is -1 where it is allowed */
} mv_form;

/* X(kind, C type, form, target, number of codes, form in the container) */
#define MV_KIND_LIST(X)                                                                       \
    X(STRING, mv_string_id, ROW, STRING, 0, PLAIN)                                            \
    X(FRAME, mv_frame_id, NONE, FRAME, 0, PLAIN)                                              \
    X(FX, uint32_t, NONE, FX, 0, PLAIN)                                                       \
    X(STACK, mv_stack_id, ROW, STACK, 0, PLAIN)                                               \
    X(STREAM, mv_stream_id, ROW, STREAM, 0, PLAIN)                                            \
    X(POOL, mv_pool_id, ROW, POOL, 0, PLAIN)                                                  \
    X(TAG, mv_tag_id, ROW, TAG, 0, PLAIN)                                                     \
    X(CALL, uint32_t, ROW, CALL, 0, CALLS)                                                    \
    X(ADDRESS, uint64_t, BYTES, NONE, 0, PLAIN)                                               \
    X(RISING_ADDRESS, uint64_t, BYTES, NONE, 0, DELTA) /* usually above the previous value */ \
    X(HANDLE, uint64_t, BYTES, NONE, 0, PLAIN)                                                \
    X(BYTES, uint64_t, BYTES, NONE, 0, PLAIN)  /* a size */                                   \
    X(RISING, uint64_t, BYTES, NONE, 0, DELTA) /* a count that never decreases */             \
    X(TIME, int64_t, TIME, NONE, 0, DELTA)                                                    \
    X(EVENT_TIME, int64_t, DELTA, NONE, 0, DELTA) /* an event's time */                       \
    X(DEVICE, int32_t, DEVICE, NONE, 0, PLAIN)    /* an ordinal, or -1 */                     \
    X(RESULT, int32_t, INT, NONE, 0, PLAIN)                                                   \
    X(EVENT, uint32_t, COUNT, NONE, 0, DELTA) /* a number of events */                        \
    X(FIRST, uint32_t, COUNT, NONE, 0, DELTA) /* with COUNT: a row range of another table */  \
    X(COUNT, uint32_t, COUNT, NONE, 0, PLAIN)                                                 \
    X(END, uint64_t, NONE, NONE, 0, DELTA) /* end of the row's range in another table */      \
    X(TEXT_BYTE, char, NONE, NONE, 0, PLAIN)                                                  \
    X(LINE, int64_t, NONE, NONE, 0, PLAIN)                                                    \
    X(INTEGER, int64_t, NONE, NONE, 0, PLAIN)                                                 \
    X(REAL, double, NONE, NONE, 0, PLAIN)                                                     \
    X(ACTION, uint8_t, CODE, CODE, MV_ACTION_COUNT, PLAIN)                                    \
    X(SEGMENT_KIND, uint8_t, CODE, CODE, MV_SEGMENT_UNKNOWN + 1, PLAIN)                       \
    X(BLOCK_STATE, uint8_t, CODE, CODE, MV_BLOCK_UNKNOWN + 1, PLAIN)                          \
    X(STAGE, uint8_t, CODE, CODE, MV_STAGE_MARK + 1, PLAIN)                                   \
    X(SETTING_KIND, uint8_t, NONE, CODE, MV_SETTING_NONE + 1, PLAIN)                          \
    X(API_ACTION, uint8_t, CODE, CODE, MV_API_ACTION_COUNT, PLAIN)                            \
    X(HEAP_ACTION, uint8_t, CODE, CODE, MV_HEAP_ACTION_COUNT, PLAIN)                          \
    X(TENSOR_ROLE, uint8_t, CODE, CODE, MV_TENSOR_NAMED + 1, PLAIN)                           \
    X(FLAG, uint8_t, CODE, CODE, 2, PLAIN)

typedef enum {
#define MV_KIND_ENUM(kind, type, form, ref, limit, transform) MV_KIND_##kind,
    MV_KIND_LIST(MV_KIND_ENUM)
} mv_kind;

/* mv_value_of_STACK is the value type of a STACK column, and so on. */
#define MV_KIND_TYPE(kind, type, form, ref, limit, transform) typedef type mv_value_of_##kind;
MV_KIND_LIST(MV_KIND_TYPE)
#undef MV_KIND_TYPE
