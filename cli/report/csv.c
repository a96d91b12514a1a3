#include "cli/report/csv.h"

void mv_csv_open(mv_out *out, mv_span first)
{
    mv_out_words(out, mv_escape_is_formula(first) ? "\"'" : "\"");
}

void mv_csv_put_part(mv_out *out, mv_span text)
{
    mv_out_escaped(out, text, MV_ESCAPE_CSV);
}

void mv_csv_close(mv_out *out)
{
    mv_out_char(out, '"');
}

void mv_csv_put_text(mv_out *out, mv_span text)
{
    if (!mv_escape_needs_quotes(text)) {
        mv_csv_put_part(out, text);
        return;
    }
    mv_csv_open(out, text);
    mv_csv_put_part(out, text);
    mv_csv_close(out);
}

void mv_csv_put_end(mv_out *out)
{
    mv_out_words(out, "\r\n");
}
