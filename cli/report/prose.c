#include "cli/report/prose.h"

#include <ctype.h>
#include <stdarg.h>

uint32_t mv_prose_width(const char *text)
{
    return (uint32_t)mv_utf8_count(text, strlen(text));
}

static void put_span(mv_out *out, const char *text, size_t length)
{
    mv_out_clean(out, (mv_span){(const uint8_t *)text, length});
}

static uint32_t columns_of(const mv_out *out)
{
    if (out->columns == 0)
        return MV_PROSE_COLUMNS;
    return out->columns < MV_PROSE_MOST ? out->columns : MV_PROSE_MOST;
}

void mv_prose_add(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + used, size - used, format, args);
    va_end(args);
}

/* Whether a line must not end between a word and `next`, as in "12 MiB" and "7 %". */
static bool is_unit(const char *word, size_t length, const char *next)
{
    static const char *const units[] = {"B",   "KiB", "MiB", "GiB", "TiB",
                                        "PiB", "EiB", "%",   "s",   "ms"};

    if (length == 0 || word[length - 1] < '0' || word[length - 1] > '9')
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t unit = strlen(units[i]);
        if (strncmp(next, units[i], unit) == 0 && !isalnum((unsigned char)next[unit]))
            return true;
    }
    return false;
}

/* Returns the length of the text that must stay on one line: a word and its unit. */
static size_t word_length(const char *word)
{
    size_t length = strcspn(word, " ");

    while (word[length] == ' ' && is_unit(word, length, word + length + 1))
        length += 1 + strcspn(word + length + 1, " ");
    return length;
}

static uint32_t put_words(mv_out *out, uint32_t column, uint32_t indent, const char *format,
                          va_list args)
{
    uint32_t columns = columns_of(out);
    bool is_first = true;
    char text[2048];

    vsnprintf(text, sizeof text, format, args);
    for (const char *word = text; *word;) {
        size_t length = word_length(word);
        uint32_t width = (uint32_t)mv_utf8_count(word, length);

        if (!is_first && column + 1 + width > columns) {
            mv_out_char(out, '\n');
            mv_out_spaces(out, indent);
            column = indent;
        } else if (!is_first) {
            mv_out_char(out, ' ');
            column++;
        }
        put_span(out, word, length);
        column += width;
        is_first = false;
        word += length + (word[length] == ' ');
    }
    return column;
}

void mv_prose_put(mv_out *out, uint32_t column, uint32_t indent, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    put_words(out, column, indent, format, args);
    va_end(args);
    mv_out_char(out, '\n');
}

void mv_prose_put_item(mv_out *out, const char *format, ...)
{
    va_list args;

    mv_out_text(out, "  ");
    va_start(args, format);
    put_words(out, 2, 4, format, args);
    va_end(args);
    mv_out_char(out, '\n');
}

void mv_prose_put_advice(mv_out *out, const char *format, ...)
{
    va_list args;

    mv_out_styled(out, MV_STYLE_YELLOW, "  -> ");
    va_start(args, format);
    put_words(out, 5, 5, format, args);
    va_end(args);
    mv_out_char(out, '\n');
}

uint32_t mv_prose_part(mv_out *out, uint32_t column, uint32_t indent, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    column = put_words(out, column, indent, format, args);
    va_end(args);
    return column;
}

void mv_prose_put_name(mv_out *out, uint32_t column, uint32_t indent, const char *name)
{
    bool fits = column + 1 + mv_prose_width(name) <= columns_of(out);

    mv_out_char(out, fits ? ' ' : '\n');
    mv_out_spaces(out, fits ? 0 : indent);
    mv_prose_put_cut(out, mv_prose_room(out, fits ? column + 1 : indent), name);
    mv_out_char(out, '\n');
}

/* ---- texts that do not fit ---------------------------------------------------------------- */

