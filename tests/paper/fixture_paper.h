/* Printed pictures (view/paper/paper.h), for tests. */
#pragma once

#include "tests/fixture/fixture_scene.h"
#include "view/paper/paper.h"

/* Returns a picture of a device, allocated in mvt_memory(). */
typedef struct {
    mv_lives lives;
    mv_paper paper;
} mvt_picture;

/* If `opts` has no title, the title is "test". */
mvt_picture mvt_picture_of(const mv_paper_kind *kind, const mv_trace *trace, uint32_t device,
                           mv_paper_opts opts);

/* The test fails unless each text, up to a NULL, is in the picture of a snapshot after its last
 * event, or in the picture's pointer texts. */
void mvt_picture_says(const mv_paper_kind *kind, const char *snapshot, const char *const *texts);
#define MVT_PICTURE_SAYS(kind, snapshot, ...) \
    mvt_picture_says((kind), (snapshot), (const char *const[]){__VA_ARGS__, NULL})

/* Draws the trace again and again, with a little more memory each time, until drawing succeeds. */
void mvt_picture_without_memory(const mv_paper_kind *kind, const mv_trace *trace,
                                mv_paper_opts opts);

/* Compares the picture of mvt_small() with the scene NAME of testdata/golden. */
void mvt_picture_golden(const mv_paper_kind *kind, const char *name, mv_paper_opts opts);
