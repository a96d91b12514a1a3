/* Actions that a confined reader must not be able to perform (cli/confine/confine.h). Each action
 * is really attempted. */
#pragma once

typedef struct {
    const char *name;
    int (*act)(void);  /* returns -1, with errno set, if the action was refused */
    int is_about_path; /* true: Landlock refuses it; false: the system call filter does */
} mvt_forbidden;

extern const mvt_forbidden mvt_forbidden_acts[]; /* the last entry has a NULL name */

/* Sets a folder for the attempts, which contains a file `victim`. */
void mvt_forbidden_in(const char *folder);

/* Returns whether this machine's kernel can refuse the action. */
int mvt_has_landlock(void);
int mvt_has_filter(void);
