/* The table of commands: keys, names, and the manual that is made from the table. */
#include "tests/fixture/fixture_view.h"

typedef struct {
    uint32_t key;
    uint8_t mods;
    int command;
} binding;

/* Every key of the table. */
static uint32_t bindings(binding *out)
{
    uint32_t count = 0;

    for (int i = MV_DO_NOTHING + 1; i < MV_DO_COUNT; i++) {
        const char *at = mv_view_commands[i].keys;
        while (*at) {
            size_t length = strcspn(at, " ");
            binding *b = &out[count++];
            b->command = i;
            cr_assert(mv_key_read(at, length, &b->key, &b->mods), "%s: %s",
                      mv_view_commands[i].name, at);
            at += length + (at[length] == ' ');
        }
    }
    return count;
}

static mv_command_id command_of_key(uint32_t key, uint8_t mods)
{
    mv_keymap map;

    mv_keymap_init(&map);
    return mv_keymap_command(&map, key, mods);
}

Test(view_commands, no_key_is_given_twice)
{
    static binding all[2 * MV_DO_COUNT];
    uint32_t count = bindings(all);

    cr_assert_gt(count, 50);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < i; j++)
            cr_assert(all[i].key != all[j].key || all[i].mods != all[j].mods, "%s and %s",
                      mv_view_commands[all[i].command].name, mv_view_commands[all[j].command].name);
        cr_assert_eq((int)command_of_key(all[i].key, all[i].mods), all[i].command, "%s",
                     mv_view_commands[all[i].command].name);
    }
}

Test(view_commands, keys_as_keyboards_send_them)
{
    cr_assert_eq(command_of_key('/', MV_MOD_SHIFT), MV_DO_help);
    cr_assert_eq(command_of_key('?', MV_MOD_SHIFT), MV_DO_help);
    cr_assert_eq(command_of_key('=', MV_MOD_CTRL), MV_DO_larger);
    cr_assert_eq(command_of_key('=', MV_MOD_CTRL | MV_MOD_SHIFT), MV_DO_larger);
    cr_assert_eq(command_of_key('<', 0), MV_DO_event_far_back);
    cr_assert_eq(command_of_key('W', MV_MOD_ALT), MV_DO_NOTHING);
}

Test(view_commands, are_described_and_found_by_name)
{
    for (int i = MV_DO_NOTHING + 1; i < MV_DO_COUNT; i++) {
        const mv_view_command *c = &mv_view_commands[i];
        cr_assert(*c->title && *c->help, "%s", c->name);
        cr_assert_eq((int)mv_view_command_find(c->name), i);
        for (int j = MV_DO_NOTHING + 1; j < i; j++)
            cr_assert_str_neq(c->title, mv_view_commands[j].title);
    }
    cr_assert_eq(mv_view_command_find("no_such"), MV_DO_NOTHING);
}

/* If a command has no key and its help contains a semicolon, the palette expects a number after its
 * name. */
Test(view_commands, the_palette_finds_commands_with_a_number_of_their_own)
{
#define MV_VIEW_COMMAND(name, keys, needs, past, title, help)
#define MV_VIEW_COMMAND_AS(name, keys, needs, past, title, help, run, arg) \
    cr_expect(*(keys) || !strchr(help, ';'), #name ": %s", help);
#include "view/state/commands.def"
#undef MV_VIEW_COMMAND
}

ViewTest(view_commands, unavailable_commands_give_the_reason, mvt_view_new(&(mv_view_opts){0}))
{
    mv_view_frame(view, 1280, 720, 0);
    for (int i = MV_DO_NOTHING + 1; i < MV_DO_COUNT; i++) {
        *view->message = '\0';
        if (mv_view_command_is_enabled(view, (mv_command_id)i))
            continue;
        cr_assert_not(mv_view_do(view, (mv_command_id)i, 0));
        cr_assert(*view->message, "%s", mv_view_commands[i].name);
    }
}

ViewTest(view_commands, segments_have_no_other_colours, mvt_view("mlp_train"))
{
    cr_expect(mv_view_command_is_enabled(view, MV_DO_colour_menu));
    mv_view_do(view, MV_DO_show_segments, 0);
    cr_expect_not(mv_view_do(view, MV_DO_colour_menu, 0));
    cr_expect_not(mv_view_do(view, MV_DO_next_colour, 0));
    cr_expect(strstr(view->message, "how full they are"), "%s", view->message);
}

/* Runs every enabled command, one after the other, on a real trace. Nothing may break. */
LongTest(view_commands, all_run)
{
    mv_view *view = mvt_view("gpt_train");

    mv_view_pin(view, 100);
    for (int round = 0; round < 2; round++)
        for (int i = MV_DO_NOTHING + 1; i < MV_DO_COUNT; i++) {
            if (mv_view_command_is_enabled(view, (mv_command_id)i))
                cr_assert(mv_view_do(view, (mv_command_id)i, 0), "%s", mv_view_commands[i].name);
            mv_view_frame(view, 1280, 720, 0);
            cr_assert_not(view->ui.scene.failed, "%s", mv_view_commands[i].name);
            cr_assert(view->now->from < view->now->to, "%s", mv_view_commands[i].name);
            mv_view_do(view, MV_DO_cancel, 0);
        }
    cr_assert(view->is_closing);
}

/* ---- docs/viewer.md ---------------------------------------------------------------------- */

#define BEGIN "<!-- commands: made from view/state/commands.def -->\n"
#define END   "<!-- end of commands -->\n"

/* Prints a text of a cell, with `blank` in place of each blank. */
static void print_text(FILE *out, const char *text, const char *blank)
{
    for (; *text; text++)
        if (*text == ' ')
            fputs(blank, out);
        else
            fprintf(out, *text == '|' ? "\\%c" : "%c", *text);
}

static char *table(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    fputs("| keys | command | what it does |\n|---|---|---|\n", out);
    for (int i = MV_DO_NOTHING + 1; i < MV_DO_COUNT; i++) {
        const mv_view_command *c = &mv_view_commands[i];
        if (!*c->keys)
            continue;
        fputs("| `", out);
        print_text(out, c->keys, "` `");
        fputs("` | ", out);
        print_text(out, c->title, " ");
        fputs(" | ", out);
        print_text(out, c->help, " ");
        fputs(" |\n", out);
    }
    fclose(out);
    return text;
}

/* MV_BLESS=1 writes it. */
Test(view_commands, manual_has_all_that_have_keys)
{
    char *made = table();

    mvt_expect_page(MV_SOURCE_DIR "/docs/viewer.md", BEGIN, END, made);
    free(made);
}
