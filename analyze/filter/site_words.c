#include "analyze/filter/site_words.h"

#include <stdio.h>

static bool is_slash(uint8_t c)
{
    return c == '/' || c == '\\';
}

/* Removes `end` from the end of the word and returns true, or returns false if the word does not
 * end with it. */
static bool take_end(mv_span *word, mv_span end)
{
    if (end.length > word->length ||
        memcmp(word->data + word->length - end.length, end.data, end.length) != 0)
        return false;
    word->length -= end.length;
    return true;
}

/* Whether the word is the file's path, or the end of the path after a slash. */
static bool is_end_of_path(mv_span file, mv_span word)
{
    if (word.length == 0 || word.length > file.length ||
        memcmp(file.data + file.length - word.length, word.data, word.length) != 0)
        return false;
    return word.length == file.length || is_slash(file.data[file.length - word.length - 1]);
}

static mv_span span_of(const char *text)
{
    return (mv_span){(const uint8_t *)text, strlen(text)};
}

bool mv_site_is(const mv_trace *trace, mv_frame_id frame, mv_span word)
{
    const mv_frames *f = &trace->frames;
    mv_span file = mv_string_span(trace, f->file[frame.row]);
    mv_span function = mv_string_span(trace, f->function[frame.row]), rest;
    char line[24] = "";

    if (file.length == 0)
        return word.length == function.length && memcmp(word.data, function.data, word.length) == 0;
    if (is_end_of_path(file, word))
        return true;
    if (f->line[frame.row] != MV_NO_LINE)
        snprintf(line, sizeof line, ":%lld", (long long)f->line[frame.row]);
    rest = word;
    if (*line && take_end(&rest, span_of(line)) && is_end_of_path(file, rest))
        return true;
    rest = word;
    return take_end(&rest, function) && take_end(&rest, span_of(":")) &&
           take_end(&rest, span_of(line)) && is_end_of_path(file, rest);
}

static bool is_only(const mv_trace *trace, mv_frame_id frame, mv_span word)
{
    for (uint32_t i = 0; i < trace->frames.count; i++)
        if (i != frame.row && mv_site_is(trace, (mv_frame_id){i}, word))
            return false;
    return mv_site_is(trace, frame, word);
}

/* Returns the last `folders` + 1 components of the path. *has_more is set if the path has more
 * folders. */
static const char *tail_of(const char *file, uint32_t folders, bool *has_more)
{
    const char *at = file + strlen(file);

    for (uint32_t i = 0; i <= folders; i++) {
        while (at > file && is_slash((uint8_t)at[-1]))
            at--;
        while (at > file && !is_slash((uint8_t)at[-1]))
            at--;
    }
    *has_more = at > file;
    return at;
}

static bool write_term(const char *word, char *out, size_t size)
{
    bool is_plain = !strpbrk(word, " \t\n\v\f\r\"") && *word;
    int length = snprintf(out, size, is_plain ? "site:%s" : "site:\"%s\"", word);

    return *word && !strchr(word, '"') && length > 0 && (size_t)length < size;
}

const char *mv_site_term(const mv_trace *trace, mv_frame_id frame, char *out, size_t size)
{
    const mv_frames *f = &trace->frames;
    const char *file, *function;
    char line[24] = "", word[4096];
    bool has_more = true;

    *out = 0;
    if (frame.row >= f->count || size == 0)
        return out;
    file = mv_string_text(trace, f->file[frame.row]);
    function = mv_string_text(trace, f->function[frame.row]);
    if (f->line[frame.row] != MV_NO_LINE)
        snprintf(line, sizeof line, ":%lld", (long long)f->line[frame.row]);
    if (!*file && is_only(trace, frame, span_of(function)) && write_term(function, out, size))
        return out;
    for (uint32_t folders = 0; *file && has_more; folders++) {
        const char *tail = tail_of(file, folders, &has_more);
        for (int form = *line ? 0 : 1; form < 2; form++) {
            snprintf(word, sizeof word, form == 0 ? "%s%s" : "%s%s:%s", tail, line, function);
            if (is_only(trace, frame, span_of(word)) && write_term(word, out, size))
                return out;
        }
    }
    *out = 0;
    return out;
}
