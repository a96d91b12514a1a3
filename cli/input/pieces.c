#include "cli/input/pieces.h"

#include "base/parallel_for.h"
#include "cli/complain.h"
#include "cli/input/input.h"
#include "parse/pieces.h"

/* One batch is read and analyzed while the previous one is added. */
enum { BATCHES = 2, MOST_LANES = MV_PIECE_SLOTS / BATCHES };

/* Memory of an event with its life, including temporary memory. */
enum { EVENT_BYTES = 128 };

typedef struct {
    mv_arena arena;
    mv_trace trace;
    mv_lives lives;
    mv_err err;
} piece;

typedef struct {
    mv_cli *cli;
    const mv_trace *trace;
    uint32_t device, count;
    mv_add_piece_fn *add;
    void *user;
    uint32_t lanes; /* pieces of a batch */
    uint32_t next;  /* first piece of the next batch */
    piece pieces[BATCHES][MOST_LANES];
    mv_err err; /* of `add` */
} walk;

static void find(walk *w, uint32_t nth)
{
    uint32_t batch = w->next / w->lanes % BATCHES, at = w->next + nth;
    piece *p = &w->pieces[batch][nth];

    if (at >= w->count)
        return;
    mv_arena_init(&p->arena, &w->cli->budget);
    p->err = (mv_err){.offset = MV_NO_OFFSET};
    p->trace = *w->trace;
    if (!w->cli->pieces || mv_pieces_read(w->cli->pieces, batch * MOST_LANES + nth, &p->arena,
                                          w->device, at, &p->trace, &p->err) == MV_OK)
        mv_lives_find(&p->arena, &p->trace, w->device, &p->lives, &p->err);
}

/* Adds the batch before the current one. */
static void add(walk *w)
{
    uint32_t first = w->next - w->lanes;

    for (uint32_t i = 0; w->next > 0 && i < w->lanes && first + i < w->count; i++) {
        piece *p = &w->pieces[first / w->lanes % BATCHES][i];
        if (w->err.code == MV_OK)
            w->err = p->err;
        if (w->err.code == MV_OK)
            w->add(w->user, &p->trace, &p->lives, &w->err);
        mv_arena_release(&p->arena);
    }
}

static void run_lane(void *user, uint32_t lane)
{
    walk *w = user;

    if (lane == 0)
        add(w);
    else
        find(w, lane - 1);
}

/* How many pieces fit the remaining memory at the same time. */
static uint32_t lanes_for(const mv_cli *cli, uint32_t device, uint32_t count)
{
    uint64_t left = cli->budget.limit - cli->budget.used;
    uint32_t lanes = mv_parallel_for_threads(count < MOST_LANES ? count : MOST_LANES, 0);
    uint64_t piece_bytes =
        cli->pieces ? mv_pieces_most(cli->pieces, device) * (uint64_t)EVENT_BYTES : 0;

    while (lanes > 1 && lanes * piece_bytes * BATCHES > left / 2)
        lanes--;
    return lanes;
}

mv_code mv_input_each_piece(mv_cli *cli, const mv_trace *trace, uint32_t device,
                            mv_add_piece_fn *add_piece, void *user, mv_err *err)
{
    walk *w = mv_push_struct(&cli->arena, walk);

    if (!w)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "pieces");
    *w = (walk){.cli = cli, .trace = trace, .device = device, .add = add_piece, .user = user};
    w->err.offset = MV_NO_OFFSET;
    w->count = cli->pieces ? mv_pieces_count(cli->pieces, device) : 1;
    w->lanes = lanes_for(cli, device, w->count);
    for (; w->next < w->count + w->lanes && w->err.code == MV_OK; w->next += w->lanes)
        if (w->lanes > 1) {
            mv_parallel_for(1 + w->lanes, w->lanes, run_lane, w);
        } else {
            add(w);
            find(w, 0);
        }
    if (w->err.code != MV_OK)
        add(w); /* releases the current batch */
    if (w->err.code == MV_CORRUPT && cli->pieces)
        return mv_input_needs_whole(cli, err);
    if (w->err.code != MV_OK)
        *err = w->err;
    return w->err.code;
}

mv_code mv_input_needs_whole(mv_cli *cli, mv_err *err)
{
    cli->reads_whole = true;
    return mv_fail(err, MV_CORRUPT, MV_NO_OFFSET, "%s", "pieces");
}

int mv_input_failed(const mv_cli *cli, const mv_err *err)
{
    return cli->reads_whole ? MV_EXIT_FAILED : mv_complain(mv_input_name(cli), err);
}
