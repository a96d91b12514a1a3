/* Fits text into a width so that a reader can still tell different strings apart. */
#pragma once

#include "viz/scene/scene.h"

/* Returns the text. If it is wider than `width`, it is cut with an ellipsis:
 *
 *     train.py:62 forw…    a line of code is cut at its end; if file and line do not fit either,
 *     trai…:62             the file is cut and the line stays
 *     …/run7/rank0.pickle  one word with dots, slashes or '#', or a hex number: cut at its start
 *     out of memory: as…   all other text is cut at its end
 *
 * The result is in the scene's arena; "" if nothing fits, or when out of memory. */
const char *mv_text_fit(mv_scene *scene, const char *text, float size, float width);

/* Fits `count` labels, in place. Different labels remain different. If cutting the end would make
 * two labels equal, the beginning of their difference is kept ("train.py:62 …norm.py:229"). If
 * there is no room for that, a number is added. O(count²), which is acceptable for the few rows of
 * a list. */
void mv_labels_fit(mv_scene *scene, const char **labels, uint32_t count, float size, float width);

/* Does the same for names of files, devices or ranks. Words that all names begin or end with are
 * cut from names that are too wide. If that is not enough, words that most names share are cut as
 * well: "…rank0_8a1f…", "…1024…8a1f…". If there are many names, the remaining part is cut in its
 * middle. */
void mv_names_fit(mv_scene *scene, const char **names, uint32_t count, float size, float width);
