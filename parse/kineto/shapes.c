#include <stdio.h>

#include "base/text.h"
#include "parse/kineto/kineto.h"

/* The type names that PyTorch's profiler writes. They are the C++ names in scalarTypeToTypeMeta. */
static const struct {
    const char *name, *brief;
} types[] = {{"float", "f32"},
             {"double", "f64"},
             {"c10::Half", "f16"},
             {"c10::BFloat16", "bf16"},
             {"long", "i64"},
             {"long int", "i64"},
             {"int64_t", "i64"},
             {"int", "i32"},
             {"short", "i16"},
             {"short int", "i16"},
             {"signed char", "i8"},
             {"unsigned char", "u8"},
             {"bool", "bool"},
             {"c10::complex<float>", "c64"},
             {"c10::complex<double>", "c128"},
             {"c10::Float8_e4m3fn", "f8_e4m3fn"},
             {"c10::Float8_e5m2", "f8_e5m2"},
             {"c10::Float8_e4m3fnuz", "f8_e4m3fnuz"},
             {"c10::Float8_e5m2fnuz", "f8_e5m2fnuz"}};

enum { MOST_TENSORS = 4, MOST_TENSOR = 48, MOST_TYPE = 24 };

typedef struct {
    char size[MOST_TENSOR]; /* "[4096,1024]" or "37 tensors"; "": not a tensor, or an empty
                             * tensor */
    char type[MOST_TYPE];
} one_input;

static void brief_type(mv_span name, char out[MOST_TYPE])
{
    for (unsigned i = 0; i < sizeof types / sizeof *types; i++)
        if (name.length == strlen(types[i].name) &&
            memcmp(name.data, types[i].name, name.length) == 0) {
            snprintf(out, MOST_TYPE, "%s", types[i].brief);
            return;
        }
    *out = 0;
    mv_text_append(out, MOST_TYPE, "%.*s",
                   (int)(name.length < MOST_TYPE ? name.length : MOST_TYPE - 1),
                   (const char *)name.data);
}

/* Copies one entry of the list of sizes without white space. If the entry is a list of lists, writes
 * how many lists it contains instead. */
static void take_size(mv_span value, char out[MOST_TENSOR])
{
    uint64_t length = 0, lists = 0;

    for (uint64_t i = 0; i < value.length; i++) {
        uint8_t c = value.data[i];
        lists += i > 0 && c == '[';
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t' && length + 2 < MOST_TENSOR)
            out[length++] = (char)c;
    }
    if (length + 2 >= MOST_TENSOR)
        out[length - 1] = ']';
    out[length] = 0;
    if (lists > 0)
        snprintf(out, MOST_TENSOR, "%llu tensor%s", (unsigned long long)lists, mv_plural(lists));
    else if (length < 3 || strcmp(out, "[0]") == 0) /* an output whose size is not known yet */
        *out = 0;
}

/* Finds the next value of the list that begins at text[0]; *at must be 0 for the first value.
 * Returns false after the last value. */
static bool next_value(mv_span text, uint64_t *at, mv_span *value)
{
    uint64_t first, depth = 0;
    bool is_quoted = false;

    for (*at += *at == 0; *at < text.length && strchr(" \n\r\t,", text.data[*at]); ++*at)
        ;
    first = *at;
    for (; *at < text.length; ++*at) {
        uint8_t c = text.data[*at];
        if (c == '"')
            is_quoted = !is_quoted;
        else if (!is_quoted && c == '[')
            depth++;
        else if (!is_quoted && depth == 0 && (c == ',' || c == ']'))
            break;
        else if (!is_quoted && c == ']')
            depth--;
    }
    *value = (mv_span){text.data + first, *at - first};
    while (value->length > 0 && strchr(" \n\r\t", value->data[value->length - 1]))
        value->length--;
    return value->length > 0;
}

static mv_span unquoted(mv_span value)
{
    return value.length >= 2 && value.data[0] == '"' ? (mv_span){value.data + 1, value.length - 2}
                                                     : value;
}

static uint32_t list_inputs(mv_span sizes, mv_span names, one_input *rows, bool *has_more)
{
    uint64_t at = 0, at_name = 0;
    uint32_t count = 0;
    mv_span value, name;

    *has_more = false;
    while (next_value(sizes, &at, &value)) {
        one_input row;
        if (!next_value(names, &at_name, &name))
            name.length = 0;
        take_size(value, row.size);
        if (!*row.size)
            continue;
        *has_more |= count == MOST_TENSORS;
        brief_type(unquoted(name), row.type);
        if (strcmp(row.type, "TensorList") == 0)
            *row.type = 0;
        if (count < MOST_TENSORS)
            rows[count++] = row;
    }
    return count;
}

const char *mv_kineto_shapes(mv_span inputs, char out[MV_KINETO_SHAPES])
{
    const uint8_t *line = memchr(inputs.data, '\n', inputs.length);
    mv_span sizes = inputs, names = {(const uint8_t *)"", 0};
    one_input rows[MOST_TENSORS];
    bool has_more, is_one_type = true;
    uint32_t count;

    *out = 0;
    while (line && line + 1 < inputs.data + inputs.length && line[1] != '[') /* the line end is
                                                                              * inside the sizes */
        line = memchr(line + 1, '\n', (uint64_t)(inputs.data + inputs.length - line - 1));
    if (line) {
        sizes.length = (uint64_t)(line - inputs.data);
        names = (mv_span){line + 1, inputs.length - sizes.length - 1};
    }
    count = list_inputs(sizes, names, rows, &has_more);
    for (uint32_t i = 1; i < count; i++)
        is_one_type &= strcmp(rows[i].type, rows[0].type) == 0;
    for (uint32_t i = 0; i < count; i++)
        mv_text_append(out, MV_KINETO_SHAPES, "%s%s%s%s",
                       i == 0        ? ""
                       : is_one_type ? "x"
                                     : " x ",
                       rows[i].size, is_one_type || !*rows[i].type ? "" : " ",
                       is_one_type ? "" : rows[i].type);
    if (count > 0)
        mv_text_append(out, MV_KINETO_SHAPES, "%s%s%s", has_more ? " and more" : "",
                       is_one_type && *rows[0].type ? " " : "", is_one_type ? rows[0].type : "");
    return out;
}
