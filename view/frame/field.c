#include "view/frame/field.h"

#include <ctype.h>

#include "base/utf8.h"

/* ---- characters and words ---------------------------------------------------------------- */

static uint32_t before(const mv_text_field *field, uint32_t at)
{
    if (at > 0)
        at--;
    while (at > 0 && mv_utf8_is_tail(field->text[at]))
        at--;
    return at;
}

static uint32_t next_start(const mv_text_field *field, uint32_t at)
{
    if (field->text[at])
        at++;
    while (mv_utf8_is_tail(field->text[at]))
        at++;
    return at;
}

/* Whether a byte belongs to a word: letters in names, and in languages other than English. */
static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static uint32_t word_before(const mv_text_field *field, uint32_t at)
{
    while (at > 0 && !is_word(field->text[at - 1]))
        at--;
    while (at > 0 && is_word(field->text[at - 1]))
        at--;
    return at;
}

static uint32_t word_after(const mv_text_field *field, uint32_t at)
{
    while (field->text[at] && !is_word(field->text[at]))
        at++;
    while (field->text[at] && is_word(field->text[at]))
        at++;
    return at;
}

/* ---- text -------------------------------------------------------------------------------- */

static uint32_t first_of(const mv_text_field *field)
{
    return field->at < field->anchor ? field->at : field->anchor;
}

static uint32_t end_of(const mv_text_field *field)
{
    return field->at > field->anchor ? field->at : field->anchor;
}

static void erase(mv_text_field *field, uint32_t from, uint32_t to)
{
    memmove(field->text + from, field->text + to, strlen(field->text + to) + 1);
    field->at = field->anchor = from;
}

void mv_field_set(mv_text_field *field, const char *text)
{
    field->text[0] = '\0';
    field->at = field->anchor = 0;
    mv_field_type(field, text);
}

void mv_field_type(mv_text_field *field, const char *text)
{
    size_t length;

    erase(field, first_of(field), end_of(field));
    length = strlen(field->text);
    while (*text) {
        const char *from = text;
        uint32_t code = mv_utf8_next_at(&text), bytes = (uint32_t)(text - from);
        bool is_wanted = code != MV_UTF8_BAD && !mv_utf8_is_hidden(code);
        if (is_wanted && length + bytes < sizeof field->text) {
            memmove(field->text + field->at + bytes, field->text + field->at,
                    length - field->at + 1);
            memcpy(field->text + field->at, from, bytes);
            field->at += bytes;
            length += bytes;
        }
    }
    field->anchor = field->at;
}

void mv_field_select_all(mv_text_field *field)
{
    field->anchor = 0;
    field->at = (uint32_t)strlen(field->text);
}

bool mv_field_selected(const mv_text_field *field, char out[MV_FIELD_TEXT])
{
    uint32_t from = first_of(field), length = end_of(field) - from;

    memcpy(out, field->text + from, length);
    out[length] = '\0';
    return length > 0;
}

/* ---- keys -------------------------------------------------------------------------------- */

/* Finds the caret's new position after a key. Returns false if the key does not move the caret. */
static bool target_of(const mv_text_field *field, const mv_input *input, uint32_t *at)
{
    bool by_word = input->mods & MV_MOD_CTRL;
    bool collapses = field->at != field->anchor && !(input->mods & MV_MOD_SHIFT) && !by_word;

    switch (input->key) {
    case MV_KEY_LEFT:
        *at = collapses ? first_of(field)
              : by_word ? word_before(field, field->at)
                        : before(field, field->at);
        return true;
    case MV_KEY_RIGHT:
        *at = collapses ? end_of(field)
              : by_word ? word_after(field, field->at)
                        : next_start(field, field->at);
        return true;
    case MV_KEY_HOME:
        *at = 0;
        return true;
    case MV_KEY_END:
        *at = (uint32_t)strlen(field->text);
        return true;
    default:
        return false;
    }
}

/* Handles Backspace and Delete. Removes the selection, or if nothing is selected, a character or a
 * word. */
static void erase_by_key(mv_text_field *field, bool is_back, bool by_word)
{
    uint32_t at = field->at;

    if (field->at != field->anchor)
        erase(field, first_of(field), end_of(field));
    else if (is_back)
        erase(field, by_word ? word_before(field, at) : before(field, at), at);
    else
        erase(field, at, by_word ? word_after(field, at) : next_start(field, at));
}

