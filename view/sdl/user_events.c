#include "view/sdl/user_events.h"

#include <string.h>

static const struct {
    SDL_Keycode from;
    uint32_t to;
} named_keys[] = {
    {SDLK_ESCAPE, MV_KEY_ESCAPE},
    {SDLK_RETURN, MV_KEY_ENTER},
    {SDLK_KP_ENTER, MV_KEY_ENTER},
    {SDLK_TAB, MV_KEY_TAB},
    {SDLK_BACKSPACE, MV_KEY_BACKSPACE},
    {SDLK_DELETE, MV_KEY_DELETE},
    {SDLK_LEFT, MV_KEY_LEFT},
    {SDLK_RIGHT, MV_KEY_RIGHT},
    {SDLK_UP, MV_KEY_UP},
    {SDLK_DOWN, MV_KEY_DOWN},
    {SDLK_HOME, MV_KEY_HOME},
    {SDLK_END, MV_KEY_END},
    {SDLK_PAGEUP, MV_KEY_PAGE_UP},
    {SDLK_PAGEDOWN, MV_KEY_PAGE_DOWN},
    {SDLK_F1, MV_KEY_F1},
    {SDLK_F6, MV_KEY_F6},
    {SDLK_KP_PLUS, '+'},
    {SDLK_KP_MINUS, '-'},
    {SDLK_KP_0, '0'},
};

/* Returns the code of a key; 0: the key is unknown. */
static uint32_t key_of(SDL_Keycode sym)
{
    for (size_t i = 0; i < sizeof named_keys / sizeof *named_keys; i++)
        if (named_keys[i].from == sym)
            return named_keys[i].to;
    if (sym >= 'a' && sym <= 'z')
        return (uint32_t)(sym - 'a' + 'A');
    return sym > ' ' && sym <= '~' ? (uint32_t)sym : 0;
}

/* Converts modifiers. Right Alt is left out, because on many keyboards it is used to type
 * characters. */
static uint8_t mods_of(uint16_t mods)
{
    return (uint8_t)((mods & KMOD_SHIFT ? MV_MOD_SHIFT : 0) |
                     (mods & (KMOD_CTRL | KMOD_GUI) ? MV_MOD_CTRL : 0) |
                     (mods & KMOD_LALT ? MV_MOD_ALT : 0));
}

static void move_to(mv_pointer *pointer, int x, int y)
{
    pointer->x = (float)x * pointer->scale_x;
    pointer->y = (float)y * pointer->scale_y;
}

static bool read_button(const SDL_MouseButtonEvent *event, mv_pointer *pointer, mv_input *out)
{
    move_to(pointer, event->x, event->y);
    out->kind = event->type == SDL_MOUSEBUTTONDOWN ? MV_INPUT_PRESS : MV_INPUT_RELEASE;
    out->button = event->button == SDL_BUTTON_LEFT     ? MV_BUTTON_LEFT
                  : event->button == SDL_BUTTON_MIDDLE ? MV_BUTTON_MIDDLE
                  : event->button == SDL_BUTTON_RIGHT  ? MV_BUTTON_RIGHT
                                                       : 0;
    out->clicks = event->clicks > 1 ? 2 : 1;
    return out->button != 0;
}

static void read_wheel(const SDL_MouseWheelEvent *event, mv_input *out)
{
    float sign = event->direction == SDL_MOUSEWHEEL_FLIPPED ? -1 : 1;

    out->kind = MV_INPUT_WHEEL;
    out->dx = event->preciseX * sign;
    out->dy = event->preciseY * sign;
}

bool mv_user_event(const SDL_Event *event, uint16_t key_mods, mv_pointer *pointer, mv_input *out)
{
    bool is_input = true;

    *out = (mv_input){.mods = mods_of(key_mods)};
    switch (event->type) {
    case SDL_KEYDOWN:
    case SDL_KEYUP:
        out->kind = event->type == SDL_KEYDOWN ? MV_INPUT_KEY : MV_INPUT_KEY_UP;
        out->mods = mods_of(event->key.keysym.mod);
        out->key = key_of(event->key.keysym.sym);
        is_input = out->key != 0;
        break;
    case SDL_TEXTINPUT:
        out->kind = MV_INPUT_TEXT;
        static_assert(sizeof out->text >= SDL_TEXTINPUTEVENT_TEXT_SIZE, "a whole text fits");
        memcpy(out->text, event->text.text, strnlen(event->text.text, sizeof out->text - 1));
        break;
    case SDL_MOUSEMOTION:
        move_to(pointer, event->motion.x, event->motion.y);
        out->kind = MV_INPUT_MOVE;
        break;
    case SDL_MOUSEBUTTONDOWN:
    case SDL_MOUSEBUTTONUP:
        is_input = read_button(&event->button, pointer, out);
        break;
    case SDL_MOUSEWHEEL:
        read_wheel(&event->wheel, out);
        break;
    case SDL_DROPFILE:
        out->kind = MV_INPUT_DROP;
        out->path = event->drop.file;
        is_input = out->path != NULL;
        break;
    case SDL_WINDOWEVENT:
        out->kind = MV_INPUT_LEAVE;
        is_input = event->window.event == SDL_WINDOWEVENT_LEAVE ||
                   event->window.event == SDL_WINDOWEVENT_FOCUS_LOST;
        break;
    default:
        is_input = false;
    }
    out->x = pointer->x;
    out->y = pointer->y;
    return is_input;
}
