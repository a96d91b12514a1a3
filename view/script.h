/* Scripts for the viewer. Each line is a user action or an expected result.
 *
 *     open train.pickle             a file, as on the command line
 *     drop rank1.pickle             a file, dropped on the window
 *     size 1280 720                 pixels, at most 16384
 *     key Ctrl+F                    as in commands.def; `key . 10` ten times, at most 10000
 *     text size>64M                 typed
 *     move 640 300                  the pointer
 *     click 640 300  click "Tables" there, or on a visible text; also `double`
 *     drag 200 300 600 300          with the left button; `pan` with the middle one
 *     wheel 640 300 3               notches, up is positive
 *     do zoom_in  do table_kind 2   a command, by its name
 *     wait idle                     until all threads are done and nothing moves
 *     shot name.png                 the picture, through opts->shot
 *     dump                          the scene as text, to opts->dump
 *     expect text WORDS             some visible text contains these words; `expect no`: no text does
 *     expect status WORDS           some text in the status bar contains these words
 *     expect hits 12                the search matches this many allocations
 *     expect selection WORDS        the label of the pinned allocation's stack contains these words; or `none`
 *     expect cursor 1234            the cursor is after that event
 *     expect inputs 5               at most this many inputs were needed so far
 *     # a comment
 *
 * Each of key, text, click, double, drag, pan, wheel, do and drop counts as one input. A key with a
 * count counts as that many inputs. `move` does not count. */
#pragma once

#include "view/frame/view.h"

typedef struct {
    float width, height; /* initial size in pixels; 0: 1280 x 720 */
    const char *folder;  /* folder that contains the files to open; NULL: the working directory */
    /* Writes a picture. If it returns false, with a sentence in `why`, the script ends. NULL: shots
     * are ignored. */
    bool (*shot)(void *user, const char *name, const mv_scene *scene, char *why, size_t size);
    void *user;
    FILE *dump; /* where dumps are written; NULL: dumps are ignored */
} mv_script_opts;

enum { MV_SCRIPT_WHY = 512 };

typedef struct {
    uint32_t line;   /* line that failed, counted from 1; 0: none */
    uint32_t inputs; /* number of inputs so far */
    char why[MV_SCRIPT_WHY];
} mv_script_result;

/* Runs a script to its end, or up to the first line that fails. Returns false if a line fails. */
bool mv_script_run(mv_view *view, const char *text, const mv_script_opts *opts,
                   mv_script_result *result);
