/* The source files of the recorded program that exist on this machine: a table of functions, which
 * only the window provides, not pages and pictures. */
#ifndef MV_SOURCE_FILES_H
#define MV_SOURCE_FILES_H

#include <stdbool.h>
#include <stdint.h>

enum { MV_SOURCE_LINE = 200, MV_SOURCE_WHY = 200 };

typedef struct {
    /* The text of a line in the current file, without the blanks around it: "" if there is no such
     * file or line, or if the file is not text. The text lives until the next call. One thread at a
     * time; reads a file once. */
    const char *(*line)(const char *path, int64_t number);
    /* Starts the editor in VISUAL or EDITOR, whose words are passed unchanged and without a shell.
     * Does not wait for the editor. False: `why` has the reason. */
    bool (*edit)(const char *path, int64_t number, char why[MV_SOURCE_WHY]);
} mv_source_files;

/* The disk (view/sdl/disk_sources.c). */
extern const mv_source_files mv_disk_sources;

#endif
