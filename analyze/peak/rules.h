/* Reads the user's own categories from a file of rules. A rule consists of a POSIX extended regular
 * expression and the category of the allocations whose stack contains a matching frame.
 *
 *     # regex                              category
 *     experts/moe\.py:[0-9]+ forward       experts
 *     torch/optim/                         optimizer_state
 *
 * The category is everything after the last TAB of the line or, without a TAB, the last word of the
 * line. The regex is everything before the category. The regex is searched for in "FILE:LINE
 * FUNCTION" of each frame, without anchors. Empty lines and lines that begin with # are ignored. */
#pragma once

#include "analyze/code/pattern.h"
#include "parse/model/trace.h"

/* Maximum number of rules in a file, and maximum length of a category's name. */
#define MV_RULES_MOST     512
#define MV_RULE_NAME_MOST 40

typedef struct {
    uint32_t count;
    const mv_pattern **regex; /* [count] */
    const char **name;        /* [count] */
} mv_rules;

/* Reads the text of a rules file. Returns false, with "line 3: ..." in `why`, if a line is invalid
 * or when out of memory. */
bool mv_rules_read(mv_arena *arena, mv_span text, mv_rules *out, char *why, uint32_t why_size);

/* Returns, for each frame, the first rule that matches the frame, or MV_NO_ROW: [frames.count].
 * Returns NULL when out of memory. */
uint32_t *mv_rules_match(mv_arena *arena, const mv_rules *rules, const mv_trace *trace);
