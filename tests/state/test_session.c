/* Sessions: a state is written as text, and when read back it must show the same picture. Invalid
 * texts must be refused with the position of the error, and must change nothing. */
#include "base/texts.h"
#include "tests/cli/fixture_runs.h"
#include "tests/fixture/fixture_scene.h"
#include "tests/fixture/fixture_view.h"
#include "view/panes/flames.h"
#include "view/timeline/pane_timeline.h"

#include <signal.h>
#include <sys/resource.h>
#include <wordexp.h>

static const char *text_of(mv_view *view)
{
    mv_session session;

    cr_assert(mv_view_session(view, mvt_memory(), &session));
    const char *text = mv_session_text(mvt_memory(), &session);
    cr_assert_not_null(text);
    return text;
}

static mv_session read_text(const char *text)
{
    mv_session session;
    mv_err err = {0};

    cr_assert_eq(mv_session_read(mvt_memory(), mv_text_span(text), &session, &err), MV_OK,
                 "byte %llu: %s in:\n%s", (unsigned long long)err.offset, err.detail, text);
    return session;
}

/* ---- the same again ------------------------------------------------------------------------ */

/* Compares states without overlay, tour, pointer and message, which a session does not contain. */
static const char *picture(mv_view *view)
{
    mv_view_do(view, MV_DO_tour_step, 0);
    mv_chrome_focus(view, MV_FOCUS_PANES);
    mv_view_input(view, &(mv_input){.kind = MV_INPUT_LEAVE});
    mv_view_say(view, false, "%s", "");
    view->spot = (mv_spot){.place = MV_PART_LOWER};
    mvt_view_frame(view);
    return mvt_scene_printed(mvt_view_frame(view));
}

static void expect_same(mv_view *view, mv_view *again, const char *name, const char *how)
{
    cr_assert(mvt_same_text(text_of(view), text_of(again), "%s by %s", name, how));
    cr_assert(mv_view_state_is_equal(again->now, view->now), "%s by %s", name, how);
    cr_assert(mvt_same_text(picture(view), picture(again), "%s by %s", name, how));
}

static mv_view *begin(const mv_view_start *start, uint32_t count, char *const *files)
{
    mv_view *view = mvt_view_new(&(mv_view_opts){.is_dark = false});

    mv_view_begin_at(view, start);
    for (uint32_t i = 0; i < count; i++)
        mvt_view_open(view, files[i]);
    return view;
}

static void check_session(mv_view *view, const char *name)
{
    mv_session session = read_text(text_of(view));
    mv_view_start start = {.device = MV_NO_ROW, .session = &session};

    expect_same(view, begin(&start, session.file_count, session.files), name, "session");
}

static mv_main_view main_of(const char *word)
{
    return strcmp(word, "state") == 0   ? MV_MAIN_STATE
           : strcmp(word, "pools") == 0 ? MV_MAIN_POOLS
                                        : MV_MAIN_SEGMENTS;
}

static const mv_session *read_line(const char *line)
{
    mv_session *session = mv_push_struct(mvt_memory(), mv_session);
    mv_err err = {0};

    cr_assert_eq(mv_session_read_line(mvt_memory(), mv_text_span(line), session, &err), MV_OK,
                 "byte %llu: %s in: %s", (unsigned long long)err.offset, err.detail, line);
    return session;
}

static void check_command_line(mv_view *view, const char *name)
{
    const char *line = mv_command_line(view, mvt_memory());
    mv_view_start start = {.device = MV_NO_ROW};
    uint32_t files = 0;
    wordexp_t shell;

    cr_assert_eq(wordexp(line, &shell, WRDE_NOCMD | WRDE_UNDEF), 0, "%s", line);
    char **words = shell.we_wordv;
    while (2 + files < shell.we_wordc && words[2 + files][0] != '-')
        files++;
    for (uint32_t i = 2 + files; i + 1 < shell.we_wordc; i += 2) {
        if (strcmp(words[i], "--from") == 0)
            start.from = words[i + 1];
        else if (strcmp(words[i], "--to") == 0)
            start.to = words[i + 1];
        else if (strcmp(words[i], "--at") == 0)
            start.at = words[i + 1];
        else if (strcmp(words[i], "--filter") == 0)
            start.filter = words[i + 1];
        else if (strcmp(words[i], "--level") == 0)
            start.level = words[i + 1];
        else if (strcmp(words[i], "--device") == 0)
            start.device = (uint32_t)strtoul(words[i + 1], NULL, 10);
        else if (strcmp(words[i], "--view") == 0)
            start.main = (uint8_t)main_of(words[i + 1]);
        else if (strcmp(words[i], "--theme") == 0)
            mv_view_write_desk(view)->is_dark = false; /* `begin` sets the theme */
        else if (strcmp(words[i], "--state") == 0)
            start.session = read_line(words[i + 1]);
        else
            cr_assert_fail("%s", words[i]);
    }
    expect_same(view, begin(&start, files, words + 2), name, line);
    wordfree(&shell);
}

