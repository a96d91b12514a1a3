/* Events of the browser as inputs of the viewer, as view/sdl/user_events.c does it for SDL. Bits of
 * `mods` are those of MV_MOD_*. */
#include <stdbool.h>
#include <string.h>

#include "web/exports.h"

/* KeyboardEvent.key; the others are single characters. */
static const struct {
    const char *name;
    uint32_t key;
} named_keys[] = {
    {"Escape", MV_KEY_ESCAPE},       {"Enter", MV_KEY_ENTER},   {"Tab", MV_KEY_TAB},
    {"Backspace", MV_KEY_BACKSPACE}, {"Delete", MV_KEY_DELETE}, {"ArrowLeft", MV_KEY_LEFT},
    {"ArrowRight", MV_KEY_RIGHT},    {"ArrowUp", MV_KEY_UP},    {"ArrowDown", MV_KEY_DOWN},
    {"Home", MV_KEY_HOME},           {"End", MV_KEY_END},       {"PageUp", MV_KEY_PAGE_UP},
    {"PageDown", MV_KEY_PAGE_DOWN},  {"F1", MV_KEY_F1},         {"F6", MV_KEY_F6},
};

/* 0: a key that the viewer does not know. */
static uint32_t key_of(const char *name)
{
    for (size_t i = 0; i < sizeof named_keys / sizeof *named_keys; i++)
        if (strcmp(named_keys[i].name, name) == 0)
            return named_keys[i].key;
    if (name[0] <= ' ' || name[0] > '~' || name[1])
        return 0;
    return name[0] >= 'a' && name[0] <= 'z' ? (uint32_t)(name[0] - 'a' + 'A') : (uint32_t)name[0];
}

/* The key whose name is in the texts. False: the browser may use it. */
bool EXPORT(mv_web_key)(uint32_t mods, bool is_down)
{
    mv_input input = {.kind = is_down ? MV_INPUT_KEY : MV_INPUT_KEY_UP, .mods = (uint8_t)mods};

    input.key = key_of(mv_web_texts());
    if (input.key)
        mv_web_give(&input);
    return input.key;
}

/* What is in the texts was typed. */
void EXPORT(mv_web_text)(void)
{
    const char *text = mv_web_texts();
    mv_input input = {.kind = MV_INPUT_TEXT};

    memcpy(input.text, text, strnlen(text, sizeof input.text - 1));
    mv_web_give(&input);
}

/* `what` 0: moved, 1: pressed, 2: released, 3: left. `button` is that of MouseEvent: 0, 1, 2. */
void EXPORT(mv_web_pointer)(uint32_t what, uint32_t mods, uint32_t button, uint32_t clicks, float x,
                            float y)
{
    static const uint8_t kinds[] = {MV_INPUT_MOVE, MV_INPUT_PRESS, MV_INPUT_RELEASE,
                                    MV_INPUT_LEAVE};
    static const uint8_t buttons[] = {MV_BUTTON_LEFT, MV_BUTTON_MIDDLE, MV_BUTTON_RIGHT};
    mv_input input = {.kind = kinds[what & 3],
                      .mods = (uint8_t)mods,
                      .button = buttons[button < 3 ? button : 0],
                      .clicks = clicks > 1 ? 2 : 1,
                      .x = x,
                      .y = y};

    mv_web_give(&input);
}

/* Notches, as for MV_INPUT_WHEEL. */
void EXPORT(mv_web_wheel)(uint32_t mods, float x, float y, float dx, float dy)
{
    mv_input input = {
        .kind = MV_INPUT_WHEEL, .mods = (uint8_t)mods, .x = x, .y = y, .dx = dx, .dy = dy};

    mv_web_give(&input);
}
