/* Converts browser events to viewer inputs, as view/sdl/user_events.c does for SDL. Bits of `mods`
 * are MV_MOD_*. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "web/exports.h"

/* Names of keys in KeyboardEvent.key. The names of all other keys are single characters. */
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

/* Returns the code of a key; 0: the viewer does not use the key. */
static uint32_t key_of(const char *name)
{
    for (size_t i = 0; i < sizeof named_keys / sizeof *named_keys; i++)
        if (strcmp(named_keys[i].name, name) == 0)
            return named_keys[i].key;
    if (name[0] <= ' ' || name[0] > '~' || name[1])
        return 0;
    return name[0] >= 'a' && name[0] <= 'z' ? (uint32_t)(name[0] - 'a' + 'A') : (uint32_t)name[0];
}

/* Handles the key that is named in the buffer. Returns false if the browser may use the key. */
bool EXPORT(mv_web_key)(uint32_t mods, bool is_down)
{
    mv_input input = {.kind = is_down ? MV_INPUT_KEY : MV_INPUT_KEY_UP, .mods = (uint8_t)mods};

    input.key = key_of(mv_web_texts());
    if (input.key)
        mv_web_give(&input);
    return input.key;
}

/* Handles typed text, which is in the buffer. The text is passed on in parts that end between
 * characters. */
void EXPORT(mv_web_text)(void)
{
    const char *text = mv_web_texts();

    while (*text) {
        mv_input input = {.kind = MV_INPUT_TEXT};
        size_t length = strnlen(text, sizeof input.text - 1);
        while (length > 1 && ((uint8_t)text[length] & 0xc0) == 0x80)
            length--;
        memcpy(input.text, text, length);
        text += length;
        mv_web_give(&input);
    }
}

/* Handles the pointer. `what` is 0 if it moved, 1 if a button was pressed, 2 if a button was
 * released, and 3 if the pointer left the canvas. `button` is MouseEvent.button (0, 1 or 2). */
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

/* Handles the wheel. dx and dy are notches, as in MV_INPUT_WHEEL. */
void EXPORT(mv_web_wheel)(uint32_t mods, float x, float y, float dx, float dy)
{
    mv_input input = {
        .kind = MV_INPUT_WHEEL, .mods = (uint8_t)mods, .x = x, .y = y, .dx = dx, .dy = dy};

    mv_web_give(&input);
}

static bool is_in(mv_box box, float x, float y)
{
    return x >= box.x && x < box.x + box.w && y >= box.y && y < box.y + box.h;
}

/* Like mv_web_pointer, for a finger. In the picture, the finger drags like the middle button. In a
 * list, it scrolls. Everywhere else, it acts like the mouse. If the finger has not moved, lifting
 * it is a click. */
void EXPORT(mv_web_touch)(uint32_t what, uint32_t mods, uint32_t button, uint32_t clicks, float x,
                          float y)
{
    static enum { POINTS, RESTS, PANS, SCROLLS } finger;
    static float from_x, from_y;
    const mv_view *view = mv_web_view();
    float slack = 8 * view->ui.scale;
    bool has_moved = fabsf(x - from_x) > slack || fabsf(y - from_y) > slack;

    if (what == 1) {
        bool is_list = is_in(view->lower_box, x, y);
        finger = is_list || is_in(view->main_box, x, y) ? RESTS : POINTS;
        from_x = x;
        from_y = y;
    } else if (what == 0 && finger == RESTS && has_moved) {
        finger = is_in(view->lower_box, from_x, from_y) ? SCROLLS : PANS;
        if (finger == PANS)
            mv_web_pointer(1, 0, 1, 1, from_x, from_y);
    } else if (what == 2 && finger == RESTS) {
        mv_web_pointer(0, mods, 0, 1, x, y);
        mv_web_pointer(1, mods, 0, clicks, x, y);
    }
    if (finger == SCROLLS && what == 0) {
        mv_web_wheel(mods, from_x, from_y, 0, (y - from_y) / (3 * MV_UI_LINE * view->ui.scale));
        from_y = y;
    }
    if (finger == POINTS || finger == PANS || what == 3 || (what == 2 && finger == RESTS))
        mv_web_pointer(what, mods, finger == PANS ? 1 : button, clicks, x, y);
}
