#include "record/run_marks.h"

#include <time.h>

#include "parse/live/read_live.h"

bool mv_run_marks_add(mv_arena *arena, mv_run_marks *marks, const char *text)
{
    struct timespec now;
    const char *copy;

    if (marks->count == MV_RUN_MARKS || clock_gettime(CLOCK_MONOTONIC, &now) != 0)
        return false;
    copy = mv_arena_text(arena, text, strlen(text));
    if (!copy)
        return false;
    marks->marks[marks->count++] =
        (mv_run_mark){(int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000, copy};
    return true;
}

/* Copies the trace's strings, and adds the strings of the marks. */
static bool add_strings(mv_arena *arena, const mv_run_marks *marks, mv_strings *s)
{
    uint64_t bytes = s->at[s->count], more = 0;
    mv_strings out = {.count = s->count + marks->count};
    char *to;

    for (uint32_t i = 0; i < marks->count; i++)
        more += strlen(marks->marks[i].text) + 1;
    to = mv_push_array(arena, char, bytes + more);
    out.at = mv_push_array(arena, uint64_t, (uint64_t)out.count + 1);
    if (!to || !out.at)
        return false;
    memcpy(to, s->bytes, bytes);
    memcpy(out.at, s->at, ((uint64_t)s->count + 1) * sizeof *out.at);
    for (uint32_t i = 0; i < marks->count; i++) {
        size_t length = strlen(marks->marks[i].text) + 1;
        memcpy(to + out.at[s->count + i], marks->marks[i].text, length);
        out.at[s->count + i + 1] = out.at[s->count + i] + length;
    }
    out.bytes = to;
    *s = out;
    return true;
}

static bool push_annotations(mv_arena *arena, uint64_t count, mv_annotations *out)
{
    bool is_whole = count <= UINT32_MAX;

    *out = (mv_annotations){.count = (uint32_t)count};
#define PUSH(T, number, name, kind, ...)                         \
    out->name = mv_push_array(arena, mv_value_of_##kind, count); \
    is_whole = is_whole && out->name;
    MV_ANNOTATION_COLUMNS(PUSH, )
#undef PUSH
    return is_whole;
}

static void copy_annotation(const mv_annotations *from, uint32_t row, mv_annotations *to,
                            uint32_t as)
{
#define COPY(T, number, name, kind, ...) to->name[as] = from->name[row];
    MV_ANNOTATION_COLUMNS(COPY, )
#undef COPY
}

/* Merges annotations and marks, both of which are in order of time. */
static void merge(const mv_annotations *old, const mv_run_marks *marks, uint32_t first_string,
                  int64_t to_epoch_us, mv_annotations *out)
{
    uint32_t row = 0, mark = 0;

    for (uint32_t i = 0; i < out->count; i++) {
        int64_t time = mark < marks->count ? marks->marks[mark].time_us + to_epoch_us : INT64_MAX;
        if (row < old->count && old->time_us[row] <= time) {
            copy_annotation(old, row++, out, i);
            continue;
        }
        out->name[i] = (mv_string_id){first_string + mark++};
        out->stage[i] = MV_STAGE_MARK;
        out->device[i] = -1;
        out->time_us[i] = time;
    }
}

mv_code mv_run_marks_apply(mv_arena *arena, const mv_run_marks *marks, mv_trace *trace, mv_err *err)
{
    uint32_t strings = trace->strings.count;
    mv_annotations out;

    if (marks->count == 0)
        return MV_OK;
    if (!push_annotations(arena, (uint64_t)trace->annotations.count + marks->count, &out) ||
        !add_strings(arena, marks, &trace->strings))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "marks");
    merge(&trace->annotations, marks, strings, mv_live_to_epoch_us(trace), &out);
    trace->annotations = out;
    return MV_OK;
}
