/* Snapshots inside pages made by PyTorch's _memory_viz. */
#include "parse/pickle/page_text.h"

#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_program.h"

Test(page_text, a_page_has_the_contents_of_its_pickle)
{
    static const char *const names[] = {"gpt_train", "two_devices", "no_history", "mempool"};

    for (int i = 0; i < 4; i++) {
        mv_arena *arena = mvt_memory();
        mv_trace trace = mvt_load(arena, names[i]);
        mv_span pickle = mvt_pickle_of(arena, &trace, i % 2);
        mv_trace direct, inside;
        mvt_ok(mv_trace_read_bytes(arena, pickle, &direct, mvt_err()));
        mvt_ok(mv_trace_read_bytes(arena, mvt_page_of(arena, pickle), &inside, mvt_err()));
        cr_expect(inside.origin.is_page && !direct.origin.is_page);
        const char *why = mvt_difference(&direct, &inside);
        cr_expect_null(why, "%s: %s", names[i], why);
    }
}

/* Pickles of three lengths, followed by 1, 2 and 3 NULs. There must be no note about trailing
 * bytes. */
Test(page_text, padding_gets_no_note)
{
    for (int more = 0; more < 3; more++) {
        mvt_trace *t = mvt_small();
        mv_trace trace;
        char name[] = "aaaa";
        name[more + 1] = 0;
        mvt_setting_text(t, "x", name);
        mvt_ok(mv_trace_read_bytes(mvt_arena(t), mvt_page_bytes(t), &trace, mvt_err()));
        cr_expect_eq(trace.notes[MV_NOTE_TRAILING].count, 0);
    }
}

/* Errors give a byte position in the page: that of the letter, or of the letter that encodes the
 * pickle's byte. */
Test(page_text, errors_name_the_byte_of_the_page)
{
    mvt_trace *t = mvt_small();
    mv_span page = mvt_page_bytes(t);
    char *copy = mv_arena_push(mvt_arena(t), page.length, 1), *letters;
    mv_trace trace;

    memcpy(copy, page.data, page.length);
    letters = memmem(copy, page.length, "gASV", 4);
    cr_assert_not_null(letters);
    letters[402] = '!';
    mv_trace_read_bytes(mvt_arena(t), (mv_span){(uint8_t *)copy, page.length}, &trace, mvt_err());
    cr_expect_eq(mvt_err()->code, MV_CORRUPT);
    cr_expect_eq(mvt_err()->offset, (uint64_t)(letters - copy) + 402);
    memcpy(letters, "gASV", 4);
    memcpy(letters + 400, "////", 4); /* three bytes that are not opcodes, or an endless string */
    mv_trace_read_bytes(mvt_arena(t), (mv_span){(uint8_t *)copy, page.length}, &trace, mvt_err());
    cr_expect_neq(mvt_err()->code, MV_OK);
    cr_expect(mvt_err()->offset >= (uint64_t)(letters - copy) + 300 &&
              mvt_err()->offset <= page.length);
}

Test(page_text, spaces_other_keys_and_a_second_snapshot_are_accepted)
{
    mvt_run r = mvt_sh(
        "set -e; p=$RELEASES/memory_viz.html; $MEMVIZ dump --calls $p >a;"
        "sed 's/\"base64\": /\"base64\"  :\\n /; s/local_files = /x = \"base64\"; y = /' $p "
        ">b.html;"
        "$MEMVIZ dump --calls b.html | cmp - a; cat b.html | $MEMVIZ dump --calls - | cmp - a;"
        "gzip -c $p | $MEMVIZ dump --calls - | cmp - a; $MEMVIZ dump --calls "
        "$RELEASES/torch_2_5.pickle"
        " | cmp - a; cat $p $p >two.html; COLUMNS=200 $MEMVIZ info two.html");

    cr_expect_eq(r.status, 0, "%s%s", r.out, r.err);
    cr_expect(strstr(r.out, "another snapshot in the"), "%s", r.out);
    cr_expect(strstr(r.out, "in an HTML page"), "%s", r.out);
}

/* A page made by memviz contains no snapshot that can be read, and the message says so. */
Test(page_text, pages_of_memviz_name_the_file_to_open)
{
    mvt_warns("$MEMVIZ trace_plot -q $SNAPS/leak_cycle.pickle -o x.html >/dev/null;"
              "$MEMVIZ info x.html",
              1, "a page that memviz wrote");
}

/* Reads with every step size through the window. */
Test(page_text, any_steps_through_the_source_give_the_same_trace)
{
    mvt_trace *t = mvt_small();
    mv_span pickle = mvt_pickle_bytes(t, false), page = mvt_page_bytes(t);

    for (uint64_t step = 1; step < 40; step++) {
        mv_source outer, inner;
        mv_page_text text;
        uint64_t at = 0;
        mvt_ok(mv_source_over(mvt_arena(t), page, &outer, mvt_err()));
        mvt_ok(mv_page_find(&outer, &text, mvt_err()));
        mvt_ok(mv_page_open(mvt_arena(t), &text, &inner, mvt_err()));
        for (; mv_source_need(&inner, step) && at + step <= pickle.length; at += step) {
            cr_assert_arr_eq(inner.at, pickle.data + at, step);
            inner.at += step;
        }
        cr_expect_gt(at + step, pickle.length);
        mv_source_close(&inner);
        mv_source_close(&outer);
    }
}
