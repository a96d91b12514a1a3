/* Untrusted text in HTML and SVG must stay text, whatever it contains. */

#include "tests/fixture/fixture.h"
#include "viz/scene/markup.h"

static void expect(mv_markup markup, const char *text, const char *written)
{
    const char *path = mvt_temp_file((mv_span){0});
    mv_sink sink;

    mvt_ok(mv_sink_open(&sink, path, mvt_err()));
    mv_markup_write(&sink, markup, text);
    mvt_ok(mv_sink_commit(&sink, mvt_err()));
    mv_span found = mvt_file(mvt_memory(), path);
    cr_expect(found.length == strlen(written) && memcmp(found.data, written, found.length) == 0,
              "%s", text);
}

#define BAD "\xef\xbf\xbd"

Test(markup, special_characters_are_entities)
{
    expect(MV_MARKUP_HTML, "a<b>&\"c'", "a&lt;b&gt;&amp;&quot;c&#39;");
    expect(MV_MARKUP_SVG, "a<b>&\"c'", "a&lt;b&gt;&amp;&quot;c'");
}

Test(markup, controls_are_shown_as_visible_characters)
{
    expect(MV_MARKUP_HTML, "a\x01\x7f\n\tb", "a" BAD BAD BAD BAD "b");
    expect(MV_MARKUP_SVG, "a\x01\x7f\n\tb", "a" BAD BAD "\n\tb");
    expect(MV_MARKUP_HTML, "\xc2\x9b\xc2\xa0", BAD "\xc2\xa0"); /* also C1 controls */
    expect(MV_MARKUP_SVG, "\xc2\x9b\xc2\xa0", BAD "\xc2\xa0");
}

Test(markup, each_invalid_byte_is_one_character)
{
    for (int i = 0; i < 2; i++) {
        mv_markup markup = i ? MV_MARKUP_SVG : MV_MARKUP_HTML;
        expect(markup, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
               "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
        expect(markup, "\xff\xc3", BAD BAD);
        expect(markup, "\xc0\xaf", BAD BAD);         /* overlong */
        expect(markup, "\xed\xa0\x80", BAD BAD BAD); /* a surrogate */
        expect(markup, "\xf4\x90\x80\x80", BAD BAD BAD BAD);
        expect(markup, "\xef\xbf\xbd", BAD);
    }
}

/* A sequence that is not an XML character becomes one replacement character, however many bytes
 * long it is. */
Test(markup, xml_excludes_the_last_two_characters_of_the_plane)
{
    expect(MV_MARKUP_SVG, "\xef\xbf\xbe\xef\xbf\xbf", BAD BAD);
    expect(MV_MARKUP_HTML, "\xef\xbf\xbe", BAD);
}
