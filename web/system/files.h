/* A page's files. All of them are in one folder. The browser provides the bytes of the user's files
 * on demand, while files that the program writes are kept in memory. The C library's open, read,
 * fopen and so on work on these files. Standard output and standard error are files too.
 *
 *     JavaScript ──► mv_file_new ──► "/train.pickle" ──► the readers ──► page.read, some bytes
 *     reports    ──► "/-out"     ──► mv_file_find ──► JavaScript */
#ifndef MV_WEB_FILES_H
#define MV_WEB_FILES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    char name[256]; /* without a slash; "": the slot is free */
    uint8_t *bytes; /* [room] the file's bytes; NULL: the browser has them, or the file is empty */
    uint64_t length, room;
    uint32_t opened; /* descriptors */
    bool is_outside; /* the browser has the file's bytes */
} mv_file;

#define MV_FILE_OUT    "-out" /* standard output */
#define MV_FILE_ERRORS "-errors"
#define MV_FILE_PAGE   "-page" /* the source of the page, without a snapshot */

/* Adds a file of `length` bytes, which replaces any file with the same name. Returns the number
 * under which the browser keeps the bytes; 0: there are too many files, or a file with that name is
 * being read. */
uint32_t mv_file_new(const char *name, uint64_t length);

/* Reads bytes of a file, starting at `at`. At the end of the file, *got is less than `wanted`.
 * Returns false if the browser cannot read the file. */
bool mv_file_read(const mv_file *file, uint64_t at, void *to, uint32_t wanted, uint32_t *got);

/* Returns the file with that name; NULL: there is none. */
mv_file *mv_file_find(const char *name);

/* Removes a file and frees its memory. Does nothing if the file is open. */
void mv_file_remove(const char *name);

/* Returns the file with that name, which is created if it is missing; NULL: there are too many
 * files, or the name is empty. */
mv_file *mv_file_named(const char *name);

/* Makes room for at least `room` bytes. Returns false when out of memory. */
bool mv_file_room(mv_file *file, uint64_t room);

#endif
