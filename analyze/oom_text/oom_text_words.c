/* Writes the sentences that explain an error message. */
#include "analyze/oom_text/oom_text.h"
#include "base/size.h"
#include "base/text.h"

#define RECORD                                                                            \
    "memviz run -o run.bin -- python train.py records what happens, then memviz oom "     \
    "run.bin explains it; or call torch.cuda.memory._record_memory_history() before the " \
    "work, torch.cuda.memory._dump_snapshot(\"snapshot.pickle\") where the error is caught"

typedef struct {
    mv_text_maker texts;
    mv_oom_text *t;
    const mv_printed_size *size; /* sizes printed in the message */
} text_writer;

/* Writes a size: "1.19 GiB", or "10.2 MiB to 20.5 MiB" if its range exceeds one percent, since the
 * rounding of a printed 1.00 alone can be that much. */
static const char *text_of(text_writer *w, mv_printed_size size)
{
    char least[MV_SIZE_TEXT], most[MV_SIZE_TEXT];

    if (!mv_size_is_printed(size))
        return "?";
    mv_size_text(least, size.least);
    mv_size_text(most, size.most);
    if (strcmp(least, most) == 0 || (size.most - size.least) <= size.bytes / 100)
        return mv_make_text(&w->texts, "%s", mv_size_text(least, size.bytes));
    return mv_make_text(&w->texts, "%s to %s", least, most);
}

/* Writes a size that the message itself contains. */
static const char *printed(text_writer *w, mv_error_size which)
{
    char text[MV_SIZE_TEXT];

    return mv_size_is_printed(w->size[which])
               ? mv_make_text(&w->texts, "%s", mv_size_text(text, w->size[which].bytes))
               : "?";
}

static bool has(const text_writer *w, mv_error_size which)
{
    return mv_size_is_printed(w->size[which]);
}

static void add_line(text_writer *w, const char *line)
{
    if (w->t->line_count < MV_TEXT_LINES)
        w->t->lines[w->t->line_count++] = line;
}

/* ---- the arithmetic -------------------------------------------------------------------------- */

static void write_device(text_writer *w)
{
    mv_oom_text *t = w->t;

    if (w->t->text->is_async && has(w, MV_ERROR_CAPACITY))
        add_line(w,
                 mv_make_text(&w->texts,
                              "%s capacity, %s free, %s allocated by PyTorch; the message does not "
                              "contain the other memory in the pool of cudaMallocAsync",
                              printed(w, MV_ERROR_CAPACITY), printed(w, MV_ERROR_FREE),
                              printed(w, MV_ERROR_ALLOCATED)));
    if (!has(w, MV_ERROR_CAPACITY) || !has(w, MV_ERROR_FREE) || !has(w, MV_ERROR_RESERVED))
        return;
    if (mv_size_is_printed(t->not_pytorch) && mv_size_is_printed(t->others))
        add_line(w,
                 mv_make_text(&w->texts,
                              "%s capacity = %s free + %s reserved by PyTorch + %s of this process "
                              "outside PyTorch + %s of others",
                              printed(w, MV_ERROR_CAPACITY), printed(w, MV_ERROR_FREE),
                              text_of(w, w->size[MV_ERROR_RESERVED]), text_of(w, t->not_pytorch),
                              text_of(w, t->others)));
    else if (mv_size_is_printed(t->outside))
        add_line(w, mv_make_text(
                        &w->texts,
                        "%s capacity = %s free + %s reserved by PyTorch + %s outside PyTorch: of "
                        "this process (its CUDA context, libraries) and of others",
                        printed(w, MV_ERROR_CAPACITY), printed(w, MV_ERROR_FREE),
                        text_of(w, w->size[MV_ERROR_RESERVED]), text_of(w, t->outside)));
    else
        add_line(
            w, mv_make_text(&w->texts,
                            "%s capacity, %s free, and %s reserved by PyTorch, which is more than "
                            "the rest: the driver adds host memory (Windows, WSL)",
                            printed(w, MV_ERROR_CAPACITY), printed(w, MV_ERROR_FREE),
                            text_of(w, w->size[MV_ERROR_RESERVED])));
}

