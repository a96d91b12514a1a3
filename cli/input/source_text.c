#include "cli/input/source_text.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "analyze/code/culprit.h"
#include "base/grow.h"

#include "parse/source/text_file.h"

mv_code mv_source_text_init(mv_source_text *source, mv_arena *arena, const char *where, mv_err *err)
{
    struct stat folder;

    *source = (mv_source_text){.arena = arena, .folder = strcmp(where, "auto") == 0 ? NULL : where};
    if (source->folder && stat(where, &folder) != 0)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "%s: %s", where, strerror(errno));
    if (source->folder && !S_ISDIR(folder.st_mode))
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "%s: not a folder", where);
    return MV_OK;
}

static bool climbs(const char *path)
{
    for (const char *at = strstr(path, ".."); at; at = strstr(at + 1, ".."))
        if ((at == path || at[-1] == '/') && (at[2] == 0 || at[2] == '/'))
            return true;
    return false;
}

static mv_span find_in_folder(mv_source_text *source, const char *path)
{
    char full[4096];
    mv_span text = {0};
    mv_err err = {0};

    if (climbs(path))
        return text;
    for (const char *rest = path; rest; rest = strchr(rest, '/')) {
        int length;
        rest += *rest == '/';
        length = snprintf(full, sizeof full, "%s/%s", source->folder, rest);
        if (length > 0 && (size_t)length < sizeof full &&
            mv_text_file_read(source->arena, full, &text, &err) == MV_OK)
            return text;
    }
    return (mv_span){0};
}

static mv_span find_text(mv_source_text *source, const mv_trace *trace, mv_string_id file)
{
    mv_span path = mv_string_span(trace, file), text = {0};
    mv_err err = {0};

    if (path.length == 0 || memchr(path.data, 0, path.length))
        return text;
    if (source->folder)
        return find_in_folder(source, (const char *)path.data);
    if (mv_text_file_read(source->arena, (const char *)path.data, &text, &err) != MV_OK)
        return (mv_span){0};
    return text;
}

/* Returns NULL if memory runs out. */
static mv_source_file *file_of(mv_source_text *source, const mv_trace *trace, mv_string_id file)
{
    for (uint32_t i = 0; i < source->count; i++)
        if (source->files[i].file.row == file.row)
            return &source->files[i];
    if (!mv_append(source->arena, source->files, source->count, source->capacity,
                   (mv_source_file){.file = file, .text = find_text(source, trace, file)}))
        return NULL;
    return &source->files[source->count - 1];
}

static mv_span text_of(mv_source_text *source, const mv_trace *trace, mv_string_id file)
{
    const mv_source_file *found = file_of(source, trace, file);

    return found ? found->text : (mv_span){0};
}

/* Takes the next line from `rest`, without its line break. */
static mv_span take_line(mv_span *rest)
{
    const uint8_t *stop = memchr(rest->data, '\n', rest->length);
    mv_span line = {rest->data, stop ? (uint64_t)(stop - rest->data) : rest->length};

    rest->data += line.length + (stop != NULL);
    rest->length -= line.length + (stop != NULL);
    return line;
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f';
}

static mv_span trim(mv_span line)
{
    while (line.length && is_blank(line.data[line.length - 1]))
        line.length--;
    while (line.length && is_blank(*line.data)) {
        line.data++;
        line.length--;
    }
    return line;
}

mv_span mv_source_text_line(mv_source_text *source, const mv_trace *trace, mv_frame_id frame)
{
    mv_span rest;
    int64_t line;

    if (frame.row >= trace->frames.count || trace->frames.line[frame.row] < 1)
        return (mv_span){0};
    rest = text_of(source, trace, trace->frames.file[frame.row]);
    for (line = trace->frames.line[frame.row]; rest.length > 0; line--) {
        mv_span next = take_line(&rest);
        if (line == 1)
            return trim(next);
    }
    return (mv_span){0};
}

/* ---- other versions ---------------------------------------------------------------------- */

/* State while reading a Python file: the indentation of the wanted function, and whether the last
 * line that was read is within the function. */
typedef struct {
    const char *function;
    uint64_t indent;
    bool is_within;
} reading;

/* Returns the NAME in "def NAME(" or "class NAME:". Returns an empty name for other lines. */
static mv_span bound_name(mv_span line)
{
    static const char *const words[] = {"def ", "async def ", "class "};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i]);
        uint64_t end = length;
        if (line.length <= length || memcmp(line.data, words[i], length) != 0)
            continue;
        while (end < line.length && !strchr(" (:[\t", line.data[end]))
            end++;
        return (mv_span){line.data + length, end - length};
    }
    return (mv_span){0};
}

/* A function ends where another one begins that is not indented further. */
static void read_line(reading *r, mv_span line)
{
    mv_span text = trim(line), name = bound_name(text);
    uint64_t indent = text.length ? (uint64_t)(text.data - line.data) : 0;

    if (name.length == 0)
        return;
    if (name.length == strlen(r->function) && memcmp(name.data, r->function, name.length) == 0) {
        r->is_within = true;
        r->indent = indent;
    } else if (r->is_within && indent <= r->indent) {
        r->is_within = false;
    }
}

static bool is_python(mv_span path)
{
    return path.length > 3 && memcmp(path.data + path.length - 3, ".py", 3) == 0;
}

bool mv_source_text_differs(mv_source_text *source, const mv_trace *trace, mv_frame_id frame,
                            char *why, size_t size)
{
    mv_span rest, line = {0}, text;
    reading r = {0};
    int64_t number, last = 0;

    if (frame.row >= trace->frames.count || trace->frames.line[frame.row] < 1)
        return false;
    number = trace->frames.line[frame.row];
    rest = text_of(source, trace, trace->frames.file[frame.row]);
    if (rest.length == 0)
        return false;
    r.function = mv_own_name(mv_string_text(trace, trace->frames.function[frame.row]));
    while (rest.length > 0 && last < number) {
        line = take_line(&rest);
        read_line(&r, line);
        last++;
    }
    text = trim(line);
    if (last < number)
        snprintf(why, size, "it has %lld lines, and the recording names line %lld", (long long)last,
                 (long long)number);
    else if (text.length == 0 || *text.data == '#')
        snprintf(why, size, "line %lld, named by the recording, has no code", (long long)number);
    else if (*r.function != '<' && !r.is_within &&
             is_python(mv_string_span(trace, trace->frames.file[frame.row])))
        snprintf(why, size, "line %lld, named by the recording, is not in %s()", (long long)number,
                 r.function);
    else
        return false;
    return true;
}

bool mv_source_text_report(mv_source_text *source, const mv_trace *trace, mv_frame_id frame,
                           char *why, size_t size)
{
    mv_source_file *file;

    if (!mv_source_text_differs(source, trace, frame, why, size))
        return false;
    file = file_of(source, trace, trace->frames.file[frame.row]);
    if (!file || file->is_foreign)
        return false;
    file->is_foreign = true;
    return true;
}