ViewTest(session, a_link_has_the_differences_from_the_opened_file, mvt_view("leak_in_training"))
{
    mvt_view_frame(view);
    cr_expect_str_empty(mv_view_link(view, mvt_memory()));
    mv_view_do(view, MV_DO_show_state, MV_MAIN_STATE);
    mv_view_move_cursor(view, 77);
    mvt_view_frame(view);
    cr_expect_str_eq(mv_view_link(view, mvt_memory()), "main state;cursor 77");
}

static void walk(const char *name, uint64_t random, uint32_t steps)
{
    mv_view *view = mvt_view(name);

    mvt_view_frame(view);
    for (uint32_t i = 0; i < steps; i++)
        mvt_view_random(view, &random);
    check_session(view, name);
    check_command_line(view, name);
    /* A page already has the files; its theme and scale belong to the reader. */
    mv_view_start start = {.device = MV_NO_ROW};
    mv_session session;
    mv_view_write_desk(view)->is_dark = false; /* `begin` sets these */
    mv_view_write_desk(view)->scale = mv_view_desk_first.scale;
    const char *link = mv_view_link(view, mvt_memory());
    if (*link)
        start.session = read_line(link);
    cr_assert(mv_view_session(view, mvt_memory(), &session));
    expect_same(view, begin(&start, session.file_count, session.files), name, link);
}

LongTest(session, random_states_are_shown_again, .timeout = 300)
{
    static const char *const names[] = {"gpt_train",        "two_devices",        "oom",
                                        "leak_in_training", "frag_varying_batch", "train"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (uint64_t seed = 1; seed <= 6; seed++)
            walk(names[i], seed * 7919 + i, 30);
}

/* Whatever state the view is in, its session must be readable and show the same. */
LongTest(session, edges_of_the_view_are_shown_again, .timeout = 250)
{
    mv_view *view = mvt_view("gpt_train");

    mv_view_do(view, MV_DO_fit_height, 0); /* before a plot was painted */
    mvt_view_do(view, MV_DO_show_state, MV_MAIN_STATE);
    mv_view_do(view, MV_DO_fit_height, 0);
    check_session(view, "without a plot");
    mvt_view_do(view, MV_DO_show_timeline, MV_MAIN_TIMELINE);
    for (int i = 0; i < 600; i++)
        mvt_view_do(view, MV_DO_zoom_out_y, (uint64_t)-1);
    for (int i = 0; i < 60; i++)
        mvt_view_do(view, MV_DO_pan_up, 1);
    check_session(view, "far above all bytes");
    mv_view_add(view, "");
    cr_expect_eq(view->document_count, 1);
    cr_expect(strstr(view->message, "name is empty"), "%s", view->message);
    check_session(view, "a file without a name");
}

/* --from and --to cannot name one event. */
LongTest(session, a_window_of_one_event_has_a_command_line, .timeout = 250)
{
    static const double from[] = {0, 2150, 4011};

    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        mv_view *view = mvt_view("gpt_train");
        mvt_view_frame(view);
        mv_view_write(view)->from = from[i];
        mv_view_write(view)->to = from[i] + 1;
        mvt_view_frame(view);
        cr_expect(!strstr(mv_command_line(view, mvt_memory()), "--to"));
        check_command_line(view, "one event");
        mvt_end_now(view);
    }
}

/* Rounding errors add up while a window is moved. The scale must be the window's, however it was
 * set. */
