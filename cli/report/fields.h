/* The fields of a report: one list from which its text, its JSON and its CSV come.
 *
 * A table is a list of fields and a function that lists its rows. Each field is written once, with
 * the value that a row has in it:
 *
 *     #define SITE_FIELDS(COLUMN, MEMBER, LIST)                                                   \
 *         COLUMN("bytes", "bytes", 1, MV_UNIT_BYTES, 9, site->bytes)                              \
 *         COLUMN("blocks", "blocks", 3, MV_UNIT_COUNT | MV_UNIT_SPARE, 0, site->blocks)           \
 *         MEMBER("at.event", mv_value_event(site->event))                                         \
 *         MEMBER("frames", mv_value_frames(s->trace, site->stack))                                \
 *         LIST("pins", &pin_table, mv_value_rows(site))
 *
 *     static void list_sites(mv_rows *rows, const void *all, const void *one)
 *     {
 *         const survey *s = all;
 *         const mv_attribution *found = one;
 *         uint32_t count = mv_rows_take(rows, found->count, s->limit);
 *
 *         for (uint32_t i = 0; i < count; i++) {
 *             const mv_peak_site *site = &found->sites[i];
 *             MV_ROWS_ADD(rows, SITE_FIELDS);
 *         }
 *     }
 *
 *     static const mv_table site_table = {MV_TABLE(SITE_FIELDS, list_sites)};
 *
 * COLUMN(key, heading, place, unit, width, value) is also shown in text, or without a key only
 * there: `heading` above the column, columns in the order of their places, each at least `width`
 * wide. MEMBER(key, value) is only for JSON and CSV. LIST(key, table, value) is a table nested in
 * each row. A value is a number, a boolean, a text, or the result of one of the functions below.
 *
 * `key` is the member's name in JSON and the column's name in CSV. Dots make objects: "at.event" is
 * {"at":{"event":...}}; fields of one object follow each other. A report is itself a table, of one
 * row. See docs/reports.md. */
#ifndef MV_FIELDS_H
#define MV_FIELDS_H

#include <stdio.h>

#include "analyze/totals/bounds.h"
#include "base/size.h"
#include "cli/report/sheet.h"
#include "parse/model/trace.h"

typedef struct mv_table mv_table;
typedef struct mv_rows mv_rows;

/* ---- values ------------------------------------------------------------------------------ */

typedef enum {
    MV_VALUE_ABSENT, /* no member; an empty cell */
    MV_VALUE_NULL,
    MV_VALUE_NO_OBJECT,   /* for the first field of an object: the object is absent */
    MV_VALUE_NULL_OBJECT, /* for the first field of an object: the object is null */
    MV_VALUE_U64,
    MV_VALUE_I64,
    MV_VALUE_REAL,
    MV_VALUE_SHARE, /* a fraction: a real; a percentage in text */
    MV_VALUE_BOOL,
    MV_VALUE_TEXT,
    MV_VALUE_TEXTS,   /* ["...", ...] */
    MV_VALUE_PAIR,    /* [a, b] */
    MV_VALUE_CULPRIT, /* a text: the label of a stack's culprit */
    MV_VALUE_FRAMES,  /* a stack: [{"function":...,"file":...,"line":N}, ...], innermost first */
    MV_VALUE_ROWS     /* for a LIST */
} mv_value_kind;

/* The value of a field in a row. The memory that it points to must outlive the call that adds the
 * row. */
typedef struct {
    mv_value_kind kind;
    const char *shown; /* the text cell, if it differs from value and unit; or NULL */
    union {
        uint64_t u64;
        int64_t i64;
        double real;
        bool truth;
        mv_span text;
        struct {
            uint64_t part, whole;
        } share;
        struct {
            uint64_t a, b;
        } pair;
        struct {
            const char *const *text; /* [count] */
            uint32_t count;
        } texts;
        struct {
            const mv_trace *trace;
            const uint8_t *kinds;
            mv_stack_id id;
        } stack;
        const void *one; /* passed to the table's function */
    };
} mv_value;

/* Members are set one by one, here and in the values of long tables: then compilers build a value
 * in place. trace makes fifteen for each event, and copies took a third of its time. */
static inline mv_value mv_value_of(mv_value_kind kind)
{
    mv_value value;

    value.kind = kind;
    value.shown = NULL;
    return value;
}

static inline mv_value mv_value_itself(mv_value value)
{
    return value;
}

static inline mv_value mv_value_u64(uint64_t u64)
{
    mv_value value = mv_value_of(MV_VALUE_U64);

    value.u64 = u64;
    return value;
}

