/* The rows of a list as texts that fit and that a reader can tell apart: cut ones keep what
 * distinguishes them. */
#ifndef MV_DISTINCT_TEXTS_H
#define MV_DISTINCT_TEXTS_H

#include "viz/scene/scene.h"

/* The label of a line of code, such as "train.py:62 forward > linear.py:134 forward", not wider
 * than `width`: whole, or cut at its end; if not even file and line fit, the file's name is cut and
 * the line stays ("trai…:62"). Other texts are cut at their end. In the scene's arena. */
const char *mv_label_fit(mv_scene *scene, const char *label, float size, float width);

/* Fits `count` labels, in place. Those that differ still do: where cutting the end would make two
 * equal, the beginning of what differs is kept ("train.py:62 …norm.py:229"), and where there is no
 * room for that either, a number is added. O(count²) for the few rows of a list. */
void mv_labels_fit(mv_scene *scene, const char **labels, uint32_t count, float size, float width);

#endif
