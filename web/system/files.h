/* The files of a page, in one folder: the user's files, whose bytes the browser provides on demand,
 * and written files, in memory. The C library's open, read, fopen and so on use them; so do
 * standard output and standard error, which are files, too.
 *
 *     JavaScript ──► mv_file_new ──► "/train.pickle" ──► the readers ──► page.read, some bytes
 *     reports    ──► "/-out"     ──► mv_file_find ──► JavaScript */
#ifndef MV_WEB_FILES_H
#define MV_WEB_FILES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    char name[256]; /* without a slash; "": the slot is free */
    uint8_t *bytes; /* [room]; NULL: the browser has them, or there are none */
    uint64_t length, room;
    uint32_t opened; /* descriptors */
    bool is_outside; /* its bytes are in the browser */
} mv_file;

#define MV_FILE_OUT    "-out" /* standard output */
#define MV_FILE_ERRORS "-errors"
#define MV_FILE_PAGE   "-page" /* the source of the page, without a snapshot */

/* Adds a file of `length` bytes, which the browser keeps under the returned number; it replaces a
 * file of the same name. 0: too many files, or a file of that name is being read. */
uint32_t mv_file_new(const char *name, uint64_t length);

/* Bytes of a file from `at` on; fewer than requested at its end. False: the browser cannot read
 * it. */
bool mv_file_read(const mv_file *file, uint64_t at, void *to, uint32_t wanted, uint32_t *got);

/* NULL: there is none. */
mv_file *mv_file_find(const char *name);

/* Frees its memory; a file that is open stays. */
void mv_file_remove(const char *name);

/* The file of that name, created if missing; NULL: too many files, or no name. */
mv_file *mv_file_named(const char *name);

/* Room for at least that many bytes. */
bool mv_file_room(mv_file *file, uint64_t room);

#endif
