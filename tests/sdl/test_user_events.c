/* SDL's events as the viewer's input: keys, buttons, the wheel, typed text and dropped files, on
 * screens with one or two pixels per unit. */
#include <criterion/criterion.h>
#include <string.h>

#include "view/sdl/user_events.h"

static mv_pointer pointer = {1, 1, 3, 4};

static mv_input input_of(SDL_Event event, uint16_t mods)
{
    mv_input input;

    cr_assert(mv_user_event(&event, mods, &pointer, &input));
    return input;
}

static mv_input key(SDL_Keycode sym, uint16_t mods)
{
    SDL_Event event = {.key = {.type = SDL_KEYDOWN, .keysym = {.sym = sym, .mod = mods}}};

    return input_of(event, 0);
}

Test(user_events, keys_are_characters_or_have_names)
{
    static const struct {
        SDL_Keycode sym;
        uint32_t key;
    } keys[] = {{SDLK_w, 'W'},
                {SDLK_z, 'Z'},
                {SDLK_SLASH, '/'},
                {SDLK_COMMA, ','},
                {SDLK_0, '0'},
                {SDLK_KP_0, '0'},
                {SDLK_KP_PLUS, '+'},
                {SDLK_RETURN, MV_KEY_ENTER},
                {SDLK_KP_ENTER, MV_KEY_ENTER},
                {SDLK_ESCAPE, MV_KEY_ESCAPE},
                {SDLK_DELETE, MV_KEY_DELETE},
                {SDLK_PAGEDOWN, MV_KEY_PAGE_DOWN},
                {SDLK_F1, MV_KEY_F1}};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        mv_input input = key(keys[i].sym, 0);
        cr_expect(input.kind == MV_INPUT_KEY && input.key == keys[i].key && input.mods == 0,
                  "%d: %u", (int)keys[i].sym, input.key);
    }
}

Test(user_events, modifiers_are_reported)
{
    cr_expect_eq(key(SDLK_a, KMOD_LSHIFT).mods, MV_MOD_SHIFT);
    cr_expect_eq(key(SDLK_a, KMOD_RCTRL | KMOD_RSHIFT).mods, MV_MOD_CTRL | MV_MOD_SHIFT);
    cr_expect_eq(key(SDLK_a, KMOD_LGUI).mods, MV_MOD_CTRL);
    cr_expect_eq(key(SDLK_a, KMOD_LALT).mods, MV_MOD_ALT);
    cr_expect_eq(key(SDLK_a, KMOD_RALT | KMOD_MODE).mods, 0, "writes characters");
    cr_expect_eq(key(SDLK_a, KMOD_CAPS | KMOD_NUM).mods, 0);
}

Test(user_events, keys_without_a_meaning_do_not_count)
{
    mv_input input;

    for (SDL_Keycode sym = SDLK_LCTRL; sym <= SDLK_RGUI; sym++) {
        SDL_Event event = {.key = {.type = SDL_KEYDOWN, .keysym = {.sym = sym}}};
        cr_expect_not(mv_user_event(&event, 0, &pointer, &input));
    }
    cr_expect_not(mv_user_event(&(SDL_Event){.type = SDL_KEYMAPCHANGED}, 0, &pointer, &input));
}

/* On a dense screen, a unit of the window is two pixels, and the pointer must be at the same point
 * of the picture. */
Test(user_events, the_pointer_is_in_pixels)
{
    SDL_Event event = {.motion = {.type = SDL_MOUSEMOTION, .x = 100, .y = 30}};

    pointer = (mv_pointer){2, 2, 0, 0};
    mv_input input = input_of(event, KMOD_LSHIFT);
    cr_expect(input.kind == MV_INPUT_MOVE && input.x == 200 && input.y == 60);
    cr_expect_eq(input.mods, MV_MOD_SHIFT);
    event = (SDL_Event){
        .wheel = {.type = SDL_MOUSEWHEEL, .preciseX = 0.25f, .preciseY = -1.5f, .x = 0, .y = -1}};
    input = input_of(event, 0);
    cr_expect(input.kind == MV_INPUT_WHEEL && input.dx == 0.25f && input.dy == -1.5f);
    cr_expect(input.x == 200 && input.y == 60, "where the pointer is");
    event.wheel.direction = SDL_MOUSEWHEEL_FLIPPED;
    cr_expect_eq(input_of(event, 0).dy, 1.5f);
}

Test(user_events, buttons_are_reported_with_their_clicks)
{
    static const uint8_t buttons[][2] = {{SDL_BUTTON_LEFT, MV_BUTTON_LEFT},
                                         {SDL_BUTTON_MIDDLE, MV_BUTTON_MIDDLE},
                                         {SDL_BUTTON_RIGHT, MV_BUTTON_RIGHT}};
    SDL_Event event = {.button = {.x = 7, .y = 9, .clicks = 1}};
    mv_input input;

    for (size_t i = 0; i < 3; i++) {
        event.button.type = SDL_MOUSEBUTTONDOWN;
        event.button.button = buttons[i][0];
        input = input_of(event, 0);
        cr_expect(input.kind == MV_INPUT_PRESS && input.button == buttons[i][1] &&
                  input.clicks == 1 && input.x == 7 && input.y == 9);
        event.button.type = SDL_MOUSEBUTTONUP;
        cr_expect_eq(input_of(event, 0).kind, MV_INPUT_RELEASE);
    }
    event.button.clicks = 2;
    cr_expect_eq(input_of(event, 0).clicks, 2);
    event.button.button = SDL_BUTTON_X1;
    cr_expect_not(mv_user_event(&event, 0, &pointer, &input));
}

Test(user_events, text_dropped_files_and_leaving_are_reported)
{
    char path[] = "/tmp/dropped.pickle";
    SDL_Event event = {.text = {.type = SDL_TEXTINPUT}};

    memset(event.text.text, 'x', sizeof event.text.text);
    memcpy(event.text.text, "\xc3\xa9", 3);
    cr_expect_str_eq(input_of(event, 0).text, "\xc3\xa9");
    memset(event.text.text, 'x', sizeof event.text.text);
    cr_expect_eq(strlen(input_of(event, 0).text), sizeof event.text.text - 1);
    event = (SDL_Event){.drop = {.type = SDL_DROPFILE, .file = path}};
    mv_input input = input_of(event, 0);
    cr_expect(input.kind == MV_INPUT_DROP && input.path == path);
    event.drop.file = NULL;
    cr_expect_not(mv_user_event(&event, 0, &pointer, &input));
    event = (SDL_Event){.window = {.type = SDL_WINDOWEVENT, .event = SDL_WINDOWEVENT_LEAVE}};
    cr_expect_eq(input_of(event, 0).kind, MV_INPUT_LEAVE);
    event.window.event = SDL_WINDOWEVENT_FOCUS_LOST;
    cr_expect_eq(input_of(event, 0).kind, MV_INPUT_LEAVE);
    event.window.event = SDL_WINDOWEVENT_EXPOSED;
    cr_expect_not(mv_user_event(&event, 0, &pointer, &input));
}
