/* The flame graphs of `memory` and `segments` as pictures, one panel a device. */
#ifndef MV_FLAME_PICTURE_H
#define MV_FLAME_PICTURE_H

#include "cli/report/folded.h"

/* Like mv_folded_run, but draws to -o. Returns the exit status. */
int mv_flame_picture_run(mv_cli *cli, mv_folded_find find);

#endif