static void write_pytorch(text_writer *w)
{
    char share[MV_SIZE_TEXT];

    if (!has(w, MV_ERROR_RESERVED) || !has(w, MV_ERROR_UNALLOCATED))
        return;
    add_line(w,
             mv_make_text(&w->texts, "%s reserved = %s allocated + %s not allocated (%s)%s%s%s",
                          text_of(w, w->size[MV_ERROR_RESERVED]), printed(w, MV_ERROR_ALLOCATED),
                          text_of(w, w->size[MV_ERROR_UNALLOCATED]),
                          mv_percent_text(share, w->size[MV_ERROR_UNALLOCATED].bytes,
                                          w->size[MV_ERROR_RESERVED].bytes),
                          has(w, MV_ERROR_PRIVATE) ? "; " : "",
                          has(w, MV_ERROR_PRIVATE) ? printed(w, MV_ERROR_PRIVATE) : "",
                          has(w, MV_ERROR_PRIVATE) ? " of the allocated memory is in private pools "
                                                     "(CUDA graphs)"
                                                   : ""));
}

static void write_processes(text_writer *w)
{
    const mv_error_text *e = w->t->text;
    char line[400] = "", size[MV_SIZE_TEXT];

    for (uint32_t i = 0; i < e->process_count && i < MV_ERROR_PROCESSES; i++) {
        bool is_printed = mv_size_is_printed(e->processes[i].size);
        mv_text_append(
            line, sizeof line, "%sprocess %llu has %s%s", i ? ", " : "",
            (unsigned long long)e->processes[i].pid,
            is_printed ? mv_size_text(size, e->processes[i].size.bytes) : "?",
            e->processes[i].pid == w->t->own_pid
                ? " (this process: no other one on the list can hold PyTorch's reserved memory)"
                : "");
    }
    if (*line)
        add_line(w, mv_make_text(&w->texts, "%s", line));
    if (e->hides_processes)
        add_line(
            w, "the memory of each process is unknown: NVML does not report it on Windows and WSL");
    else if (e->process_count > 0 && !mv_size_is_printed(w->t->process))
        add_line(w, "the message does not show which of them is this process: in a container it "
                    "has another number");
}

/* Adds a line if the segment is much larger than the tensor. */
static void write_request(text_writer *w)
{
    const mv_printed_size *tensor = &w->t->tensor;
    char most[MV_SIZE_TEXT];

    if (!has(w, MV_ERROR_REQUESTED) || tensor->least > tensor->most / 2)
        return;
    mv_size_text(most, w->size[MV_ERROR_REQUESTED].bytes);
    add_line(w,
             mv_make_text(
                 &w->texts,
                 "%s is the segment that PyTorch requested from the device; the tensor takes %s%s",
                 most, tensor->least > 1 ? "more than 1.00 MiB and at most " : "up to ",
                 tensor->least > 1 ? most : "1.00 MiB"));
}

static void write_summary(text_writer *w)
{
    const mv_error_text *e = w->t->text;

    if (mv_size_is_printed(w->t->pending) && has(w, MV_ERROR_SPLIT) &&
        mv_size_is_printed(w->t->releasable))
        add_line(
            w, mv_make_text(&w->texts,
                            "of the memory not allocated, %s was freed but a stream may still use "
                            "it, %s is free next to blocks in use, and %s is whole segments, which "
                            "empty_cache() releases",
                            text_of(w, w->t->pending), printed(w, MV_ERROR_SPLIT),
                            text_of(w, w->t->releasable)));
    if (has(w, MV_ERROR_PEAK_ALLOCATED) && has(w, MV_ERROR_PEAK_RESERVED))
        add_line(w, mv_make_text(&w->texts, "at most %s was allocated and %s reserved",
                                 printed(w, MV_ERROR_PEAK_ALLOCATED),
                                 printed(w, MV_ERROR_PEAK_RESERVED)));
    if (e->failures != MV_NO_BYTES && e->retries != MV_NO_BYTES)
        add_line(
            w,
            mv_make_text(
                &w->texts,
                "%llu request%s failed, and %llu succeeded only after cached memory was released",
                (unsigned long long)e->failures, mv_plural(e->failures),
                (unsigned long long)e->retries));
}

/* ---- why ------------------------------------------------------------------------------------- */

