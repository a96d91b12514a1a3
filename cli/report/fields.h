/* The fields of a report. One list of fields defines its text, its JSON and its CSV.
 *
 * A table consists of a list of fields and a function that lists its rows. Each field is written
 * once, together with its value in a row:
 *
 *     #define SITE_FIELDS(COLUMN, MEMBER, LIST)                                                   \
 *         COLUMN("bytes", "bytes", 1, MV_UNIT_BYTES, 9, site->bytes)                              \
 *         COLUMN("blocks", "blocks", 3, MV_UNIT_COUNT | MV_UNIT_SPARE, 0, site->blocks)           \
 *         MEMBER("at.event", mv_value_event(site->event))                                         \
 *         MEMBER("frames", mv_value_frames(s->trace, site->stack))                                \
 *         LIST("pins", &pin_table, mv_value_rows(site))
 *
 *     static void list_sites(mv_rows *rows)
 *     {
 *         const survey *s = mv_rows_all(rows);
 *         const mv_attribution *found = mv_rows_one(rows);
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
 * COLUMN(key, heading, place, unit, width, value) is shown in text as well as in JSON and CSV. If
 * its key is NULL, it is shown only in text. `heading` is printed above the column, columns are
 * sorted by `place`, and each is at least `width` characters wide. MEMBER(key, value) is only for
 * JSON and CSV. LIST(key, table, value) is a table nested in each row. A value is a number, a
 * boolean, a string, or the result of one of the functions below.
 *
 * `key` is the member's name in JSON and the column's name in CSV. Dots create objects: "at.event"
 * is {"at":{"event":...}}, and the fields of an object must be adjacent. A report is itself a
 * table, with a single row. See docs/reports.md. */
#pragma once

#include "analyze/totals/bounds.h"
#include "base/size.h"
#include "cli/report/sheet.h"

typedef struct mv_table mv_table;
typedef struct mv_rows mv_rows;

/* ---- values ------------------------------------------------------------------------------ */

typedef enum {
    MV_VALUE_ABSENT, /* no member in JSON, an empty cell in CSV */
    MV_VALUE_NULL,
    MV_VALUE_NO_OBJECT,   /* makes an object absent; only for its first field */
    MV_VALUE_NULL_OBJECT, /* makes an object null; only for its first field */
    MV_VALUE_U64,
    MV_VALUE_I64,
    MV_VALUE_REAL,
    MV_VALUE_SHARE, /* a fraction: a real number in JSON and CSV, a percentage in text */
    MV_VALUE_BOOL,
    MV_VALUE_TEXT,
    MV_VALUE_TEXTS,   /* ["...", ...] */
    MV_VALUE_PAIR,    /* [a, b] */
    MV_VALUE_CULPRIT, /* the label of a stack's culprit, a string */
    MV_VALUE_FRAMES,  /* a stack: [{"function":...,"file":...,"line":N}, ...], innermost frame
                       * first */
    MV_VALUE_ROWS     /* the rows of a LIST */
} mv_value_kind;

/* A field's value in a row. Memory that it points to must stay valid until the call that adds the
 * row returns. */
typedef struct {
    mv_value_kind kind;
    const char *shown; /* the text cell, if it is not simply the value in its unit; or NULL */
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
        const void *one; /* passed as `one` to the table's function */
    };
} mv_value;

/* Here and in the values of long tables, members are set one by one, because compilers then build
 * the value in place. trace builds fifteen values for each event, and copying them took a third of
 * its time. */
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

/* Returns null for MV_NO_BYTES. */
static inline mv_value mv_value_bytes(uint64_t bytes)
{
    return bytes == MV_NO_BYTES ? mv_value_of(MV_VALUE_NULL) : mv_value_u64(bytes);
}

/* Returns null for MV_NO_TIME. */
static inline mv_value mv_value_time(int64_t time_us)
{
    return time_us == MV_NO_TIME ? mv_value_of(MV_VALUE_NULL) : mv_value_i64(time_us);
}

/* Returns the number of an event or of another row. Returns null for UINT32_MAX, which is MV_BEFORE
 * and MV_NEVER. */
