#include "cli/source_text.h"

#include <stdio.h>
#include <string.h>

#include "cli/text_file.h"

void mv_source_text_init(mv_source_text *source, mv_arena *arena, const char *where)
{
    *source = (mv_source_text){.arena = arena, .folder = strcmp(where, "auto") == 0 ? NULL : where};
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

static mv_span text_of(mv_source_text *source, const mv_trace *trace, mv_string_id file)
{
    for (uint32_t i = 0; i < source->count; i++)
        if (source->files[i].file.row == file.row)
            return source->files[i].text;
    if (source->count == source->capacity) {
        uint32_t capacity = source->capacity ? source->capacity * 2 : 16;
        void *grown = mv_arena_grow(source->arena, source->files, capacity * sizeof *source->files);
        if (!grown)
            return (mv_span){0};
        source->files = grown;
        source->capacity = capacity;
    }
    source->files[source->count] = (mv_source_file){file, find_text(source, trace, file)};
    return source->files[source->count++].text;
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
        const uint8_t *stop = memchr(rest.data, '\n', rest.length);
        uint64_t length = stop ? (uint64_t)(stop - rest.data) : rest.length;
        if (line == 1)
            return trim((mv_span){rest.data, length});
        length += stop != NULL;
        rest = (mv_span){rest.data + length, rest.length - length};
    }
    return (mv_span){0};
}
