#include "cli/terms.h"

#include "cli/report/prose.h"

#define NAME_COLUMNS 18 /* includes the blanks before and after a name */

const mv_term mv_terms[] = {
    {"active", "Bytes of blocks that are allocated, or freed but still waiting for a stream. The "
               "allocator cannot use them for another request."},
    {"address", "A location in device memory. An address is reused many times: 0x7f00#3 is the "
                "third allocation there within the trace."},
    {"age", "The number of events since the oldest of the blocks was allocated."},
    {"allocated", "Bytes of blocks that the program holds: requested bytes, rounded up as the "
                  "allocator does."},
    {"allocation", "One use of a block, from the request to the free."},
    {"annotation",
     "A named range of the program, such as record_function or ProfilerStep. @NAME is "
     "the moment at which it begins."},
    {"apart",
     "In ranks: the difference between a peak and the peak of the reference rank of its group."},
    {"audit", "The check of the figures against the final heap in the file: whether they are exact "
              "to the byte."},
    {"beside", "In fragmentation and oom: the bytes of the blocks that are next to free memory and "
               "pin it."},
    {"block", "A range of a segment that holds one allocation, or is free."},
    {"calls", "In ledger and memory: the number of CUDA calls. In whatif: the number of requests "
              "for device memory."},
    {"capacity", "The most memory that the allocator can take: the device's memory, or less if the "
                 "process has a limit. As a verdict of oom: the program needed more."},
    {"capture", "A file that memviz run recorded. It contains the CUDA calls of all libraries; a "
                "PyTorch snapshot contains only PyTorch's own memory."},
    {"category",
     "The purpose of a block: parameter, gradient, optimizer_state, activation, temporary, "
     "input, workspace, communication, executable or unknown. memviz infers it from when a "
     "block lived and which code allocated it."},
    {"clean",
     "As a verdict of leaks: enough was recorded, and no line keeps memory step after step."},
    {"confidence", "The certainty that a finding is a leak, from 0.5 to 1."},
    {"culprit", "The frame of a stack that you can act on: the innermost one in your own code, if "
                "there is one."},
    {"device", "One GPU, by its number in the process."},
    {"event",
     "One line of the recorded history: an allocation, a free, a segment added or released, "
     "or a request that failed. Events are numbered from 0."},
    {"expandable", "A segment that can grow: the allocator reserves a range of addresses and maps "
                   "memory into it, instead of adding segments (expandable_segments:True)."},
    {"floor", "The least memory that is allocated within a step. A floor that rises from step to "
              "step shows a leak."},
    {"forecast",
     "In oom: the expected peak of the step that failed, estimated from an earlier step."},
    {"fragmentation", "Reserved memory that is free, but in pieces that are too small or in the "
                      "wrong place for the requests of the program."},
    {"fragmented", "As a verdict of fragmentation: much more is reserved than the program needs."},
    {"frame", "One line of a stack: file, line and function."},
    {"gate",
     "A condition of --fail-on. The exit status is 3 if a gate is met, and 4 if that is unknown."},
    {"heap", "The blocks of an allocator that the program registered (memviz.h), such as CuPy's "
             "pool; --level NAME selects them. Elsewhere: all segments and blocks of a device."},
    {"history",
     "The events of a file. It is complete (from an empty heap on), late (recording began "
     "when memory was in use), truncated (the oldest events were overwritten) or none."},
    {"hole", "Free bytes between blocks of a segment that is in use."},
    {"late", "A history that began when memory was already in use. Earlier allocations have no "
             "stack, and the figures are lower bounds."},
    {"leak", "Memory of one line of code that grows with every step and is never freed."},
    {"level", "The memory a report covers (--level): PyTorch's blocks, memory from CUDA calls, "
              "pinned host memory, the whole device, or a heap."},
    {"live", "In lines: the bytes that a line still holds at the end."},
    {"lower-bound",
     "The real figure may be higher, because the history is incomplete. It is marked "
     "with >=."},
    {"marginal",
     "The amount by which the peak would fall without the memory of one site. It is less than the "
     "bytes of the site if another moment then becomes the peak."},
    {"moment",
     "A point of the trace between two events: the peak, the end, an event number, a time "
     "or the beginning of an annotation (--at)."},
    {"ok", "As a verdict of fragmentation: little is reserved beyond what the program needs."},
    {"outside_pytorch", "As a verdict of oom and ledger: memory not taken by PyTorch's allocator, "
                        "in this process or another."},
    {"peak", "The moment at which most bytes are allocated. reserved-peak is the moment at which "
             "most bytes are reserved."},
    {"pending", "Bytes of blocks that were freed but are not yet free, because another stream may "
                "still use them."},
    {"pending_free",
     "As a verdict of oom: enough memory was freed, but a stream might still use it."},
    {"pinned",
     "A segment is pinned by blocks that are in use: PyTorch cannot return it to the "
     "device. Pinned host memory is something else: host memory that the GPU can read directly."},
    {"pool",
     "Segments that share their free blocks. (0, 0) is the default pool; CUDA graphs and "
     "torch.cuda.MemPool have their own. Each pool has separate segments for small requests (up to "
     "1 MiB) and large ones."},
    {"rank", "One process of a distributed job, by its number."},
    {"replay", "A simulation of PyTorch's allocator that repeats the recorded requests, with the "
               "same or with other settings."},
    {"requested", "Bytes as the program requested them, before the allocator rounds up."},
    {"reserved", "Bytes that PyTorch has taken from the device: all segments, in use or free."},
    {"residual", "The allocated bytes of the final heap minus the allocated bytes computed from "
                 "the events. 0 means that the events explain the heap exactly."},
    {"retained", "Memory that is alive at the end without being a leak: it does not grow with the "
                 "steps."},
    {"retries", "Requests that succeeded only after PyTorch had returned cached memory to the "
                "device."},
    {"rounding", "The bytes by which blocks exceed the requests that they serve."},
    {"saves", "In whatif: the reduction of the reserved peak with the settings; a minus means that "
              "it rises."},
    {"segment", "A range of memory that PyTorch took from the device with one call. It contains "
                "blocks."},
    {"site", "A place in the code that allocates: all stacks with the same culprit."},
    {"snapshot", "The file that torch.cuda.memory._dump_snapshot() writes: the heap at one moment, "
                 "and the events before it if recording was on."},
    {"stack", "The frames of the call that requested an allocation, innermost first."},
    {"step", "One iteration of a training loop. Steps come from marks such as ProfilerStep, or are "
             "inferred from the pattern of allocations."},
    {"stranded", "Free bytes in segments that are in use: PyTorch cannot return them to the device "
                 "while blocks next to them are alive."},
    {"stream",
     "A queue of work on a device. Free blocks of one stream are not used for requests of "
     "another."},
    {"stream_or_pool",
     "As a verdict of oom: enough memory was free, but for another stream or another pool."},
    {"suspect", "In oom: the likely cause from the state at the failure alone, not confirmed by "
                "the steps and a replay. With the verdict unknown nothing more is known."},
    {"temporary", "As a category: a block that is freed soon after it was allocated, within the "
                  "same call or step."},
    {"truncated",
     "A history without its oldest events, which were overwritten because the recorder "
     "keeps only max_entries events."},
    {"trust", "The reliability of a replay's figures: exact, high, fair, low or none, according "
              "to the share of the recorded run that it reproduces."},
    {"unexplained",
     "In ledger: memory that the device shows as used but no recorded call accounts for."},
    {"unknown",
     "As a verdict: the file does not contain the data for an answer. The report names the missing "
     "data and how to get it. As a category: the purpose of a block could not be determined."},
    {"unused", "Segments without a block that is in use. PyTorch can return them to the device."},
    {"verdict",
     "The answer of a report in one word. It is unknown if the file does not contain the data for "
     "an answer."},
    {"waiting", "As a verdict of fragmentation: most of the memory that is reserved but not "
                "allocated was freed, but another stream may still use it."},
    {"window", "The events from --from to --to; without them the whole trace."},
    {0}};

const mv_term *mv_term_find(const char *name)
{
    for (const mv_term *t = mv_terms; t->name; t++)
        if (strcmp(t->name, name) == 0)
            return t;
    return NULL;
}

void mv_term_put(mv_out *out, const mv_term *term)
{
    mv_out_text(out, "  ");
    mv_out_style(out, MV_STYLE_BOLD);
    mv_out_format(out, "%-*s", NAME_COLUMNS - 2, term->name);
    mv_out_style(out, MV_STYLE_NONE);
    mv_prose_put(out, NAME_COLUMNS, NAME_COLUMNS, "%s", term->meaning);
}

void mv_terms_put(mv_out *out)
{
    for (const mv_term *t = mv_terms; t->name; t++)
        mv_term_put(out, t);
}