static inline mv_value mv_value_event(uint32_t event)
{
    return event == UINT32_MAX ? mv_value_of(MV_VALUE_NULL) : mv_value_u64(event);
}

static inline mv_value mv_value_real(double real)
{
    return (mv_value){.kind = MV_VALUE_REAL, .real = real};
}

/* Returns part / whole as a fraction. If `whole` is zero, it is null, and 0 % in text. */
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

/* Returns null for NULL. */
static inline mv_value mv_value_text(const char *text)
{
    return text ? mv_value_span((mv_span){(const uint8_t *)text, strlen(text)})
                : mv_value_of(MV_VALUE_NULL);
}

/* Returns null for MV_NO_STRING. */
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

/* Returns [a, b], or null for MV_NO_POOL. For text output see mv_pool_text. */
static inline mv_value mv_value_pool(const mv_trace *trace, mv_pool_id pool)
{
    if (pool.row == MV_NO_ROW)
        return mv_value_of(MV_VALUE_NULL);
    return mv_value_pair(trace->pools.a[pool.row], trace->pools.b[pool.row]);
}

/* Returns the label of the stack's culprit. `kinds` comes from mv_frame_kinds, or is NULL. */
static inline mv_value mv_value_culprit(const mv_trace *trace, const uint8_t *kinds,
                                        mv_stack_id stack)
{
    return (mv_value){.kind = MV_VALUE_CULPRIT, .stack = {trace, kinds, stack}};
}

/* Returns label `i` of mv_labels_find. If memory ran out for the labels, returns the label of the
 * stack's culprit. */
static inline mv_value mv_value_label(const char *const *labels, uint32_t i, const mv_trace *trace,
                                      const uint8_t *kinds, mv_stack_id stack)
{
    return labels ? mv_value_text(labels[i]) : mv_value_culprit(trace, kinds, stack);
}

/* Returns null for MV_NO_STACK. */
static inline mv_value mv_value_frames(const mv_trace *trace, mv_stack_id stack)
{
    if (stack.row == MV_NO_ROW)
        return mv_value_of(MV_VALUE_NULL);
    return (mv_value){.kind = MV_VALUE_FRAMES, .stack = {trace, NULL, stack}};
}

/* Returns the rows of a LIST. Its table's function receives `one`. */
static inline mv_value mv_value_rows(const void *one)
{
    return (mv_value){.kind = MV_VALUE_ROWS, .one = one};
}

/* Returns `value` with a different string as its text cell. */
static inline mv_value mv_value_shown(mv_value value, const char *shown)
{
    value.shown = shown;
    return value;
}

#define MV_BOUND_TEXT (MV_SIZE_TEXT + 4)

/* Returns a number of bytes. In text, it is marked unless it is exact: ">= 791 MiB". */
static inline mv_value mv_value_bound(uint64_t bytes, mv_bound bound, char text[MV_BOUND_TEXT])
{
    char size[MV_SIZE_TEXT];

    snprintf(text, MV_BOUND_TEXT, "%s%s", mv_bound_sign(bound), mv_size_text(size, bytes));
    return mv_value_shown(mv_value_u64(bytes), text);
}

/* Returns `value` if `is_there`, or else an absent value. */
static inline mv_value mv_value_if(bool is_there, mv_value value)
{
    return is_there ? value : mv_value_of(MV_VALUE_ABSENT);
}

/* Returns `value` if `is_known`, or else null. */
static inline mv_value mv_value_or_null(bool is_known, mv_value value)
{
    return is_known ? value : mv_value_of(MV_VALUE_NULL);
}

/* Returns the string with this ID, or an absent value for MV_NO_STRING. */
static inline mv_value mv_value_known(const mv_trace *trace, mv_string_id id)
{
    return mv_value_if(id.row != MV_NO_ROW, mv_value_string(trace, id));
}

/* ---- fields and tables ------------------------------------------------------------------- */

