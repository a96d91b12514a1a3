#include "view/chrome/field.h"

#include <string.h>

#include "base/utf8.h"

void mv_field_set(mv_field *field, const char *text)
{
    *field = (mv_field){0};
    mv_field_type(field, text);
}

static uint32_t before(const mv_field *field, uint32_t at)
{
    if (at > 0)
        at--;
    while (at > 0 && mv_utf8_is_tail(field->text[at]))
        at--;
    return at;
}

static uint32_t next_start(const mv_field *field, uint32_t at)
{
    if (field->text[at])
        at++;
    while (mv_utf8_is_tail(field->text[at]))
        at++;
    return at;
}

void mv_field_type(mv_field *field, const char *text)
{
    for (; *text; text++) {
        size_t length = strlen(field->text);
        if ((unsigned char)*text < ' ' || *text == 127 || length + 1 >= sizeof field->text)
            continue;
        memmove(field->text + field->at + 1, field->text + field->at, length - field->at + 1);
        field->text[field->at++] = *text;
    }
}

static void erase(mv_field *field, uint32_t from, uint32_t to)
{
    memmove(field->text + from, field->text + to, strlen(field->text + to) + 1);
    field->at = from;
}

/* The beginning of the word before the caret. */
static uint32_t word_before(const mv_field *field)
{
    uint32_t at = field->at;

    while (at > 0 && field->text[at - 1] == ' ')
        at--;
    while (at > 0 && field->text[at - 1] != ' ' && field->text[at - 1] != '/')
        at--;
    return at < field->at ? at : before(field, field->at);
}

bool mv_field_input(mv_field *field, const mv_input *input)
{
    uint32_t length = (uint32_t)strlen(field->text);
    bool is_ctrl = input->mods & MV_MOD_CTRL;

    if (input->kind == MV_INPUT_TEXT) {
        mv_field_type(field, input->text);
        return true;
    }
    if (input->kind != MV_INPUT_KEY || input->mods & MV_MOD_ALT)
        return false;
    switch (input->key) {
    case MV_KEY_BACKSPACE:
        erase(field, is_ctrl ? word_before(field) : before(field, field->at), field->at);
        return true;
    case MV_KEY_DELETE:
        erase(field, field->at, next_start(field, field->at));
        return true;
    case MV_KEY_LEFT:
        field->at = is_ctrl ? word_before(field) : before(field, field->at);
        return true;
    case MV_KEY_RIGHT:
        field->at = next_start(field, field->at);
        return true;
    case MV_KEY_HOME:
        field->at = 0;
        return true;
    case MV_KEY_END:
        field->at = length;
        return true;
    case 'U':
        if (is_ctrl)
            erase(field, 0, field->at);
        return is_ctrl;
    default:
        return false;
    }
}

/* The first byte of the part of the text that is shown, so that the caret is within `width`. */
static const char *visible(mv_ui *ui, const mv_field *field, float width)
{
    uint32_t from = 0;
    const char *head = mv_arena_text(ui->frame, field->text, field->at);

    while (head && head[from] && mv_ui_text_width(ui, MV_UI_TEXT, head + from) > width)
        from = next_start(field, from);
    return field->text + from;
}

void mv_field_paint(mv_ui *ui, mv_box box, const mv_field *field, bool has_focus, const char *hint)
{
    const mv_theme *theme = ui->theme;
    float pad = mv_ui_px(ui, 6);
    mv_box inner = {box.x + pad, box.y, box.w - 2 * pad, box.h};

    mv_ui_fill(ui, box, theme->plot);
    mv_ui_frame(ui, box, has_focus ? mv_site_colour(0) : theme->grid);
    if (!*field->text && !has_focus)
        mv_ui_text(ui, inner, MV_UI_TEXT, theme->faint_text, MV_ANCHOR_START, hint);
    if (has_focus) {
        const char *from = visible(ui, field, inner.w);
        const char *head = mv_arena_text(ui->frame, from, field->at - (from - field->text));
        float x = inner.x + (head ? mv_ui_text_width(ui, MV_UI_TEXT, head) : 0);
        mv_ui_text(ui, inner, MV_UI_TEXT, theme->text, MV_ANCHOR_START, from);
        mv_ui_fill(ui,
                   (mv_box){x, box.y + mv_ui_px(ui, 4), mv_ui_px(ui, 1), box.h - mv_ui_px(ui, 8)},
                   theme->text);
    } else if (*field->text) {
        mv_ui_text(ui, inner, MV_UI_TEXT, theme->text, MV_ANCHOR_START, field->text);
    }
}
