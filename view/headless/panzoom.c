#include "view/headless/panzoom.h"

static void press_key(mv_view *view, uint32_t key, uint8_t mods)
{
    mv_view_input(view, &(mv_input){.kind = MV_INPUT_KEY, .key = key, .mods = mods});
    mv_view_input(view, &(mv_input){.kind = MV_INPUT_KEY_UP, .key = key, .mods = mods});
}

static void type(mv_view *view, const char *text)
{
    for (; *text; text++) {
        mv_input input = {.kind = MV_INPUT_TEXT, .text = {*text}};
        mv_view_input(view, &input);
    }
}

/* Moves the pointer to a fraction of the timeline's width and height. */
static void move_to(mv_view *view, double x, double y)
{
    mv_box box = view->main_box;

    mv_view_input(view, &(mv_input){.kind = MV_INPUT_MOVE,
                                    .x = box.x + box.w * (float)x,
                                    .y = box.y + box.h * (float)y});
}

static void turn_wheel(mv_view *view, float notches)
{
    mv_view_input(view, &(mv_input){.kind = MV_INPUT_WHEEL,
                                    .dy = notches,
                                    .x = view->ui.pointer_x,
                                    .y = view->ui.pointer_y});
}

/* Zooms in. Zooming moves everything that is not exactly below the pointer, so the peak is moved
 * back from time to time. */
static void dive(mv_view *view, uint32_t step)
{
    if (step % 24 == 0)
        press_key(view, 'P', MV_MOD_SHIFT);
    if (step % 24 == 1)
        move_to(view, 0.5, 0.4);
    if (step % 2 == 1)
        turn_wheel(view, 1);
}

static void pan(mv_view *view, uint32_t step, uint32_t steps)
{
    if (step % 6 == 0)
        press_key(view, step < steps / 2 ? 'D' : 'A', 0);
    move_to(view, 0.2 + 0.6 * (step % 40) / 40, 0.5);
}

static void scrub(mv_view *view, uint32_t step, uint32_t steps)
{
    if (step < steps / 3) {
        turn_wheel(view, step % 3 == 0 ? -1 : 0);
        return;
    }
    press_key(view, '.', step % 2 ? MV_MOD_SHIFT : 0);
    move_to(view, 0.1 + 0.8 * step / steps, 0.6);
}

static void search(mv_view *view, uint32_t step, uint32_t steps)
{
    if (step == 0) {
        press_key(view, '/', 0);
        type(view, "size>1M");
    }
    if (step == steps / 3)
        press_key(view, MV_KEY_ENTER, 0);
    if (step == steps / 2) {
        press_key(view, MV_KEY_ESCAPE, 0); /* closes the field, but keeps the search */
        press_key(view, 'I', 0);
    }
    if (step == steps * 3 / 4)
        press_key(view, 'H', 0);
    if (step + 1 == steps)
        for (int i = 0; i < 3; i++)
            press_key(view, MV_KEY_ESCAPE, 0);
}

static void leave(mv_view *view, uint32_t step, uint32_t steps)
{
    if (step + 1 < steps)
        turn_wheel(view, -1);
    else
        press_key(view, '0', 0);
}

void mv_panzoom_step(mv_view *view, uint32_t frame, uint32_t frames)
{
    static const uint32_t begins[] = {0, 5, 35, 55, 75, 85, 100};
    uint32_t part = 0, begin, steps;

    while (part < 5 && frame >= (uint64_t)frames * begins[part + 1] / 100)
        part++;
    begin = (uint32_t)((uint64_t)frames * begins[part] / 100);
    steps = (uint32_t)((uint64_t)frames * begins[part + 1] / 100) - begin;
    frame -= begin;
    switch (part) {
    case 0:
        move_to(view, 0.3 + 0.4 * frame / steps, 0.5);
        return;
    case 1:
        dive(view, frame);
        return;
    case 2:
        pan(view, frame, steps);
        return;
    case 3:
        scrub(view, frame, steps);
        return;
    case 4:
        search(view, frame, steps);
        return;
    default:
        leave(view, frame, steps);
    }
}
