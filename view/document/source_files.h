/* The source files of the recorded program, where they are on this machine: a table of functions,
 * which only the window has. A page and pictures have none. */
#ifndef MV_SOURCE_FILES_H
#define MV_SOURCE_FILES_H

#include <stdbool.h>
#include <stdint.h>

enum { MV_SOURCE_LINE = 200, MV_SOURCE_WHY = 200 };

typedef struct {
    /* The text of a line as it is in the file now, without the blanks around it: "" if there is no
     * such file or line, or if it is not text. The text lives until the next call. One thread at a
     * time; reads a file once. */
    const char *(*line)(const char *path, int64_t number);
    /* Starts the editor that VISUAL or EDITOR names, with its words as they are and no shell. Does
     * not wait for it. False: `why` says what is missing. */
    bool (*edit)(const char *path, int64_t number, char why[MV_SOURCE_WHY]);
} mv_source_files;

/* The disk (view/sdl/disk_sources.c). */
extern const mv_source_files mv_disk_sources;

#endif
