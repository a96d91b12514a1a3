/* The dialogue for opening a file, which consists of a field and the files that match its text.
 *
 *     runs/gp            names in runs/ that begin with "gp"; .. goes up
 *     (empty)            recent files, then the working directory
 *
 * Tab completes the text; the arrows and Enter choose a row. Choosing a folder enters it. */
#pragma once

#include "view/document/file_system.h"
#include "view/frame/field.h"
#include "view/frame/view.h"

typedef enum { MV_OPEN_UP, MV_OPEN_RECENT, MV_OPEN_ENTRY } mv_open_kind;

typedef struct {
    uint8_t kind;               /* mv_open_kind */
    const mv_file_entry *entry; /* file or folder of the row; NULL for MV_OPEN_UP */
} mv_open_row;

typedef struct {
    mv_text_field field;
    mv_arena arena; /* memory for the rows */
    bool is_read;   /* the rows match the field's text */
    bool is_chosen; /* the user selected a row with an arrow key, so Enter uses the row instead of
                       the text */
    bool is_unreadable;
    char folder[MV_FIELD_TEXT]; /* the part of the text up to its last slash, with ~ expanded */
    uint32_t count;
    mv_open_row *rows; /* [count] */
} mv_open_dialogue;

/* Finds the rows again if the text was changed (is_read is false). */
void mv_open_rows(mv_open_dialogue *open, const mv_file_system *files);

/* Writes the path of a row to `path`. */
void mv_open_path(const mv_open_dialogue *open, uint32_t row, char path[MV_FILE_PATH]);

/* Completes the field's text to the longest prefix that all matching rows share. If only one folder
 * matches, a slash is added. */
void mv_open_complete(mv_open_dialogue *open, const mv_file_system *files);

void mv_open_paint(mv_view *view, mv_box box);
