/* The program run in this process, for fuzz targets: no process is started, and what it reads and
 * writes is in memory.
 *
 *     mvt_ran r;
 *     mvt_memory_file("in", (mv_span){data, size});
 *     r = mvt_program("peak --json in", NULL);       what it printed: until the next run
 *
 * The program works in a folder in memory (/dev/shm), so names of files are short; the folder goes
 * when the process ends. Standard output and error are texts in memory. After each run the process
 * must have as many open descriptors as before. */
#ifndef MV_IN_PROCESS_H
#define MV_IN_PROCESS_H

#include "base/cursor.h"
#include "cli/input/kept_files.h"
#include "tests/fuzz/private_folder.h"

/* Words of a command line, also those that a target reads from its input. */
#define MVT_MOST_WORDS 64

typedef struct {
    int status;
    mv_span out, err; /* each ends in a NUL that is not counted */
} mvt_ran;

/* Runs memviz with these words. Standard input is `in`. `kept` keeps what is read for later runs;
 * NULL: nothing is kept. */
mvt_ran mvt_program_words(const char *const *words, int count, mv_span in, mv_kept_files *kept);

/* The same for words with a space between, and an empty standard input. */
mvt_ran mvt_program(const char *words, mv_kept_files *kept);

/* Its path. */
const char *mvt_memory_folder(void);

/* A file of the folder (private_folder.h). */
void mvt_memory_file(const char *name, mv_span bytes);

/* Copies a file of testdata/ into the folder, if it is not there. */
void mvt_memory_copy(const char *name, const char *from);

/* Removes every file of the folder that was not put there by the two functions above, and puts
 * those back that have changed. Returns how many were not as they should be. */
unsigned mvt_memory_tidy(void);

/* Says what is wrong, with the command line that ran last, and aborts. */
void mvt_stop(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
