/* Pictures that the browser paints into a file, since it has the fonts. */
#ifndef MV_WEB_PICTURES_H
#define MV_WEB_PICTURES_H

#include "viz/scene/scene.h"

/* Asks the page to offer the scene for download as a PNG file of that name. Fails when memory runs
 * out; the picture itself is made after the return. */
mv_code mv_picture_ask(mv_budget *budget, const mv_scene *scene, const char *name, mv_err *err);

#endif