static const char *why_limit(text_writer *w)
{
    mv_answer room = w->t->had_room;

    return mv_make_text(
        &w->texts,
        "a limit of %s is set for the process (set_per_process_memory_fraction): %s of it is in "
        "use, and %s was requested; the device had %s left%s",
        printed(w, MV_ERROR_LIMIT),
        text_of(w, w->size[w->t->text->is_async ? MV_ERROR_ALLOCATED : MV_ERROR_RESERVED]),
        printed(w, MV_ERROR_REQUESTED), printed(w, MV_ERROR_FREE),
        room == MV_ANSWER_NO ? ", less than that: the limit is not the only obstacle" : "");
}

static const char *why_capacity(text_writer *w)
{
    mv_oom_text *t = w->t;
    bool has_own = mv_size_is_printed(t->not_pytorch);
    uint64_t sum =
        w->size[MV_ERROR_ALLOCATED].least + t->tensor.least + (has_own ? t->not_pytorch.least : 0);
    char least[MV_SIZE_TEXT];

    return mv_make_text(
        &w->texts,
        "PyTorch's allocated memory (%s)%s%s and the request take at least %s together, "
        "and the device has %s: neither other processes nor fragmentation is to blame",
        printed(w, MV_ERROR_ALLOCATED), has_own ? ", this process's memory outside PyTorch,  " : "",
        has_own ? text_of(w, t->not_pytorch) : "", mv_size_text(least, sum),
        printed(w, MV_ERROR_CAPACITY));
}

static const char *why_outside(text_writer *w)
{
    return mv_make_text(
        &w->texts,
        "others have %s of the device: without them this request would have fitted; "
        "PyTorch's unallocated memory, %s, and the memory left on the device would not "
        "have been enough, even in one piece",
        text_of(w, w->t->others), text_of(w, w->size[MV_ERROR_UNALLOCATED]));
}

/* Returns the reason for a refusal if the device had enough memory. */
static const char *why_refused(text_writer *w)
{
    bool is_excluded = w->t->over_limit == MV_ANSWER_NO;

    return mv_make_text(
        &w->texts,
        "the device did not run out of memory: it had %s left, and %s was requested; %s Windows' "
        "and WSL's commit limit, a limit of MPS, MIG or a layer that shares the GPU, or ulimit -v "
        "may have refused it, or another process took the memory and released it in between",
        printed(w, MV_ERROR_FREE), printed(w, MV_ERROR_REQUESTED),
        is_excluded ? "no limit of PyTorch (set_per_process_memory_fraction) was reached;"
                    : "a limit of PyTorch (set_per_process_memory_fraction),");
}

static const char *why_open(text_writer *w)
{
    mv_oom_text *t = w->t;
    mv_printed_size free_inside = w->size[MV_ERROR_UNALLOCATED];
    bool is_inside = mv_size_is_printed(free_inside) && free_inside.least >= t->tensor.most;
    const char *inside =
        is_inside
            ? mv_make_text(&w->texts,
                           "%s reserved by PyTorch was not allocated, at least as much as the "
                           "request: in pieces, in another pool or stream, or free too late",
                           text_of(w, free_inside))
        : t->holes_do == MV_ANSWER_NO
            ? "fragmentation is not to blame: PyTorch's unallocated memory and the memory left on "
              "the device are less than the request"
            : "these figures do not show whether holes in PyTorch's reserved memory are to blame";
    bool is_others = t->others_do == MV_ANSWER_YES;
    const char *others =
        is_others
            ? mv_make_text(&w->texts, "without the others, which have %s, it would have fitted",
                           text_of(w, t->others))
        : t->others_do == MV_ANSWER_NO ? "others are not to blame"
                                       : "the message does not show how much others have";

    return mv_make_text(&w->texts, "%s; %s", is_others ? others : inside,
                        is_others ? inside : others);
}

/* Whether the message is a sentence from PyTorch's allocator whose sizes are missing, because the
 * message was cut off or reworded. */
static bool is_cut(const mv_error_text *e)
{
    return strcmp(e->phrase, "CUDA out of memory") == 0 ||
           strcmp(e->phrase, "HIP out of memory") == 0;
}

