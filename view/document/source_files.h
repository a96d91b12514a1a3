/* Access to the source files of the recorded program that exist on this machine. It is a table of
 * functions, which only the window provides. Web pages and pictures have no such access. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { MV_SOURCE_LINE = 200, MV_SOURCE_WHY = 200 };

typedef struct {
    /* Returns a line of the file as it is now, without the blanks around it; "" if there is no such
     * file or line, or if the file is not text. The string is valid until the next call. May be
     * called by only one thread at a time. Each file is read once. */
    const char *(*line)(const char *path, int64_t number);
    /* Starts the editor given in VISUAL or EDITOR, whose words are passed unchanged and without a
     * shell. Does not wait for the editor. If it returns false, `why` has the reason. */
    bool (*edit)(const char *path, int64_t number, char why[MV_SOURCE_WHY]);
} mv_source_files;

/* Functions that access the disk (view/sdl/disk_sources.c). */
extern const mv_source_files mv_disk_sources;