static inline mv_value mv_value_i64(int64_t i64)
{
    mv_value value = mv_value_of(MV_VALUE_I64);

    value.i64 = i64;
    return value;
}

/* Null for MV_NO_BYTES. */
static inline mv_value mv_value_bytes(uint64_t bytes)
{
    return bytes == MV_NO_BYTES ? mv_value_of(MV_VALUE_NULL) : mv_value_u64(bytes);
}

/* Null for MV_NO_TIME. */
static inline mv_value mv_value_time(int64_t time_us)
{
    return time_us == MV_NO_TIME ? mv_value_of(MV_VALUE_NULL) : mv_value_i64(time_us);
}

/* A number of an event, or of another row: null for UINT32_MAX, which is MV_BEFORE and MV_NEVER. */
static inline mv_value mv_value_event(uint32_t event)
{
    return event == UINT32_MAX ? mv_value_of(MV_VALUE_NULL) : mv_value_u64(event);
}

static inline mv_value mv_value_real(double real)
{
    return (mv_value){.kind = MV_VALUE_REAL, .real = real};
}

/* Null, and 0 %, of zero. */
static inline mv_value mv_value_share(uint64_t part, uint64_t whole)
{
    return (mv_value){.kind = MV_VALUE_SHARE, .share = {part, whole}};
}

static inline mv_value mv_value_bool(bool truth)
{
    return (mv_value){.kind = MV_VALUE_BOOL, .truth = truth};
}

static inline mv_value mv_value_span(mv_span text)
{
    mv_value value = mv_value_of(MV_VALUE_TEXT);

    value.text = text;
    return value;
}

/* Null for NULL. */
static inline mv_value mv_value_text(const char *text)
{
    return text ? mv_value_span((mv_span){(const uint8_t *)text, strlen(text)})
                : mv_value_of(MV_VALUE_NULL);
}

/* Null for MV_NO_STRING. */
static inline mv_value mv_value_string(const mv_trace *trace, mv_string_id id)
{
    if (id.row == MV_NO_ROW)
        return mv_value_of(MV_VALUE_NULL);
    return mv_value_span(mv_string_span(trace, id));
}

static inline mv_value mv_value_texts(const char *const *text, uint32_t count)
{
    return (mv_value){.kind = MV_VALUE_TEXTS, .texts = {text, count}};
}

static inline mv_value mv_value_pair(uint64_t a, uint64_t b)
{
    mv_value value = mv_value_of(MV_VALUE_PAIR);

    value.pair.a = a;
    value.pair.b = b;
    return value;
}

/* [a, b]; null for MV_NO_POOL. For text output see mv_pool_text. */
static inline mv_value mv_value_pool(const mv_trace *trace, mv_pool_id pool)
{
    if (pool.row == MV_NO_ROW)
        return mv_value_of(MV_VALUE_NULL);
    return mv_value_pair(trace->pools.a[pool.row], trace->pools.b[pool.row]);
}

/* The label of the stack's culprit. `kinds` from mv_frame_kinds, or NULL. */
static inline mv_value mv_value_culprit(const mv_trace *trace, const uint8_t *kinds,
                                        mv_stack_id stack)
{
    return (mv_value){.kind = MV_VALUE_CULPRIT, .stack = {trace, kinds, stack}};
}

/* Row `i` of labels (mv_labels_find); the stack's culprit if memory ran out for them. */
static inline mv_value mv_value_label(const char *const *labels, uint32_t i, const mv_trace *trace,
                                      const uint8_t *kinds, mv_stack_id stack)
{
    return labels ? mv_value_text(labels[i]) : mv_value_culprit(trace, kinds, stack);
}

/* Null for MV_NO_STACK. */
static inline mv_value mv_value_frames(const mv_trace *trace, mv_stack_id stack)
{
    if (stack.row == MV_NO_ROW)
        return mv_value_of(MV_VALUE_NULL);
    return (mv_value){.kind = MV_VALUE_FRAMES, .stack = {trace, NULL, stack}};
}

/* The rows of a LIST, whose table's function receives `one`. */
static inline mv_value mv_value_rows(const void *one)
{
    return (mv_value){.kind = MV_VALUE_ROWS, .one = one};
}

/* `value`, with a different text in the text cell. */
static inline mv_value mv_value_shown(mv_value value, const char *shown)
{
    value.shown = shown;
    return value;
}

#define MV_BOUND_TEXT (MV_SIZE_TEXT + 4)

/* Bytes; marked in text unless exact: ">= 791 MiB". */
static inline mv_value mv_value_bound(uint64_t bytes, mv_bound bound, char text[MV_BOUND_TEXT])
{
    char size[MV_SIZE_TEXT];

    snprintf(text, MV_BOUND_TEXT, "%s%s", mv_bound_sign(bound), mv_size_text(size, bytes));
    return mv_value_shown(mv_value_u64(bytes), text);
}

