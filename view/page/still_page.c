/* Writes a page with one picture and without a script. */

#include "view/page/viewer_page.h"
#include "viz/scene/markup.h"

static void put(mv_sink *sink, const char *text)
{
    mv_sink_write(sink, text, strlen(text));
}

mv_code mv_still_page_write(const mv_scene *picture, const char *title, mv_sink *sink, mv_err *err)
{
    put(sink, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
              "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
              "img-src data:; base-uri 'none'; form-action 'none'\">\n"
              "<meta name=\"generator\" content=\"memviz " MV_PROGRAM_VERSION "\">\n<title>");
    mv_markup_write(sink, MV_MARKUP_HTML, title);
    put(sink, " \xc2\xb7 memviz</title>\n</head>\n<body>\n");
    if (mv_svg_write(picture, sink, err) != MV_OK)
        return err->code;
    put(sink, "</body>\n</html>\n");
    return MV_OK;
}
