/* The Python interpreters of this machine. Tests that need one fail when there is none: they never
 * skip in silence (scripts/install-deps test brings Debian's). */
#ifndef FIXTURE_PYTHONS_H
#define FIXTURE_PYTHONS_H

#include <stdio.h>

enum { MVT_MOST_PYTHONS = 24 };

/* Commands that start an interpreter of a version that memviz knows, 3.8 to 3.14, one for each:
 * those of MV_PYTHONS (a list with colons) alone when it is set, else Debian's and those of pyenv.
 * Returns their number; fails the test when it is 0. */
unsigned mvt_pythons(const char *commands[MVT_MOST_PYTHONS]);

/* Starts `python` with a script of tests/ and an argument, to read what it prints. */
FILE *mvt_python_open(const char *python, const char *script, const char *argument);
/* Waits for its end; fails the test unless that is 0. */
void mvt_python_close(FILE *output, const char *python);

#endif
