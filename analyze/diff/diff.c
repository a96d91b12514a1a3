#include "analyze/diff/diff.h"

#include "analyze/lives/alive.h"
#include "base/sort.h"

/* One side's allocated bytes, by stack and by site. */
typedef struct {
    uint64_t *stack_bytes; /* [stacks + 1] bytes by stack; the last entry is for MV_NO_STACK */
    uint64_t *bytes;       /* [sites] */
    uint32_t *blocks;      /* [sites] */
    mv_stack_id *top;      /* [sites] stack with the most bytes of each site */
} holdings;

/* The rows of sites, grouped by class. */
typedef struct {
    mv_diff_row row;
    uint32_t class;
} classed_row;

const char *mv_diff_status_name(mv_diff_status status)
{
    static const char *const names[] = {"grown", "shrunk", "new", "gone"};

    return names[status];
}

mv_code mv_diff_code_find(mv_arena *arena, const mv_trace *before, const mv_trace *after,
                          mv_diff_code *out, mv_err *err)
{
    mv_code code;

    *out = (mv_diff_code){.trace = {before, after}};
    code = mv_sites_find(arena, before, &out->sites[0], err);
    if (code == MV_OK)
        code = mv_sites_find(arena, after, &out->sites[1], err);
    if (code == MV_OK)
        code = mv_stacks_match(arena, out->trace,
                               (const mv_sites *[2]){&out->sites[0], &out->sites[1]}, &out->match,
                               err);
    return code;
}

/* ---- holdings ---------------------------------------------------------------------------- */

static bool holdings_init(mv_arena *scratch, const mv_sites *sites, holdings *h)
{
    h->stack_bytes = mv_push_array(scratch, uint64_t, (uint64_t)sites->stacks + 1);
    h->bytes = mv_push_array(scratch, uint64_t, sites->count);
    h->blocks = mv_push_array(scratch, uint32_t, sites->count);
    h->top = mv_push_array(scratch, mv_stack_id, sites->count);
    return h->stack_bytes && h->bytes && h->blocks && h->top;
}

static bool hold(mv_arena *scratch, const mv_sites *sites, const mv_lives *lives,
                 const mv_moment *moment, holdings *h)
{
    if (!holdings_init(scratch, sites, h))
        return false;
    for (uint32_t i = 0; lives && i < lives->allocs.count; i++) {
        mv_stack_id stack = lives->allocs.stack[i];
        uint32_t site = mv_site_of(sites, stack);
        if (!mv_alloc_is_allocated(lives, i, moment->event))
            continue;
        h->stack_bytes[stack.row < sites->stacks ? stack.row : sites->stacks] +=
            lives->allocs.block[i];
        h->bytes[site] += lives->allocs.block[i];
        h->blocks[site]++;
    }
    for (uint32_t j = 0; j < sites->count; j++)
        h->top[j] = sites->stack[j];
    for (uint32_t s = 0; s < sites->stacks; s++) {
        mv_stack_id *top = &h->top[sites->of_stack[s]];
        if (h->stack_bytes[s] > h->stack_bytes[top->row])
            *top = (mv_stack_id){s};
    }
    return true;
}

/* ---- classes: lines of the user's code --------------------------------------------------- */

/* Returns the class of a stack before classes are joined: the line of its culprit, or the class of
 * all stacks without a line. */
static uint32_t class_of(const mv_diff_code *code, int s, mv_stack_id stack)
{
    mv_frame_id frame = mv_culprit_frame(code->trace[s], code->sites[s].kinds, stack);

    if (frame.row != MV_NO_ROW)
        return code->match.frames.line[s][frame.row];
    return code->match.frames.lines + (stack.row == MV_NO_STACK.row);
}

static uint32_t root_of(uint32_t *parent, uint32_t class)
{
    while (parent[class] != class) {
        parent[class] = parent[parent[class]];
        class = parent[class];
    }
    return class;
}

/* Joins the classes of different lines if the sites with culprits on these lines were matched. */
static uint32_t *find_classes(mv_arena *scratch, const mv_diff_code *code)
{
    uint32_t classes = code->match.frames.lines + 2;
    uint32_t *parent = mv_push_array(scratch, uint32_t, classes);

    for (uint32_t i = 0; parent && i < classes; i++)
        parent[i] = i;
    for (uint32_t i = 0; parent && i < code->sites[0].count; i++) {
        uint32_t partner = code->match.site[0][i];
        if (partner == MV_NO_ROW)
            continue;
        uint32_t a = root_of(parent, class_of(code, 0, code->sites[0].stack[i]));
        uint32_t b = root_of(parent, class_of(code, 1, code->sites[1].stack[partner]));
        parent[a < b ? b : a] = a < b ? a : b;
    }
    return parent;
}

/* ---- rows -------------------------------------------------------------------------------- */

static void set_status(mv_diff_row *row)
{
    row->delta = (int64_t)(row->bytes[1] - row->bytes[0]);
    if (row->bytes[0] == 0)
        row->status = MV_DIFF_NEW;
    else if (row->bytes[1] == 0)
        row->status = MV_DIFF_GONE;
    else
        row->status = row->bytes[1] > row->bytes[0] ? MV_DIFF_GROWN : MV_DIFF_SHRUNK;
}

