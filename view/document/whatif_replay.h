/* Replays a run with the settings and code changes that the user ticked (docs/whatif.md), for the
 * What-if tab and the curves over the timeline. view/frame/whatif_asked.c sends the queries.
 *
 * The ticked items are the lines of a string:
 *
 *     max_split_size_mb:128       a setting; "max_split_size_mb:" leaves the recorded one out
 *     drop site:train.py:62       a change, as `memviz whatif` takes it, without dashes
 *     apart site:train.py:62      these allocations come from their own memory pool
 *     zero:2, ranks:8             both together: ZeRO stage 2 on 8 ranks */
#pragma once

#include <pthread.h>

#include "analyze/advice/changes.h"
#include "analyze/replay/setting_trials.h"
#include "base/plain.h"
#include "view/document/document.h"
#include "view/state/view_state.h"

#define MV_WHATIF_APART "apart "
enum { MV_WHATIF_ITEMS = 8 };

/* A row of the tab: the values of one setting, or the changes for one group of allocations. */
typedef struct {
    const char *title;
    uint64_t bytes; /* bytes that the line of code has allocated at the peak; 0: the row does not
                     * belong to a line */
    uint32_t count;
    const char *items[MV_WHATIF_ITEMS]; /* [count] */
    const char *names[MV_WHATIF_ITEMS]; /* [count] labels of the boxes to tick, such as "128" or
                                           "drop" */
} mv_whatif_row;

/* Facts that all replays of a device share. The first replay computes them. */
typedef struct mv_whatif_facts mv_whatif_facts;
struct mv_whatif_facts {
    mv_whatif_facts *next;
    const mv_document_device *device;
    mv_arena arena;
    mv_trials trials;
    mv_code_facts code;
    uint32_t row_count;
    mv_whatif_row *rows; /* [row_count] */
};

typedef struct {
    mv_budget *budget;
    pthread_mutex_t lock; /* guards `facts` */
    mv_whatif_facts *facts;
} mv_whatif_shared;

MV_PLAIN_BEGIN
typedef struct {
    const mv_document *document;
    const mv_document_device *device;
    char items[MV_SEARCH_TEXT];
} mv_whatif_question;
MV_PLAIN_END

typedef struct {
    mv_whatif_question ask;
    const mv_whatif_facts *facts; /* facts of the device; NULL: memory of this kind cannot be
                                   * replayed */
    const char *why; /* why nothing was replayed, without a full stop; "": there was a replay, or
                      * nothing is ticked */
    bool has_run;
    mv_trial trial;
    mv_code_changes changes;
    mv_replay_curve curve;
    const char *verdict; /* "saves 239 MiB of 1.19 GiB ..."; "" if there was no replay */
    const char *notes;   /* how reliable the result is, or "" */
} mv_whatif_answer;

/* The maximum number of columns in a curve. In a longer trace, each column covers several
 * events. */
enum { MV_WHATIF_COLUMNS = 1 << 18 };

/* An mv_job_fn (jobs.h) whose context is an mv_whatif_shared and whose query is an
 * mv_whatif_question. Returns NULL when out of memory. */
void *mv_whatif_replay(mv_arena *arena, void *shared, const void *ask);

void mv_whatif_release(mv_whatif_shared *shared);

/* Finds the changes that are possible for the allocations of a filter. Returns false when out of
 * memory. */
bool mv_whatif_row_of(mv_arena *arena, const char *title, const char *filter, mv_whatif_row *out);

/* Whether an item is ticked. */
bool mv_whatif_has(const char *items, const char *item);

/* Adds or removes an item. A value of a setting replaces the value that was ticked before. Returns
 * false if there is no room; nothing changes then. */
bool mv_whatif_toggle(char items[MV_SEARCH_TEXT], const char *item);

/* Finds the highest levels after the events [first, end). Returns false if the replay did not reach
 * them. MV_BEFORE counts as the first event. */
bool mv_whatif_most(const mv_whatif_answer *answer, uint32_t first, uint32_t end, mv_levels *out);