LongTest(session, a_window_that_was_moved_is_shown_again, .timeout = 250)
{
    mv_view *view = mvt_view("oom");
    uint64_t random = 5;

    mvt_view_frame(view);
    for (uint32_t i = 0; i < 12; i++) {
        mv_session session;
        mv_view_start start = {.device = MV_NO_ROW, .session = &session};
        const mv_viewport *is, *want = &view->timeline->at;
        mv_view_do(view, MV_DO_clock, i / 4);
        mv_view_do(view, i % 4 == 0 ? MV_DO_fit_all : MV_DO_zoom_in, 0);
        for (uint32_t k = 0; k < 40; k++) {
            mv_view_input(view, &(mv_input){.kind = MV_INPUT_WHEEL,
                                            .x = 600,
                                            .y = 200,
                                            .dx = mvt_random(&random, 2) ? 1 : -1});
            mvt_view_frame(view);
        }
        session = read_text(text_of(view));
        is = &begin(&start, session.file_count, session.files)->timeline->at;
        cr_expect(is->x == want->x && is->dx == want->dx && is->y == want->y && is->dy == want->dy,
                  "%u: from %.17g, a pixel %.17g, is %.17g %.17g; %.17g %.17g", i, want->x,
                  want->dx, is->x, is->dx, want->dy, is->dy);
    }
}

/* A word for each existing choice. */
Test(session, every_choice_has_a_word)
{
    static const struct {
        const char *name;
        uint32_t count;
    } choices[] = {{"main", MV_MAIN_COUNT},           {"tab", MV_TAB_COUNT},
                   {"colour", MV_COLOUR_COUNT},       {"clock", MV_CLOCKS},
                   {"show", MV_SHOW_COUNT},           {"flame_source", MV_FLAMES_COUNT},
                   {"table_kind", MV_LISTING_LEDGER}, {"align", MV_ALIGN_COUNT},
                   {"focus", MV_FOCUS_COUNT}};

    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        for (uint32_t m = 0; m < mv_state_member_count; m++) {
            uint32_t words = 1;
            if (strcmp(mv_state_members[m].name, choices[i].name) != 0)
                continue;
            for (const char *c = mv_state_members[m].words; *c; c++)
                words += *c == ' ';
            cr_expect_eq(words, choices[i].count, "%s", choices[i].name);
        }
}

/* ---- invalid texts -------------------------------------------------------------------------- */

static void expect_wrong(const char *text, uint64_t offset, const char *why)
{
    mv_session session, before;
    mv_err err = {.offset = MV_NO_OFFSET};

    memset(&session, 7, sizeof session);
    memcpy(&before, &session, sizeof session);
    cr_assert_neq(mv_session_read(mvt_memory(), mv_text_span(text), &session, &err), MV_OK, "%s",
                  text);
    cr_expect(strstr(err.detail, why), "'%s' in '%s'", why, err.detail);
    cr_expect_eq(err.offset, offset, "%s: byte %llu", err.detail, (unsigned long long)err.offset);
    cr_expect_eq(memcmp(&session, &before, sizeof session), 0);
}

#define HEAD "memviz session 1\n"

Test(session, wrong_texts_are_refused)
{
    expect_wrong("", 0, "the first line");
    expect_wrong("memviz session 2\nend\n", 0, "the first line");
    expect_wrong(HEAD "cursor 5\n", 26, "end");
    expect_wrong(HEAD "end", 20, "end");
    expect_wrong(HEAD "end\ncursor 5\n", 21, "after the line");
    expect_wrong(HEAD "cursr 5\nend\n", 17, "cursr");
    expect_wrong(HEAD "cursor -5\nend\n", 24, "cursor");
    expect_wrong(HEAD "cursor 4294967296\nend\n", 24, "cursor");
    expect_wrong(HEAD "cursor 5 6\nend\n", 26, "too many values");
    expect_wrong(HEAD "cursor 5\ncursor 5\nend\n", 33, "twice");
    expect_wrong(HEAD "colour purple\nend\n", 24, "one of: line stack");
    expect_wrong(HEAD "is_dark 1\nend\n", 25, "is_dark");
    expect_wrong(HEAD "from nan\nend\n", 22, "from");
    expect_wrong(HEAD "from 9\nto 3\nend\n", 27, "to is out");
    expect_wrong(HEAD "scale 1e30\nend\n", 23, "scale");
    expect_wrong(HEAD "table_sort 1 2\nend\n", 31, "table_sort");
    expect_wrong(HEAD "table_sort 0 0 0 0 0 0 0 99\nend\n", 28, "table_sort");
    expect_wrong(HEAD "path a\nfile 1\nend\n", 29, "file");
    expect_wrong(HEAD "path \nend\n", 22, "empty");
    expect_wrong(HEAD "search a\\n\nend\n", 25, "backslash");
    expect_wrong(HEAD "search a\\x00\nend\n", 25, "NUL");
    expect_wrong(HEAD "search a\tb\nend\n", 25, "control");
    expect_wrong(HEAD "focus open\nend\n", 17, "focus");
    expect_wrong(HEAD "bookmark 0 0 1 5 2 none x\nend\n", 26, "a bookmark must be");
    expect_wrong(HEAD "bookmark 0 0 1 2 5 none \nend\n", 26, "no name");
}