/* Returns the start of the n-th character. */
static size_t at_character(const char *text, uint32_t n)
{
    size_t at = 0;

    for (; n > 0 && text[at]; n--)
        for (at++; mv_utf8_is_tail(text[at]);)
            at++;
    return at;
}

static void put_last(mv_out *out, const char *text, uint32_t width, uint32_t count)
{
    text += at_character(text, width - count);
    put_span(out, text, strlen(text));
}

/* Cuts the middle: "a long te..d of it". */
static void put_ends(mv_out *out, uint32_t room, const char *text, uint32_t width)
{
    uint32_t kept = room > 2 ? room - 2 : 0, first = (kept + 1) / 2;

    put_span(out, text, at_character(text, first));
    mv_out_text(out, "..");
    put_last(out, text, width, kept - first);
}

/* Shortens calls such as "train.py:3 main > util.py:5 make" by dropping function names, from the
 * left. If that is not enough, cuts the beginning, because what distinguishes rows is often at the
 * end. */
static void put_cut_path(mv_out *out, uint32_t room, const char *text)
{
    char path[1024];
    size_t length = strnlen(text, sizeof path - 1);
    uint32_t width;

    memcpy(path, text, length);
    path[length] = 0;
    for (char *part = path; part && mv_prose_width(path) > room;) {
        char *next = strstr(part, " > "), *name = strchr(part, ' ');
        if (next && name < next) {
            memmove(name, next, strlen(next) + 1);
            next = name;
        }
        part = next ? next + 3 : NULL;
    }
    width = mv_prose_width(path);
    if (width > room) {
        mv_out_text(out, "..");
        put_last(out, path, width, room > 2 ? room - 2 : 0);
    } else {
        put_span(out, path, strlen(path));
    }
}

/* Returns the length of "file.py:62" at the beginning of a string; 0: the string does not begin
 * like that. */
static size_t place_length(const char *text)
{
    size_t length = strcspn(text, " "), digits = length;

    while (digits > 0 && isdigit((unsigned char)text[digits - 1]))
        digits--;
    return digits > 0 && digits < length && text[digits - 1] == ':' ? length : 0;
}

/* Shortens "file.py:62 a_long_name" by cutting first the function's name and then the file's name,
 * but never the line number. */
static void put_cut_place(mv_out *out, uint32_t room, const char *text, size_t place)
{
    enum { LEAST = 7 }; /* room for a cut name: " ab..cd" */
    uint32_t width = (uint32_t)mv_utf8_count(text, place), line = 0;

    while (text[place - line - 1] != ':')
        line++;
    if (width + LEAST <= room) {
        put_span(out, text, place);
        put_ends(out, room - width, text + place, mv_prose_width(text + place));
    } else if (width <= room) {
        put_span(out, text, place);
    } else if (line + 3 < room) {
        char file[256];
        snprintf(file, sizeof file, "%.*s", (int)(place - line - 1), text);
        put_ends(out, room - line - 1, file, mv_prose_width(file));
        put_span(out, text + place - line - 1, line + 1);
    } else {
        mv_out_text(out, "..");
        put_span(out, text + place - (room > 2 ? room - 2 : 0), room > 2 ? room - 2 : 0);
    }
}

void mv_prose_put_cut(mv_out *out, uint32_t room, const char *text)
{
    uint32_t width = mv_prose_width(text);
    size_t place = place_length(text);

    if (width <= room)
        put_span(out, text, strlen(text));
    else if (strstr(text, " > "))
        put_cut_path(out, room, text);
    else if (place)
        put_cut_place(out, room, text, place);
    else
        put_ends(out, room, text, width);
}

void mv_prose_put_end(mv_out *out, uint32_t room, const char *text)
{
    uint32_t width = mv_prose_width(text);

    if (width <= room) {
        put_span(out, text, strlen(text));
        return;
    }
    mv_out_text(out, "..");
    put_last(out, text, width, room > 2 ? room - 2 : 0);
}
