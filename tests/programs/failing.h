/* When preloaded into a program, this library runs the program many times and makes one call fail
 * in each run: the first call in the first run, the second in the second, and so on to the last
 * call. The program is started once and forked before its main(), so thousands of runs take only
 * seconds.
 *
 *     LD_PRELOAD=failing.so MEMVIZ_FAULT=memory=ENOMEM MEMVIZ_FAULT_FOLDER=/tmp/x memviz leaks F
 *
 * prints the results of the runs on standard output:
 *
 *     runs 812 failed 790 same 22 others 0
 *
 * and then a line for each of the first runs with a wrong result. A result is right if the output,
 * files and status are those of the run without a fault. It is also right if the status is 1,
 * standard error has one line, standard output has only what had been written before a failed
 * write, and no file in the folder was made, lost or changed.
 *
 * MEMVIZ_FAULT         CALLS=ERROR; with a + at the end all calls from the nth on fail
 *   CALLS              memory (malloc, mmap, ...), thread, and groups of system calls: read, write,
 *                      open, stat, close, file (rename, fsync, fallocate, ...)
 *   ERROR              ENOMEM, EIO, ENOSPC, EPIPE (with its signal), EMFILE, EACCES, EAGAIN; EINTR
 *                      for reads, and SHORT (1 to 7 bytes are read or written), after which the
 *                      result must be the same
 *                      SIGTERM comes before the call, which does not fail: the files are those
 *                      before the run or those after it
 * MEMVIZ_FAULT_FOLDER  an empty folder, in which the runs have their folder `run`. Without it the
 *                      program runs once, and its call FIRST of MEMVIZ_FAULT_RUNS fails: for a
 *                      debugger
 * MEMVIZ_FAULT_RUNS    FIRST:LAST:STEP of n; LAST 0: until there are no more calls
 * MEMVIZ_FAULT_OLD     a file that each run finds in its folder
 * MEMVIZ_FAULT_BESIDE  a shell command that runs alongside each run, with its process in $RUN and
 *                      its standard output in the file ../out
 * MEMVIZ_FAULT_LOOSE   the bytes of outputs are not compared, because they contain the time
 * MEMVIZ_FAULT_KEEPS   a run that fails may still have written its report, which names the files
 *                      that could not be read
 * MEMVIZ_FAULT_LINES   most lines of a run that fails: one for each file that it reads or writes
 * MEMVIZ_FAULT_TARGET  the program starts another one: a failure has a line, and the status may be
 *                      the other program's
 *
 * Seccomp intercepts system calls, including libc's own. Writes to standard error never fail, so
 * there is always a line to check. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

typedef struct {
    atomic_long calls;    /* calls made so far, by all processes of a run */
    atomic_long hits;     /* calls that were made to fail */
    atomic_int of_output; /* standard output failed, so it may contain only part of the output */
} fault_counts;

typedef enum { FAULT_MEMORY, FAULT_THREAD, FAULT_SYSTEM } fault_kind;

typedef struct {
    fault_kind kind;
    const char *group; /* the group of system calls */
    int error;         /* FAULT_SHORT, FAULT_SIGTERM, or an errno */
    bool and_after;
    long n;        /* the nth call fails; 0: none fails */
    bool is_armed; /* calls are being counted */
    fault_counts *counts;
} fault_plan;

enum { FAULT_SHORT = -1, FAULT_SIGTERM = -2 };

extern fault_plan fault;

/* Counts a call, and returns whether it must fail. */
bool fault_is_due(void);

/* Starts intercepting the group's system calls, in this process and its children. Returns false if
 * that is not possible. */
bool fault_meet_calls(void);