typedef struct {
    const char *key;     /* NULL: shown only in text */
    const char *heading; /* NULL: not shown in text */
    uint8_t place;       /* position among the text columns; lower positions come first */
    uint8_t unit;        /* mv_unit */
    uint8_t width;
    const mv_table *table; /* the nested table of a LIST, or else NULL */
} mv_field;

typedef enum {
    MV_SHAPE_OBJECTS, /* each row is an object */
    MV_SHAPE_LINES,   /* each row is an object on a separate line, for long lists */
    MV_SHAPE_VALUES,  /* each row is the value of its only field */
    MV_SHAPE_MAP      /* the table is one object, and each row is a member of it: its two fields are
                       * name and value */
} mv_table_shape;

#define MV_MOST_FIELDS 64

struct mv_table {
    const mv_field *fields;
    uint32_t count; /* at most MV_MOST_FIELDS */
    /* Lists the rows. mv_rows_all returns the argument `all` of mv_table_put or mv_table_print, and
     * mv_rows_one the argument of mv_value_rows. */
    void (*list)(mv_rows *rows);
    mv_table_shape shape; /* how rows are written in JSON */
    uint32_t named_by;    /* number of leading fields that identify a row; in CSV, nested tables
                           * begin with these fields. 0 means 1 */
    /* Writes the JSON value itself, in which case `shape` is not used. */
    void (*json)(mv_rows *rows);
    const char *main; /* for a whole report: path of the table that --csv prints, such as
                       * "devices.sites"; NULL: the report's own row */
};

#define MV_FIELD_COLUMN(key, heading, place, unit, width, value) \
    {key, heading, place, unit, width, NULL},
#define MV_FIELD_MEMBER(key, value)      {key, NULL, 0, 0, 0, NULL},
#define MV_FIELD_LIST(key, table, value) {key, NULL, 0, 0, 0, table},

/* Converts a field's value to an mv_value. It may be an mv_value already, a number, a boolean or a
 * string. */
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

/* Initializes the first members of an mv_table: {MV_TABLE(SITE_FIELDS, list_sites), .shape =
 * MV_SHAPE_LINES}. */
#define MV_TABLE(FIELDS, function)                                                           \
    .fields = MV_FIELDS_OF(FIELDS), .count = sizeof MV_FIELDS_OF(FIELDS) / sizeof(mv_field), \
    .list = (function)

/* Adds a row. The values are expressions that use the variables named in the list of fields. */
#define MV_ROWS_ADD(rows, FIELDS) \
    mv_rows_add(rows, (const mv_value[]){FIELDS(MV_VALUE_COLUMN, MV_VALUE_MEMBER, MV_VALUE_LIST)})

/* Defines the function `name` for a table with a single row of type `type`, which FIELDS refers to
 * as `report`. */
#define MV_LIST_REPORT(name, type, report, FIELDS) \
    static void name(mv_rows *rows)                \
    {                                              \
        const type *report = mv_rows_all(rows);    \
        MV_ROWS_ADD(rows, FIELDS);                 \
    }

/* Defines the function `name` for a table with `count` rows. FIELDS refers to the report as
 * `report`, to the position of a row as `i`, and to the row by the variable that `row` declares. */
#define MV_LIST_ROWS(name, type, report, count, row, FIELDS)            \
    static void name(mv_rows *rows)                                     \
    {                                                                   \
        const type *report = mv_rows_all(rows);                         \
        for (uint32_t i = 0, row_count = (count); i < row_count; i++) { \
            row;                                                        \
            MV_ROWS_ADD(rows, FIELDS);                                  \
        }                                                               \
    }

/* The same for a table of `of`, which mv_value_rows passes. */
#define MV_LIST_ROWS_OF(name, type, report, of_type, of, count, row, FIELDS) \
    static void name(mv_rows *rows)                                          \
    {                                                                        \
        const type *report = mv_rows_all(rows);                              \
        const of_type *of = mv_rows_one(rows);                               \
        (void)report;                                                        \
        for (uint32_t i = 0, row_count = (count); i < row_count; i++) {      \
            row;                                                             \
            MV_ROWS_ADD(rows, FIELDS);                                       \
        }                                                                    \
    }
