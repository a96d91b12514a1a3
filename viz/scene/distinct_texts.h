/* Texts that fit, and that a reader can tell apart: cut ones keep what distinguishes them. */
#ifndef MV_DISTINCT_TEXTS_H
#define MV_DISTINCT_TEXTS_H

#include "viz/scene/scene.h"

/* The text if it is not wider than `width`, else cut, with an ellipsis:
 *
 *     train.py:62 forw…    a line of code, at its end; if not even file and line fit, the file is
 *     trai…:62             cut and the line stays
 *     …/run7/rank0.pickle  one word with dots, slashes or '#', or a number in hex, at its begin
 *     out of memory: as…   all others at their end
 *
 * In the scene's arena; "" when nothing fits, or memory ran out. */
const char *mv_text_fit(mv_scene *scene, const char *text, float size, float width);

/* Fits `count` labels, in place. Those that differ still do: where cutting the end would make two
 * equal, the beginning of what differs is kept ("train.py:62 …norm.py:229"), and where there is no
 * room for that either, a number is added. O(count²) for the few rows of a list. */
void mv_labels_fit(mv_scene *scene, const char **labels, uint32_t count, float size, float width);

#endif
