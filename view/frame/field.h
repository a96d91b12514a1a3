/* An editable line of text, with a caret and a selection, that responds to keys and to the
 * pointer. */
#pragma once

#include "view/frame/ui.h"
#include "view/state/user_input.h"

enum { MV_FIELD_TEXT = 1024 };

typedef struct {
    char text[MV_FIELD_TEXT]; /* UTF-8, NUL-terminated */
    uint32_t at;              /* byte position of the caret, never inside a character */
    uint32_t anchor; /* the other end of the selection; if it equals `at`, nothing is selected */
    mv_box box;      /* box where the field's text was last painted */
} mv_text_field;

void mv_field_set(mv_text_field *field, const char *text);

/* Replaces the selection with `text`. Control characters and invalid UTF-8 are left out, and so are
 * characters that do not fit. */
void mv_field_type(mv_text_field *field, const char *text);

void mv_field_select_all(mv_text_field *field);

/* Copies the selected text. Returns false if nothing is selected. */
bool mv_field_selected(const mv_text_field *field, char out[MV_FIELD_TEXT]);

/* Handles typing, deleting and moving the caret. Shift selects, Ctrl moves by words, and Ctrl+A
 * selects everything. Returns false if the field does not use the input. */
bool mv_field_input(mv_text_field *field, const mv_input *input);

/* Puts the caret at the pointer. Shift+press and dragging select up to the pointer; a double click
 * selects a word. */
void mv_field_press(const mv_ui *ui, mv_text_field *field, const mv_input *input);
void mv_field_drag(const mv_ui *ui, mv_text_field *field, float x);

/* Paints the field with its text, or with `hint` if it is empty. A field with the keyboard focus
 * also shows its caret and selection. */
void mv_field_paint(mv_ui *ui, mv_box box, mv_text_field *field, bool has_focus, const char *hint);