Test(session, texts_are_kept_byte_by_byte)
{
    mv_session session = read_text(HEAD "search a;b \\x5c\\x0a\\xff \xc3\xa4 \nend\n"), again;

    cr_assert_str_eq(session.now.search, "a;b \\\n\xff \xc3\xa4 ");
    again = read_text(mv_session_text(mvt_memory(), &session));
    cr_assert_str_eq(again.now.search, session.now.search);
    cr_assert_eq(again.file_count, 0);
}

/* Every text that can be read must show something. */
static void show(mv_session *session)
{
    mv_view_start start = {.device = MV_NO_ROW, .session = session};
    char *files[] = {(char *)mvt_snapshot("two_devices")};
    mv_view *view = begin(&start, 1, files);

    /* If a level is missing from the file, the message names the level instead of a device. */
    cr_assert(mv_view_device(view) || mv_view_document(view)->is_missing_level);
    for (uint32_t i = 0; i < view->bookmarks->count; i++)
        mvt_view_do(view, MV_DO_bookmark_go, i);
    mvt_end_now(view);
}

LongTest(session, damaged_texts_do_no_harm, .timeout = 300)
{
    mv_view *view = mvt_view("two_devices");
    uint64_t random = 99;
    uint32_t shown = 0;

    mv_view_do(view, MV_DO_pin, 3);
    mv_bookmark_set(view, "here");
    const char *text = text_of(view);
    size_t length = strlen(text);
    char *bytes = mv_push_array(mvt_memory(), char, length + 1);
    for (size_t cut = 0; cut < length; cut++) {
        mv_session session;
        mv_err err = {0};
        mv_span part = {(const uint8_t *)text, cut};
        cr_assert_neq(mv_session_read(mvt_memory(), part, &session, &err), MV_OK, "%zu", cut);
        cr_assert_leq(err.offset, cut);
        cr_assert(*err.detail, "%zu", cut);
    }
    for (uint32_t i = 0; i < 20000; i++) {
        mv_session session;
        mv_err err = {0};
        memcpy(bytes, text, length + 1);
        for (uint32_t k = mvt_random(&random, 3); k-- + 1 > 0;)
            bytes[mvt_random(&random, (uint32_t)length)] =
                (char)(mvt_random(&random, 2) ? '0' + mvt_random(&random, 10)
                                              : mvt_random(&random, 256));
        if (mv_session_read(mvt_memory(), (mv_span){(const uint8_t *)bytes, length}, &session,
                            &err) == MV_OK) {
            if (++shown % 40 == 0)
                show(&session);
        } else {
            cr_assert(*err.detail && err.offset <= length);
        }
    }
    cr_assert_gt(shown, 400);
}

/* ---- the program --------------------------------------------------------------------------- */

Test(session, the_program_refuses_invalid_settings)
{
    static const mvt_expected_run all[] = {
        {"--session $SNAPS/gpt_train.pickle", 1, NULL, "byte 0"},
        {NULL, 0, NULL, "first line"},
        {"--session a.session b.pickle", 2, NULL, ""},
        {"--state 'colour catgory' $SNAPS/gpt_train.pickle", 2, NULL,
         "view: --state: byte 7: colour must be one of"},
        {"two", 1, NULL, "two: byte 0"},
        {NULL, 0, NULL, "first line"},
        {"one $SNAPS/oom.pickle", 2, NULL, "a session must be the only file"},
        {"--at 5 one", 2, NULL, ""},
        /* A session may come from anyone, so it must not wait for the files that it names. */
        {"--session of_pipe", 1, NULL, "p is not a file on disk"}};

    MVT_EXPECT_RUNS("mkfifo p; printf 'memviz session 1\\npath p\\nend\\n' >of_pipe; "
                    "printf 'memviz session 1\\nend\\n' >one; "
                    "printf 'memviz session 2\\nend\\n' >two; "
                    "$MEMVIZ view --headless --shot x.png %s",
                    all);
}

/* The program saves a session, and opens it by its option or as a file: the first line decides, not the
 * file's name. A path that is already open is not read again. Ignores the line with the name of the
 * written file, or with the keys. */
