#include "viz/html/html.h"

#include <string.h>

#include "viz/html/html_parts.h"
#include "viz/pictures/icicle.h"
#include "viz/scene/fullness_scale.h"
#include "viz/scene/markup.h"
#include "viz/scene/palette.h"

void mv_html_init(mv_html *page, mv_arena *arena, const mv_trace *trace, const char *title)
{
    *page = (mv_html){.arena = arena, .trace = trace, .title = title};
    mv_packed_init(&page->columns, arena);
}

/* ---- the file ---------------------------------------------------------------------------- */

static void put(mv_sink *sink, const char *text)
{
    mv_sink_write(sink, text, strlen(text));
}

/* Nothing may be loaded and nothing sent, whatever the trace says. */
static void write_head(const mv_html *page, mv_sink *sink)
{
    put(sink, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
              "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
              "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
              "base-uri 'none'; form-action 'none'\">\n"
              "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
              "<meta name=\"color-scheme\" content=\"light dark\">\n"
              "<meta name=\"generator\" content=\"memviz " MV_PROGRAM_VERSION "\">\n<title>");
    mv_markup_write(sink, MV_MARKUP_HTML, page->title);
    if (page->has_alarm) {
        put(sink, " \xc2\xb7 ");
        mv_markup_write(sink, MV_MARKUP_HTML, page->verdict);
    }
    put(sink, " \xc2\xb7 GPU memory</title>\n"
              "<link rel=\"icon\" href=\"data:,\">\n<style>\n");
    put(sink, mv_html_style);
    put(sink, "</style>\n</head>\n<body>\n");
}

static void write_titles(const mv_html *page, mv_sink *sink)
{
    put(sink, "<header><h1 id=\"title\">");
    mv_markup_write(sink, MV_MARKUP_HTML, page->title);
    put(sink, "</h1>\n<p id=\"verdict\"");
    put(sink, page->has_alarm ? " class=\"alarm\">" : ">");
    mv_markup_write(sink, MV_MARKUP_HTML, page->verdict);
    put(sink, "</p>\n<p id=\"figures\"></p></header>\n"
              "<noscript>The picture is drawn by a script in this file, and scripts are switched "
              "off here.</noscript>\n<main id=\"main\"></main>\n");
}

/* ---- colours ----------------------------------------------------------------------------- */

static void add_frame_colours(mv_packed *columns, const mv_theme *theme)
{
    static const uint8_t kinds[] = {MV_FRAME_USER, MV_FRAME_PACKAGE, MV_FRAME_FRAMEWORK,
                                    MV_FRAME_NATIVE};
    enum { KINDS = sizeof kinds };

    for (uint32_t i = 0; i <= KINDS; i++)
        for (uint32_t depth = 0; depth < 2; depth++) {
            mv_flame_node node = {
                .kind = i < KINDS ? MV_FLAME_FRAME : MV_FLAME_PLACE, .frame = {i}, .depth = depth};
            mv_packed_add(columns, mv_icicle_colour(theme, kinds, &node) >> 8);
        }
}

/* Those of all pictures, light and then dark: THEME_COLOURS of html_page.js, frames, fullness. */
static void add_palette(mv_packed *columns)
{
    mv_packed_open(columns, MV_CODING_PLAIN, "palette");
    for (int dark = 0; dark < 2; dark++) {
        const mv_theme *t = mv_theme_of(dark);
        uint32_t colours[] = {t->background, t->plot,     t->grid,   t->text,  t->faint_text,
                              t->outline,    t->reserved, t->active, t->alarm, t->lane,
                              t->leak,       t->unknown,  t->native};

        for (size_t i = 0; i < sizeof colours / sizeof *colours; i++)
            mv_packed_add(columns, colours[i] >> 8);
        add_frame_colours(columns, t);
        for (uint32_t i = 0; i < MV_FULLNESS_LEVELS; i++)
            mv_packed_add(columns, mv_fullness_colour(i, dark) >> 8);
    }
    mv_packed_close(columns);
}

mv_code mv_html_write(mv_html *page, mv_sink *sink, mv_err *err)
{
    mv_code code = mv_html_tables(page, err);

    if (code != MV_OK)
        return code;
    mv_packed_open(&page->columns, MV_CODING_PLAIN, "opening");
    mv_packed_add(&page->columns, page->theme);
    mv_packed_add(&page->columns, page->view);
    mv_packed_add(&page->columns, page->all_frames);
    mv_packed_add(&page->columns, page->top);
    mv_packed_close(&page->columns);
    add_palette(&page->columns);
    mv_packed_open(&page->columns, MV_CODING_TEXT, "filter"); /* its words, if there is one */
    if (page->filter)
        mv_packed_add_text(&page->columns, (mv_span){(const uint8_t *)page->filter_text,
                                                     strlen(page->filter_text)});
    mv_packed_close(&page->columns);
    write_head(page, sink);
    write_titles(page, sink);
    put(sink, "<script type=\"text/plain\" id=\"columns\">");
    code = mv_packed_write(&page->columns, sink, err);
    if (code != MV_OK)
        return code;
    put(sink, "</script>\n<script>\n\"use strict\";\n");
    put(sink, mv_html_script);
    put(sink, "</script>\n</body>\n</html>\n");
    return MV_OK;
}
