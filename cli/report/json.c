#include "cli/report/json.h"

#include <math.h>

void mv_json_put_text(mv_out *out, mv_span text)
{
    mv_out_char(out, '"');
    mv_out_escaped(out, text, MV_ESCAPE_JSON);
    mv_out_char(out, '"');
}

void mv_json_put_real(mv_out *out, double real)
{
    char text[MV_REAL_TEXT];

    mv_out_text(out, isfinite(real) ? mv_real_text(text, real) : "null");
}

static void put_string(mv_out *out, const mv_trace *trace, mv_string_id id)
{
    if (id.row == MV_NO_ROW)
        mv_out_text(out, "null");
    else
        mv_json_put_text(out, mv_string_span(trace, id));
}

int64_t mv_json_line(const mv_trace *trace, mv_frame_id frame)
{
    int64_t line = trace->frames.line[frame.row];

    return line == MV_NO_LINE ? 0 : line;
}

void mv_json_put_frames(mv_out *out, const mv_trace *trace, mv_stack_id stack)
{
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(trace, stack, &count);

    if (mv_out_is_lost(out))
        return;
    mv_out_char(out, '[');
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = frames[i].row;
        mv_out_text(out, i ? ",{\"function\":" : "{\"function\":");
        put_string(out, trace, trace->frames.function[row]);
        mv_out_text(out, ",\"file\":");
        put_string(out, trace, trace->frames.file[row]);
        mv_out_text(out, ",\"line\":");
        mv_out_i64(out, mv_json_line(trace, frames[i]));
        mv_out_char(out, '}');
    }
    mv_out_char(out, ']');
}
