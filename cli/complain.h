/* Messages, each printed as one line on standard error: "memviz: WHAT: ...". */
#pragma once

#include "base/err.h"

#include <stdbool.h>

/* Prints "memviz: FILE: byte 1234: input ends inside a record: event 812". `file` may be NULL.
 * Returns the exit status for a failure. */
int mv_complain(const char *file, const mv_err *err);

/* Reports a failure that has no error code: "memviz: FILE: SENTENCE". */
int mv_complain_of(const char *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reports wrong usage: "memviz: COMMAND: SENTENCE (see: memviz help COMMAND)". `command` may be
 * NULL. Returns the exit status for wrong usage. */
int mv_complain_usage(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Explains why a program could not be started with this status (record/launch.h), if a shell would
 * not run a file with that name either: a script, or a file outside the PATH. Returns false,
 * without a message, if there is nothing to explain. */
bool mv_complain_of_start(const char *command, const char *name, int status);
