#include "cli/report/csv.h"

#include "export/export.h"

void mv_csv_open(mv_out *out, mv_span first)
{
    mv_out_words(out, mv_csv_is_formula(first) ? "\"'" : "\"");
}

void mv_csv_put_part(mv_out *out, mv_span text)
{
    for (uint64_t at = 0; at < text.length;) {
        const uint8_t *quote = memchr(text.data + at, '"', text.length - at);
        uint64_t end = quote ? (uint64_t)(quote - text.data) : text.length;
        mv_out_clean(out, (mv_span){text.data + at, end - at});
        if (quote)
            mv_out_words(out, "\"\"");
        at = end + (quote != NULL);
    }
}

void mv_csv_close(mv_out *out)
{
    mv_out_char(out, '"');
}

void mv_csv_put_text(mv_out *out, mv_span text)
{
    bool is_quoted = text.length == 0 || memchr(text.data, ',', text.length) ||
                     memchr(text.data, '"', text.length) || mv_csv_is_formula(text);

    if (!is_quoted) {
        mv_out_clean(out, text);
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
