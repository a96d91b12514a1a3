/* A command's picture: where it goes, its panels, and the back end that writes it.
 *
 *     if (!mv_picture_open(&picture, cli)) return MV_EXIT_USAGE;
 *     ... mv_picture_append(&picture, &scene, &err) ...      once a panel
 *     if (!mv_picture_write(&picture)) return MV_EXIT_FAILED;
 *     mv_picture_say(&picture);                              unless --json reports it */
#ifndef MV_PICTURE_H
#define MV_PICTURE_H

#include "cli/report/report.h"
#include "viz/scene/scene.h"

typedef struct {
    mv_cli *cli;
    const char *path; /* "-": standard output */
    const char *name; /* of the file that is drawn, without its folder */
    uint32_t panels;
    mv_scene scene; /* the panels, one below the other, in the command's arena */
} mv_picture;

/* Whether a back end writes what is named so. */
bool mv_picture_is_written(const char *path);

/* The name of the file that is drawn, without its folder. */
const char *mv_picture_name(const mv_cli *cli);

/* Goes to -o, which must be given and be no page (cli/report/page.h). False, with a message, when
 * the usage is wrong. */
bool mv_picture_open(mv_picture *picture, mv_cli *cli);

/* Puts a panel below those that are there, which are of the same size. Its texts stay where they
 * are: in an arena that must outlive the picture. Fails for want of memory. */
mv_code mv_picture_append(mv_picture *picture, const mv_scene *panel, mv_err *err);

/* The whole file, or none and a message. */
bool mv_picture_write(mv_picture *picture);

/* Prints the path, unless the picture itself went to standard output. */
void mv_picture_say(mv_picture *picture);

/* As "written" of a report. */
cJSON *mv_picture_json(mv_picture *picture, mv_report *report);

#endif
