/* Actions that a confined reader must not be able to do (cli/confine/confine.h), each really
 * tried. */
#ifndef MVT_FORBIDDEN_H
#define MVT_FORBIDDEN_H

typedef struct {
    const char *name;
    int (*act)(void);  /* -1, with errno, when it was refused */
    int is_about_path; /* refused by Landlock; else by the filter of calls */
} mvt_forbidden;

extern const mvt_forbidden mvt_forbidden_acts[]; /* ends with a NULL name */

/* A folder to try it on, with a file `victim` in it. */
void mvt_forbidden_in(const char *folder);

/* Whether this machine's kernel has what refuses it. */
int mvt_has_landlock(void);
int mvt_has_filter(void);

#endif