static void take_side(mv_diff_row *row, int s, const holdings *h, uint32_t site)
{
    row->bytes[s] = h->bytes[site];
    row->blocks[s] = h->blocks[site];
    row->stack[s] = h->bytes[site] ? h->top[site] : MV_NO_STACK;
}

/* Makes one row for each site that holds bytes on at least one side. */
static uint32_t gather_rows(const mv_diff_code *code, const holdings h[2], uint32_t *parent,
                            classed_row *out)
{
    uint32_t count = 0;

    for (int s = 0; s < 2; s++)
        for (uint32_t i = 0; i < code->sites[s].count; i++) {
            uint32_t partner = code->match.site[s][i];
            mv_diff_row row = {.stack = {MV_NO_STACK, MV_NO_STACK}};
            if (s == 1 && partner != MV_NO_ROW)
                continue;
            take_side(&row, s, &h[s], i);
            if (partner != MV_NO_ROW)
                take_side(&row, 1 - s, &h[1 - s], partner);
            if (row.bytes[0] == 0 && row.bytes[1] == 0)
                continue;
            set_status(&row);
            out[count++] =
                (classed_row){row, root_of(parent, class_of(code, s, code->sites[s].stack[i]))};
        }
    return count;
}

static uint64_t magnitude(int64_t delta)
{
    return delta < 0 ? 0 - (uint64_t)delta : (uint64_t)delta;
}

static int by_change(const void *a, const void *b, const void *unused)
{
    const mv_diff_row *x = a, *y = b;
    uint64_t p = magnitude(x->delta), q = magnitude(y->delta);
    uint32_t f, g;

    (void)unused;
    if (p != q)
        return p > q ? -1 : 1;
    for (int s = 1; s >= 0; s--) {
        if (x->bytes[s] != y->bytes[s])
            return x->bytes[s] > y->bytes[s] ? -1 : 1;
        f = x->stack[s].row;
        g = y->stack[s].row;
        if (f != g)
            return f < g ? -1 : 1;
    }
    return 0;
}

static void add_row(mv_diff_row *sum, const mv_diff_row *row, uint64_t most[2])
{
    for (int s = 0; s < 2; s++) {
        sum->bytes[s] += row->bytes[s];
        sum->blocks[s] += row->blocks[s];
        if (row->bytes[s] > most[s]) {
            most[s] = row->bytes[s];
            sum->stack[s] = row->stack[s];
        }
    }
}

static bool fill_lines(mv_arena *arena, classed_row *rows, uint32_t count, mv_diff *out)
{
    mv_sort_rows(arena, rows, count, MV_RISING(classed_row, class));
    out->line = mv_push_array(arena, mv_diff_row, count);
    if (!out->line)
        return false;
    for (uint32_t i = 0, end; i < count; i = end) {
        mv_diff_row sum = {.stack = {MV_NO_STACK, MV_NO_STACK}};
        uint64_t most[2] = {0, 0};
        for (end = i; end < count && rows[end].class == rows[i].class; end++)
            add_row(&sum, &rows[end].row, most);
        set_status(&sum);
        if (sum.delta != 0) {
            out->line[out->lines++] = sum;
        } else {
            out->same_lines++;
            out->same_bytes += sum.bytes[0];
        }
    }
    mv_sort_by(arena, out->line, out->lines, sizeof *out->line, by_change, NULL);
    return true;
}

static bool fill_sites(mv_arena *arena, const classed_row *rows, uint32_t count, mv_diff *out)
{
    out->sites = mv_push_array(arena, mv_diff_row, count);
    if (!out->sites)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].row.delta != 0)
            out->sites[out->count++] = rows[i].row;
    mv_sort_by(arena, out->sites, out->count, sizeof *out->sites, by_change, NULL);
    return true;
}

static bool fill(mv_arena *arena, mv_arena *scratch, const mv_diff_code *code,
                 const mv_diff_sides *sides, mv_diff *out)
{
    uint64_t most = (uint64_t)code->sites[0].count + code->sites[1].count;
    classed_row *rows = mv_push_array(scratch, classed_row, most);
    uint32_t *parent = find_classes(scratch, code);
    holdings h[2];
    uint32_t count;

    if (!rows || !parent)
        return false;
    for (int s = 0; s < 2; s++)
        if (!hold(scratch, &code->sites[s], sides->lives[s], &sides->moment[s], &h[s]))
            return false;
    count = gather_rows(code, h, parent, rows);
    return fill_sites(arena, rows, count, out) && fill_lines(arena, rows, count, out);
}

mv_code mv_diff_find(mv_arena *arena, const mv_diff_code *code, const mv_diff_sides *sides,
                     mv_diff *out, mv_err *err)
{
    mv_arena scratch;
    bool filled;

    *out = (mv_diff){0};
    for (int s = 0; s < 2; s++) {
        if (!sides->lives[s])
            continue;
        out->level[s] = sides->moment[s].bytes;
        if (mv_reserved_find(arena, code->trace[s], sides->lives[s], sides->reserved[s],
                             &out->reserved[s], err) != MV_OK)
            return err->code;
    }
    out->delta = (int64_t)(out->level[1].allocated - out->level[0].allocated);
    mv_arena_init(&scratch, arena->budget);
    filled = fill(arena, &scratch, code, sides, out);
    mv_arena_release(&scratch);
    return filled ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "comparing sites");
}