/* `value` if `is_there`; otherwise an absent value. */
static inline mv_value mv_value_if(bool is_there, mv_value value)
{
    return is_there ? value : mv_value_of(MV_VALUE_ABSENT);
}

/* The string with this ID; absent for MV_NO_STRING. */
static inline mv_value mv_value_known(const mv_trace *trace, mv_string_id id)
{
    return mv_value_if(id.row != MV_NO_ROW, mv_value_string(trace, id));
}

/* ---- fields and tables ------------------------------------------------------------------- */

typedef struct {
    const char *key;     /* NULL: only in text */
    const char *heading; /* NULL: not in text */
    uint8_t place;       /* position among the text columns, lowest first */
    uint8_t unit;        /* mv_unit */
    uint8_t width;
    const mv_table *table; /* NULL unless it is a LIST */
} mv_field;

typedef enum {
    MV_SHAPE_OBJECTS, /* a row is an object */
    MV_SHAPE_LINES,   /* a row is an object on its own line: long lists */
    MV_SHAPE_VALUES,  /* a row is the value of its only field */
    MV_SHAPE_MAP      /* a row is a member of one object: its two fields are name and value */
} mv_table_shape;

#define MV_MOST_FIELDS 64

struct mv_table {
    const mv_field *fields;
    uint32_t count; /* at most MV_MOST_FIELDS */
    /* Adds the rows. `all` is the argument of mv_table_put or mv_table_print, `one` the argument of
     * mv_value_rows. */
    void (*list)(mv_rows *rows, const void *all, const void *one);
    mv_table_shape shape; /* in JSON */
    uint32_t named_by;    /* number of leading fields that identify the row: in CSV, nested tables
                             begin with them. 0 means one */
    /* Replaces `shape`: writes the JSON value itself. */
    void (*json)(mv_rows *rows, const void *all, const void *one);
    const char *main; /* for a whole report: the path of the table that --csv prints, such as
                         "devices.sites"; NULL: the report's own row */
};

#define MV_FIELD_COLUMN(key, heading, place, unit, width, value) \
    {key, heading, place, unit, width, NULL},
#define MV_FIELD_MEMBER(key, value)      {key, NULL, 0, 0, 0, NULL},
#define MV_FIELD_LIST(key, table, value) {key, NULL, 0, 0, 0, table},

/* The value of a field: an mv_value, or a plain number, truth or text. */
#define MV_VALUE(value) \
    _Generic((value), mv_value: mv_value_itself, uint64_t: mv_value_u64, uint32_t: mv_value_u64, \
             uint16_t: mv_value_u64, uint8_t: mv_value_u64, int64_t: mv_value_i64,               \
             double: mv_value_real, bool: mv_value_bool, mv_span: mv_value_span,                 \
             char *: mv_value_text, const char *: mv_value_text)(value)

#define MV_VALUE_COLUMN(key, heading, place, unit, width, value) MV_VALUE(value),
#define MV_VALUE_MEMBER(key, value)                              MV_VALUE(value),
#define MV_VALUE_LIST(key, table, value)                         MV_VALUE(value),

#define MV_FIELDS_OF(FIELDS)                                    \
    (const mv_field[])                                          \
    {                                                           \
        FIELDS(MV_FIELD_COLUMN, MV_FIELD_MEMBER, MV_FIELD_LIST) \
    }

/* The beginning of an mv_table: {MV_TABLE(SITE_FIELDS, list_sites), .shape = MV_SHAPE_LINES}. */
#define MV_TABLE(FIELDS, function)                                                           \
    .fields = MV_FIELDS_OF(FIELDS), .count = sizeof MV_FIELDS_OF(FIELDS) / sizeof(mv_field), \
    .list = (function)

/* Adds a row. The values are expressions over the variables that the list of fields names. */
#define MV_ROWS_ADD(rows, FIELDS) \
    mv_rows_add(rows, (const mv_value[]){FIELDS(MV_VALUE_COLUMN, MV_VALUE_MEMBER, MV_VALUE_LIST)})

/* Defines the function `name` of a table whose single row is a `type`, in FIELDS called `report`. */
#define MV_LIST_REPORT(name, type, report, FIELDS)                    \
    static void name(mv_rows *rows, const void *all, const void *one) \
    {                                                                 \
        const type *report = all;                                     \
        (void)one;                                                    \
        MV_ROWS_ADD(rows, FIELDS);                                    \
    }

#endif
