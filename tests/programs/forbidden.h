/* Actions that a confined reader must not be able to do (cli/confine/confine.h). Each is
 * really attempted. */
#ifndef MVT_FORBIDDEN_H
#define MVT_FORBIDDEN_H

typedef struct {
    const char *name;
    int (*act)(void);  /* -1, with errno, if it was refused */
    int is_about_path; /* Landlock refuses it; otherwise the filter of system calls does */
} mvt_forbidden;

extern const mvt_forbidden mvt_forbidden_acts[]; /* ends with a NULL name */

/* A folder for the attempts, with a file `victim` in it. */
void mvt_forbidden_in(const char *folder);

/* Whether this machine's kernel can refuse it. */
int mvt_has_landlock(void);
int mvt_has_filter(void);

#endif
