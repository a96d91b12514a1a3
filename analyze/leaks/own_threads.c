/* Charges memory that a library's own threads allocate to the line of the program that called the
 * library.
 *
 *     program      all_reduce ─────────────────────────────►  matmul      train.py:165
 *     allocates      NCCL NCCL NCCL                           PyTorch
 *     NCCL's thread                 NCCL NCCL NCCL                        no line of the program
 *
 * In each step, the thread's allocations come after those of one line that calls the same library,
 * and before those of any other line of the program. If this is true of at least nine in ten
 * allocations, all of them are charged to that line. Only growing memory of libraries other than
 * PyTorch's allocator is charged in this way, on a level of CUDA calls. */
#include "analyze/leaks/leak_state.h"

#include "analyze/code/libraries.h"

/* At least this many of ten allocations must directly follow those of the line. */
enum { OF_TEN = 9 };

typedef struct {
    uint32_t library; /* row of the string with the library's path; MV_NO_ROW: not a CUDA call */
    uint32_t line;    /* row of the frame with the program's line; MV_NO_ROW: the stack has none */
    bool has_python;
} site_view;

/* A site that may follow a line: the line that came before its last allocation, the number of its
 * allocations that followed this line in the same step, and the number of all its allocations. */
typedef struct {
    uint32_t line, follows, all;
} follower;

/* Finds the program's line on a stack. This is a Python line or, because the main thread belongs to
 * the program, a line of main() or of a function called by it. */
static site_view look_at(const mv_leak_state *w, mv_stack_id stack)
{
    site_view view = {MV_NO_ROW, MV_NO_ROW, false};
    const mv_frames *f = &w->trace->frames;
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(w->trace, stack, &count);

    if (count > 0 && mv_frame_is_call(w->trace, frames[0]))
        view.library = f->file[frames[0].row].row;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t kind = w->sites.kinds[frames[i].row];
        bool is_main = strcmp(mv_string_text(w->trace, f->function[frames[i].row]), "main") == 0;
        view.has_python |= kind <= MV_FRAME_FRAMEWORK;
        if (kind == MV_FRAME_USER || is_main)
            view.line = mv_culprit_frame(w->trace, w->sites.kinds, stack).row;
    }
    return view;
}

/* Whether a site may belong to a library's own thread. */
static bool is_of_thread(const mv_leak_state *w, uint32_t site, const site_view *view)
{
    const char *path =
        view->library == MV_NO_ROW ? "" : mv_string_text(w->trace, (mv_string_id){view->library});

    return w->uses[site].leaked > 0 && view->line == MV_NO_ROW && !view->has_python &&
           strstr(path, ".so") && !mv_library_is_framework(path);
}

static uint64_t key_of(uint32_t library, uint32_t line)
{
    return (uint64_t)library << 32 | line;
}

/* Visits the allocations in order of time. The first pass finds the line of each follower, the
 * second pass counts. */
static void follow(const mv_leak_state *w, const site_view *views, follower *followers, bool counts)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    const mv_steps *steps = &w->out->steps;
    uint32_t line = MV_NO_ROW, bin = 0, line_bin = 0;

    for (uint32_t i = a->preexisting; i < a->count; i++) {
        uint32_t site = mv_site_of(&w->sites, a->stack[i]);
        while (bin < steps->count && steps->at[bin] <= a->birth[i])
            bin++;
        if (views[site].line != MV_NO_ROW) {
            line = views[site].line;
            line_bin = bin;
        }
        if (!followers[site].all)
            continue;
        if (!counts)
            followers[site].line = line;
        else if (a->freed[i] == MV_NEVER) {
            followers[site].all++;
            followers[site].follows += line == followers[site].line && line_bin == bin;
        }
    }
}

/* Lists the sites of lines that leak a library's memory, by library and line. */
static bool list_lines(mv_leak_state *w, const site_view *views, mv_map *out)
{
    for (uint32_t s = 0; s < w->sites.count; s++)
        if (w->uses[s].leaked > 0 && views[s].line != MV_NO_ROW && views[s].library != MV_NO_ROW &&
            !mv_map_put(out, key_of(views[s].library, views[s].line), s))
            return false;
    return true;
}

static void join(mv_leak_state *w, const site_view *views, const follower *followers,
                 const mv_map *lines)
{
    for (uint32_t s = 0; s < w->sites.count; s++) {
        const follower *f = &followers[s];
        uint32_t host = f->all && f->line != MV_NO_ROW
                            ? mv_map_find(lines, key_of(views[s].library, f->line))
                            : MV_NOT_IN_MAP;
        if (host == MV_NOT_IN_MAP || 10 * (uint64_t)f->follows < OF_TEN * ((uint64_t)f->all - 1))
            continue;
        w->of_own_thread[s] = 1;
        w->sites.group[s] = w->sites.group[host];
    }
}

bool mv_own_threads_join(mv_leak_state *w)
{
    site_view *views = mv_push_array(w->scratch, site_view, w->sites.count);
    follower *followers = mv_push_array(w->scratch, follower, w->sites.count);
    mv_map lines = {.arena = w->scratch};
    bool is_any = false;

    w->of_own_thread = mv_push_array(w->scratch, uint8_t, w->sites.count);
    if (!views || !followers || !w->of_own_thread)
        return false;
    if (!w->trace->origin.level)
        return true;
    for (uint32_t s = 0; s < w->sites.count; s++) {
        views[s] = look_at(w, w->sites.stack[s]);
        followers[s] = (follower){.line = MV_NO_ROW, .all = is_of_thread(w, s, &views[s])};
        is_any |= followers[s].all > 0;
    }
    if (!is_any)
        return true;
    if (!list_lines(w, views, &lines))
        return false;
    follow(w, views, followers, false);
    follow(w, views, followers, true);
    join(w, views, followers, &lines);
    return true;
}
