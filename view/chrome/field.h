/* A line of text that the user edits: with a caret, a selection, and the pointer. */
#ifndef MV_FIELD_H
#define MV_FIELD_H

#include "view/frame/ui.h"
#include "view/state/user_input.h"

enum { MV_FIELD_TEXT = 1024 };

typedef struct {
    char text[MV_FIELD_TEXT]; /* UTF-8, NUL-terminated */
    uint32_t at;              /* the caret, in bytes; never inside a character */
    uint32_t anchor;          /* the other end of the selection; `at`: nothing is selected */
    mv_box box;               /* where its text was painted last */
} mv_field;

void mv_field_set(mv_field *field, const char *text);

/* Puts a text in the place of the selection, without control characters and what is not UTF-8;
 * characters that do not fit are left out. */
void mv_field_type(mv_field *field, const char *text);

void mv_field_select_all(mv_field *field);

/* Copies the selected text; false: nothing is selected. */
bool mv_field_selected(const mv_field *field, char out[MV_FIELD_TEXT]);

/* Types, deletes, moves the caret; with Shift it selects, with Ctrl it goes by words, and Ctrl+A
 * selects all. False: the field does not use the input. */
bool mv_field_input(mv_field *field, const mv_input *input);

/* Puts the caret where the pointer is; a press with Shift and a drag select up to there, a double
 * click selects a word. */
void mv_field_press(const mv_ui *ui, mv_field *field, const mv_input *input);
void mv_field_drag(const mv_ui *ui, mv_field *field, float x);

/* The field with its text, or `hint` when it is empty; with caret and selection when it has the
 * keyboard. */
void mv_field_paint(mv_ui *ui, mv_box box, mv_field *field, bool has_focus, const char *hint);

#endif