LongTest(session, the_program_saves_and_opens_a_session)
{
    mvt_run run = mvt_sh(
        "printf '%%s\\n' 'wait idle' 'do next_colour' 'do pin 77' 'do theme' 'key Ctrl+S' 'key "
        "Ctrl+A' 'text a.session' 'key Enter' 'wait idle' dump > a.vzs;"
        "printf '%%s\\n' 'wait idle' dump > b.vzs;"
        "printf '%%s\\n' \"open $SNAPS/two_devices.pickle\" 'wait idle' 'drop a.pickle' 'wait "
        "idle' "
        "'expect selection train.py' 'key Ctrl+O' 'text a.pickle' 'key Enter' 'wait idle' 'expect "
        "selection train.py' > c.vzs;"
        "$MEMVIZ view --headless --script a.vzs $SNAPS/gpt_train.pickle | grep -v written: > a &&"
        "$MEMVIZ view --headless --script b.vzs --session a.session | grep -v 'all keys' > b && "
        "cmp a b && "
        "mv a.session a.pickle && $MEMVIZ view --headless --script b.vzs a.pickle | grep -v 'all "
        "keys' > b && wc -l < a && cmp a b && $MEMVIZ view --headless --script c.vzs");

    cr_assert_eq(run.status, 0, "%s%s", run.out, run.err);
    cr_assert_gt((int)strtol(run.out, NULL, 10), 100);
}

/* A view with a pin, colours and a bookmark. */
static mv_view *changed_view(void)
{
    mv_view *view = mvt_view("gpt_train");

    mvt_view_frame(view);
    mv_view_do(view, MV_DO_theme, 0);
    mv_view_do(view, MV_DO_next_colour, 0);
    mv_view_do(view, MV_DO_zoom_in, 0);
    mv_view_do(view, MV_DO_pin, 77);
    mv_bookmark_set(view, "here");
    mvt_view_frame(view);
    return view;
}

ViewTest(session, a_dropped_session_is_opened, changed_view())
{
    mv_view *again = mvt_view_new(&(mv_view_opts){.is_dark = false});

    mvt_view_drop(again, mvt_temp_file(mv_text_span(text_of(view))));
    expect_same(view, again, "gpt_train", "drop");
}

/* The session's file gets a different row. Back returns to the device that was shown. */
ViewTest(session, a_session_is_opened_beside_other_files, changed_view())
{
    mv_view *other = mvt_view("two_devices");
    const char *path = mvt_temp_file(mv_text_span(text_of(view)));
    mv_view_state want = *view->now;

    mvt_view_frame(other);
    for (int i = 0; i < 2; i++) {
        mvt_view_drop(other, path);
        cr_assert_eq(other->document_count, 2);
        want.file = 1;
        cr_expect(mv_view_state_is_equal(other->now, &want));
        cr_expect_eq(other->bookmarks->count, 1);
        cr_expect_eq(other->bookmarks->rows[0].file, 1);
        cr_expect_eq(other->desk->is_dark, view->desk->is_dark);
    }
    mvt_view_do(other, MV_DO_back, 0);
    cr_expect_eq(other->now->file, 0);
    mv_view_do(other, MV_DO_bookmark_go, 0);
    cr_expect_eq(other->now->file, 1);
    cr_expect_eq(other->now->cursor, want.cursor);
}

Test(session, an_invalid_session_that_is_dropped_changes_nothing)
{
    static const char *const wrong[] = {HEAD "cursr 5\nend\n", HEAD "path a\n", HEAD "end\n",
                                        "memviz session 2\nend\n", HEAD "path -\nend\n"};
    static const char *const why[] = {"byte 17: unknown name cursr", "missing", "contains no file",
                                      "first line", "not a regular file"};
    mv_view *view = changed_view();
    const char *before = text_of(view);

    for (int i = 0; i < 5; i++) {
        mvt_view_drop(view, mvt_temp_file(mv_text_span(wrong[i])));
        cr_expect(view->is_alarm && strstr(view->message, why[i]), "%s", view->message);
        cr_expect_str_eq(text_of(view), before);
    }
}

/* As on a full disk: the old session stays, and one line reports it. */
ViewTest(session, saving_on_a_full_disk_keeps_the_old_one, mvt_view("mlp_train"))
{
    const char *name = mvt_format("%s/kept.session", mvt_temp_folder());
    mvt_view_frame(view);
    cr_assert(mv_export_write(view, name), "%s", view->message);
    const char *before = mvt_text(name);
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){20, 20}), 0);
    mv_view_do(view, MV_DO_theme, 0);
    cr_assert(!mv_export_write(view, name));
    cr_assert(strstr(view->message, "not written: cannot write") && !strchr(view->message, '\n'),
              "%s", view->message);
    cr_assert_str_eq(mvt_text(name), before);
}
