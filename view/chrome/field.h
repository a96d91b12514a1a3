/* A line of text that the user edits. */
#ifndef MV_FIELD_H
#define MV_FIELD_H

#include "view/frame/ui.h"
#include "view/state/user_input.h"

enum { MV_FIELD_TEXT = 1024 };

typedef struct {
    char text[MV_FIELD_TEXT]; /* UTF-8, NUL-terminated */
    uint32_t at;              /* the caret, in bytes; never inside a character */
} mv_field;

void mv_field_set(mv_field *field, const char *text);

/* Inserts a text at the caret, without control characters; what does not fit is left out. */
void mv_field_type(mv_field *field, const char *text);

/* Types, deletes, moves the caret. False: the field does not use the input. */
bool mv_field_input(mv_field *field, const mv_input *input);

/* The field with its text, or `hint` when it is empty; with the caret when it has the keyboard. */
void mv_field_paint(mv_ui *ui, mv_box box, const mv_field *field, bool has_focus, const char *hint);

#endif
