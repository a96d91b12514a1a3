/* Messages: one line on standard error each, "memviz: WHAT: ...". */
#ifndef MV_COMPLAIN_H
#define MV_COMPLAIN_H

#include "base/err.h"

#include <stdbool.h>

/* "memviz: FILE: byte 1234: input ends inside a record: event 812". `file` may be NULL.
 * Returns the status of a failure. */
int mv_complain(const char *file, const mv_err *err);

/* Reports a failure that has no error code: "memviz: FILE: SENTENCE". */
int mv_complain_of(const char *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reports wrong usage: "memviz: COMMAND: SENTENCE (see: memviz help COMMAND)"; `command` may be
 * NULL. Returns the status of wrong usage. */
int mv_complain_usage(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Explains a program that could not be started with this status (record/launch.h), if its name is a
 * file that a shell would not run either: a script, or a file outside the PATH. False: no
 * message. */
bool mv_complain_of_start(const char *command, const char *name, int status);

#endif