bool mv_field_input(mv_text_field *field, const mv_input *input)
{
    bool is_ctrl = input->mods & MV_MOD_CTRL;
    uint32_t at;

    if (input->kind == MV_INPUT_TEXT) {
        mv_field_type(field, input->text);
        return true;
    }
    if (input->kind != MV_INPUT_KEY || input->mods & MV_MOD_ALT)
        return false;
    if (target_of(field, input, &at)) {
        field->at = at;
        if (!(input->mods & MV_MOD_SHIFT))
            field->anchor = at;
        return true;
    }
    if (input->key == MV_KEY_BACKSPACE || input->key == MV_KEY_DELETE) {
        erase_by_key(field, input->key == MV_KEY_BACKSPACE, is_ctrl);
        return true;
    }
    if (input->mods != MV_MOD_CTRL || (input->key != 'A' && input->key != 'U'))
        return false;
    if (input->key == 'A')
        mv_field_select_all(field);
    else
        erase(field, 0, field->at);
    return true;
}

/* ---- painting and the pointer -------------------------------------------------------------- */

static float width_of(const mv_ui *ui, const mv_text_field *field, uint32_t from, uint32_t to)
{
    char part[MV_FIELD_TEXT];

    memcpy(part, field->text + from, to - from);
    part[to - from] = '\0';
    return mv_ui_text_width(ui, MV_UI_TEXT, part);
}

/* Returns the first visible byte of the text, which is chosen so that the caret is inside the
 * box. */
static uint32_t visible_from(const mv_ui *ui, const mv_text_field *field)
{
    uint32_t from = 0;

    while (from < field->at && width_of(ui, field, from, field->at) > field->box.w)
        from = next_start(field, from);
    return from;
}

/* Returns the byte whose left edge is nearest to x. */
static uint32_t at_x(const mv_ui *ui, const mv_text_field *field, float x)
{
    uint32_t from = visible_from(ui, field), at = from;

    while (field->text[at]) {
        uint32_t next = next_start(field, at);
        float left = width_of(ui, field, from, at), right = width_of(ui, field, from, next);
        if (x - field->box.x < (left + right) / 2)
            break;
        at = next;
    }
    return at;
}

void mv_field_drag(const mv_ui *ui, mv_text_field *field, float x)
{
    field->at = at_x(ui, field, x);
}

void mv_field_press(const mv_ui *ui, mv_text_field *field, const mv_input *input)
{
    uint32_t at = at_x(ui, field, input->x);

    field->at = at;
    if (!(input->mods & MV_MOD_SHIFT))
        field->anchor = at;
    if (input->clicks < 2)
        return;
    while (field->anchor > 0 && is_word(field->text[field->anchor - 1]))
        field->anchor--;
    while (field->text[field->at] && is_word(field->text[field->at]))
        field->at++;
}

static void paint_selection(mv_ui *ui, mv_box box, const mv_text_field *field, uint32_t from)
{
    uint32_t first = first_of(field) > from ? first_of(field) : from, end = end_of(field);
    float x, right = field->box.x + field->box.w;

    if (end <= first)
        return;
    x = field->box.x + width_of(ui, field, from, first);
    right =
        right < x + width_of(ui, field, first, end) ? right : x + width_of(ui, field, first, end);
    mv_ui_fill(ui, (mv_box){x, box.y + mv_ui_px(ui, 3), right - x, box.h - mv_ui_px(ui, 6)},
               ui->theme->grid);
}

static void paint_caret(mv_ui *ui, mv_box box, const mv_text_field *field, uint32_t from)
{
    float x = field->box.x + width_of(ui, field, from, field->at);

    ui->caret = (mv_box){x, box.y + mv_ui_px(ui, 4), mv_ui_px(ui, 1), box.h - mv_ui_px(ui, 8)};
    mv_ui_fill(ui, ui->caret, ui->theme->text);
}

void mv_field_paint(mv_ui *ui, mv_box box, mv_text_field *field, bool has_focus, const char *hint)
{
    const mv_theme *theme = ui->theme;
    float pad = mv_ui_px(ui, 6);
    uint32_t from;

    field->box = (mv_box){box.x + pad, box.y, box.w - 2 * pad, box.h};
    from = has_focus ? visible_from(ui, field) : 0;
    mv_ui_fill(ui, box, theme->plot);
    mv_ui_frame(ui, box, has_focus ? mv_site_colour(0) : theme->grid);
    if (!*field->text)
        mv_ui_text(ui, field->box, MV_UI_TEXT, theme->faint_text, MV_ANCHOR_START, hint);
    if (has_focus)
        paint_selection(ui, box, field, from);
    mv_ui_text(ui, field->box, MV_UI_TEXT, theme->text, MV_ANCHOR_START, field->text + from);
    if (has_focus)
        paint_caret(ui, box, field, from);
}
