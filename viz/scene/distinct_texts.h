/* Fits texts into a width so that a reader can still tell them apart: cuts keep the difference. */
#ifndef MV_DISTINCT_TEXTS_H
#define MV_DISTINCT_TEXTS_H

#include "viz/scene/scene.h"

/* The text, or if it is wider than `width`, cut with an ellipsis:
 *
 *     train.py:62 forw…    a line of code is cut at its end; without room for file and line, the
 * file is trai…:62             cut and the line stays …/run7/rank0.pickle  one word with dots,
 * slashes or '#', or a hex number: cut at its start out of memory: as…   all others are cut at
 * their end
 *
 * In the scene's arena; "" when nothing fits, or when out of memory. */
const char *mv_text_fit(mv_scene *scene, const char *text, float size, float width);

/* Fits `count` labels, in place. Different labels stay different: where cutting the end would make
 * two equal, the beginning of the difference is kept ("train.py:62 …norm.py:229"), and if there is
 * no room for that, a number is added. O(count²) for the few rows of a list. */
void mv_labels_fit(mv_scene *scene, const char **labels, uint32_t count, float size, float width);

/* The same for names of files, devices or ranks: of those that are too wide, words that all names begin
 * or end with are cut, and if that is not enough, the words of the rest that most names have:
 * "…rank0_8a1f…", "…1024…8a1f…". Among many names the middle of the rest is cut. */
void mv_names_fit(mv_scene *scene, const char **names, uint32_t count, float size, float width);

#endif