static const char *why_bare(const mv_error_text *e)
{
    if (is_cut(e))
        return "PyTorch's allocator reported it, or a program that caught its error; the message "
               "contains no sizes";
    if (strstr(e->phrase, "_FAILED"))
        return "a library (cuBLAS, cuDNN or the like) was refused memory that it requested from "
               "the device outside PyTorch; the message contains no sizes";
    return "CUDA itself reported it, not PyTorch's allocator: the failed request may be for a "
           "context, a library, a CUDA graph or a kernel; the message contains no sizes";
}

/* ---- advice ---------------------------------------------------------------------------------- */

/* Returns the setting, spelled as in this release of PyTorch. */
static const char *setting_of(const mv_error_text *e)
{
    return e->is_before_2 ? "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128 (PyTorch 2.1 and later "
                            "have expandable_segments:True)"
           : e->names_alloc_conf ? "PYTORCH_ALLOC_CONF=expandable_segments:True"
                                 : "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True";
}

static void advise(text_writer *w)
{
    mv_oom_text *t = w->t;
    const mv_error_text *e = t->text;

    if (t->verdict == MV_TEXT_LIMIT)
        t->advice =
            "raise the limit of torch.cuda.set_per_process_memory_fraction(), or hold less; "
            "to see who holds it: " RECORD;
    else if (t->verdict == MV_TEXT_CAPACITY)
        t->advice = "hold less (a smaller batch, checkpointing, sharding) or take a larger device; "
                    "to see who holds it: " RECORD;
    else if (t->verdict == MV_TEXT_OUTSIDE)
        t->advice = "nvidia-smi names the processes: stop or move them, or wait; the message does "
                    "not show whether later requests would then fit: " RECORD;
    else if (t->had_room == MV_ANSWER_YES)
        t->advice = "look for that limit first: a smaller batch need not help; on Windows enlarge "
                    "the page file; to see who held memory: " RECORD;
    else if (e->is_of_host)
        t->advice = "this is the machine's memory, not the GPU's: fewer or smaller workers and "
                    "caches of data, or a larger machine";
    else if (e->is_summary)
        t->advice = "the table does not name lines of code; " RECORD;
    else if (!has(w, MV_ERROR_REQUESTED) && is_cut(e))
        t->advice = "pass the whole message, with \"Tried to allocate ...\"; to find the "
                    "cause: " RECORD;
    else if (!has(w, MV_ERROR_REQUESTED))
        t->advice =
            "leave more of the device to it: empty_cache() before, or less reserved by PyTorch; to "
            "see who held it: memviz run -o run.bin -- python train.py, then memviz ledger run.bin";
    else if (t->holes_do != MV_ANSWER_NO && !e->is_async)
        t->advice = mv_make_text(
            &w->texts, "%stry %s; it only helps against fragmentation. To find the cause: " RECORD,
            t->others_do == MV_ANSWER_YES
                ? "nvidia-smi names the other processes: stop or move them; or "
                : "",
            setting_of(e));
    else
        t->advice = "to find the cause: " RECORD;
}

bool mv_oom_text_write(mv_arena *arena, mv_oom_text *t)
{
    const mv_error_text *e = t->text;
    text_writer w = {{.arena = arena}, t, e->size};

    if (!e->is_async && !e->is_of_host)
        write_request(&w);
    write_device(&w);
    write_pytorch(&w);
    write_processes(&w);
    if (e->is_summary)
        write_summary(&w);
    if (e->is_summary)
        t->why =
            "the state of PyTorch's allocator at one moment; the table does not name a request";
    else if (e->is_of_host)
        t->why = "the machine ran out of memory, not the GPU";
    else if (!has(&w, MV_ERROR_REQUESTED))
        t->why = why_bare(e);
    else if (t->verdict == MV_TEXT_LIMIT)
        t->why = why_limit(&w);
    else if (t->verdict == MV_TEXT_CAPACITY)
        t->why = why_capacity(&w);
    else if (t->verdict == MV_TEXT_OUTSIDE)
        t->why = why_outside(&w);
    else if (t->had_room == MV_ANSWER_YES)
        t->why = why_refused(&w);
    else
        t->why = why_open(&w);
    advise(&w);
    return !w.texts.failed;
}
