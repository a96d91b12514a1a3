/* The files of a page: names and bytes in memory, in one folder. The C library's open, read, fopen
 * and so on reach them; so do standard output and the error output, which are files too.
 *
 *     JavaScript ──► mv_file_new ──► bytes ──► "/train.pickle" ──► the readers, without a copy
 *     reports    ──► "/-out"     ──► mv_file_find ──► JavaScript */
#ifndef MV_WEB_FILES_H
#define MV_WEB_FILES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    char name[256]; /* without a slash; "": the place is free */
    uint8_t *bytes; /* [room] */
    uint64_t length, room;
    uint32_t opened; /* descriptors */
} mv_file;

#define MV_FILE_OUT    "-out" /* standard output */
#define MV_FILE_ERRORS "-errors"

/* A file of `length` bytes, whose content the caller writes; it replaces one of that name. NULL: no
 * memory, too many files, or one of that name is being read. */
mv_file *mv_file_new(const char *name, uint64_t length);

/* NULL: there is none. */
mv_file *mv_file_find(const char *name);

/* Gives its memory back; a file that is open stays. */
void mv_file_remove(const char *name);

/* The file of that name, which is made if need be; NULL: too many, or no name. */
mv_file *mv_file_named(const char *name);

/* Room for at least that many bytes. */
bool mv_file_room(mv_file *file, uint64_t room);

/* The file of a descriptor; NULL: none. */
mv_file *mv_file_of(int descriptor);

#endif
