/* An editable line of text: with a caret, a selection, and the pointer. */
#ifndef MV_TEXT_FIELD_H
#define MV_TEXT_FIELD_H

#include "view/frame/ui.h"
#include "view/state/user_input.h"

enum { MV_FIELD_TEXT = 1024 };

typedef struct {
    char text[MV_FIELD_TEXT]; /* UTF-8, NUL-terminated */
    uint32_t at;              /* the caret, in bytes; never inside a character */
    uint32_t anchor; /* the other end of the selection; equal to `at`: nothing is selected */
    mv_box box;      /* where its text was last painted */
} mv_text_field;

void mv_field_set(mv_text_field *field, const char *text);

/* Replaces the selection with a text, without control characters and invalid UTF-8; characters that
 * do not fit are omitted. */
void mv_field_type(mv_text_field *field, const char *text);

void mv_field_select_all(mv_text_field *field);

/* Copies the selected text; false: nothing is selected. */
bool mv_field_selected(const mv_text_field *field, char out[MV_FIELD_TEXT]);

/* Types, deletes, moves the caret; Shift selects, Ctrl moves by words, and Ctrl+A selects all.
 * False: the field does not use the input. */
bool mv_field_input(mv_text_field *field, const mv_input *input);

/* Puts the caret at the pointer; Shift+press and a drag select up to there, a double click selects
 * a word. */
void mv_field_press(const mv_ui *ui, mv_text_field *field, const mv_input *input);
void mv_field_drag(const mv_ui *ui, mv_text_field *field, float x);

/* The field with its text, or `hint` if it is empty; with caret and selection if it has the
 * keyboard. */
void mv_field_paint(mv_ui *ui, mv_box box, mv_text_field *field, bool has_focus, const char *hint);

#endif
