#include "cli/commands.h"

#include "analyze/fit/size_functions.h"
#include "base/text.h"

#include <limits.h>

#define REPORT_OPTIONS (MV_HAS(JSON) | MV_HAS(CSV) | MV_HAS(TABLE) | MV_HAS(OUTPUT))
#define GATE_OPTIONS   (MV_HAS(FAIL_ON) | MV_HAS(PAGE))
#define RANGE_OPTIONS  (MV_HAS(LEVEL) | MV_HAS(DEVICE) | MV_HAS(FROM) | MV_HAS(TO))
#define PLOT_OPTIONS                                                                             \
    (REPORT_OPTIONS | MV_HAS(SIZE) | MV_HAS(TITLE) | MV_HAS(THEME) | MV_HAS(VIEW) | MV_HAS(AT) | \
     MV_HAS(FILTER) | MV_HAS(TOP) | MV_HAS(BY) | MV_HAS(MOST_EVENTS) | RANGE_OPTIONS)

#define MANY     .least_files = 1, .most_files = INT_MAX
#define ONE_FILE .arguments = "FILE", .least_files = 1, .most_files = 1
#define PLOT                                                                    \
    ONE_FILE, .opens_window = true, .writes_file = true, .writes_beside = true, \
              .reads_part = MV_PART_DEVICE, .report = &mv_report_pictures, .options = PLOT_OPTIONS

static const char SEGMENTS[] = "segments and settings of PyTorch's allocator "
                               "(torch.cuda.memory._dump_snapshot() writes them)";

const mv_command mv_commands[] = {
    {
        .name = "triage",
        .alias = "report",
        .also_tried = "summary overview analyze analyse check diagnose doctor",
        .run = mv_cmd_triage,
        .report = &mv_report_triage,
        .gates = MV_GATES(OOM) | MV_GATES(LEAK) | MV_GATES(FRAGMENTED) | MV_GATES(UNKNOWN) |
                 MV_GATES(PEAK) | MV_GATES(RESERVED),
        .options = REPORT_OPTIONS | GATE_OPTIONS | MV_HAS(LEVEL) | MV_HAS(DEVICE) | MV_HAS(LIMIT),
        MANY,
        .takes_folders = true,
        .arguments = "FILE|FOLDER...",
        .summary = "an overview of a file: the verdict of every report",
        .help = "An overview of a file, and the default command: memviz FILE. One screen: what the "
                "file is, how full the device got, and the verdicts of all reports, the most "
                "serious first. Each verdict names the command with the details. For several files "
                "and folders: the most serious verdicts of all of them.\n",
        .example = "memviz train.pickle\n"
                   "memviz triage --json train.pickle | jq '.findings[0].text'\n"
                   "memviz --fail-on any,known train.pickle\n"
                   "memviz --fail-on leak,oom --format junit -o gpu-memory.xml runs/7\n"
                   "memviz runs/7\n",
    },
    {
        .name = "info",
        .group = MV_COMMAND_GROUP_REPORTS,
        .run = mv_cmd_info,
        .needs_no_events = true,
        .lists_notes = true,
        .report = &mv_report_info,
        .options = REPORT_OPTIONS | MV_HAS(LEVEL) | MV_HAS(DEVICE),
        ONE_FILE,
        .summary = "format, devices and history of a file",
        .help = "Shows the format, the devices, how much of the history the file covers (complete, "
                "late, truncated, none, and why), the allocator's settings, and anything odd in "
                "the file. For a capture, it also shows the process, how it ended, the libraries "
                "that called CUDA, and the losses.\n",
        .example = "memviz info train.pickle\n"
                   "memviz info --json train.pickle | jq .history\n",
    },
    {
        .name = "stats",
        .group = MV_COMMAND_GROUP_REPORTS,
        .run = mv_cmd_stats,
        .reads_part = MV_PART_DEVICE,
        .gates = MV_GATES(PEAK) | MV_GATES(RESERVED),
        .report = &mv_report_stats,
        .options = REPORT_OPTIONS | GATE_OPTIONS | MV_HAS(LEVEL) | MV_HAS(DEVICE) | MV_HAS(LIMIT),
        ONE_FILE,
        .summary = "totals now and at their peaks, by device and pool",
        .help = "The figures of torch.cuda.memory_summary(), for each device and pool, with the "
                "requests that failed or succeeded only after cache had been freed, and the memory "
                "of each captured CUDA graph. The audit shows whether they are exact to the byte. "
                "A peak that is only a lower bound is marked with >=, an upper bound with <=, a "
                "bound in either direction with ~. --limit limits the pools and captures shown for "
                "each device.\n",
        .example = "memviz stats train.pickle\n"
                   "memviz stats --json --device 0 train.pickle | jq '.devices[0].peak'\n",
    },
    {
        .name = "trace",
        .group = MV_COMMAND_GROUP_REPORTS,
        .run = mv_cmd_trace,
        .reads_part = MV_PART_EVENTS,
        .report = &mv_report_trace,
        .options = REPORT_OPTIONS | MV_HAS(LIMIT) | MV_HAS(FRAMES) | MV_HAS(WITH) | RANGE_OPTIONS,
        ONE_FILE,
        .summary = "the events as readable lines",
        .help =
            "One line for each event: its number, seconds since the start, the action, the address "
            "(#3 is the third allocation there; #0 was allocated before the trace), size, stream "
            "and the line of your code. On a terminal 50 events are shown; --limit changes that. "
            "--with adds the operators and shapes of a trace of torch.profiler.\n",
        .example = "memviz trace --from 1.5s --limit 20 train.pickle\n"
                   "memviz trace --from @ProfilerStep#3 --frames all train.pickle\n",
    },
    {
        .name = "leaks",
        .group = MV_COMMAND_GROUP_REPORTS,
        .run = mv_cmd_leaks,
        .reads_part = MV_PART_LIVING,
        .report = &mv_report_leaks,
        .gates = MV_GATES(LEAK) | MV_GATES(UNKNOWN),
        .options = REPORT_OPTIONS | MV_HAS(LIMIT) | MV_HAS(FRAMES) | GATE_OPTIONS |
                   MV_HAS(CAPACITY) | MV_HAS(WITH) | RANGE_OPTIONS,
        ONE_FILE,
        .summary = "memory that grows and is never freed",
        .help = "For each leak: the line of your code to look at, the bytes it gains in each step, "
                "and what to do. Then: what else is alive at the end without growing, and when the "
                "leaks will have filled the device, if its size is known (from an out-of-memory "
                "event, a capture's samples, or --capacity). 10 rows are shown; --limit changes "
                "that. --with adds the operators and shapes of a trace of torch.profiler.\n",
        .example = "memviz leaks train.pickle\n"
                   "memviz leaks --json --fail-on leak train.pickle >leaks.json\n",
    },
    {
        .name = "diff",
        .group = MV_COMMAND_GROUP_SEVERAL,
        .alias = "compare",
        .run = mv_cmd_diff,
        .reads_part = MV_PART_MOMENT,
        .report = &mv_report_diff,
        .gates = MV_GATES(DELTA) | MV_GATES(RESERVED),
        .options = REPORT_OPTIONS | MV_HAS(LIMIT) | MV_HAS(AT) | MV_HAS(FRAMES) | GATE_OPTIONS |
                   MV_HAS(SIZE) | MV_HAS(TITLE) | MV_HAS(THEME) | RANGE_OPTIONS,
        .least_files = 2,
        .most_files = 2,
        .pictures = ".svg, .png, .folded",
        .arguments = "BEFORE AFTER",
        .summary = "the difference between two snapshots",
        .help =
            "Shows the lines of code that hold more memory than before, or less, are new or are "
            "gone. The runs are compared at their peaks; --at names another moment. The rows add "
            "up to the difference exactly. Reserved memory is compared at its own peak, and its "
            "difference is split into need, rounding, streams and pools, holes, and unused "
            "segments. -o X.svg or X.png draws the difference as a flame graph instead; X.folded "
            "contains each stack with its bytes before and after, for flame graph tools.\n",
        .example = "memviz diff before.pickle after.pickle\n"
                   "memviz diff --fail-on 'delta>100MiB' main.pickle branch.pickle\n"
                   "memviz diff before.pickle after.pickle -o change.svg\n",
    },
    {
        .name = "peak",
        .group = MV_COMMAND_GROUP_REPORTS,
        .also_tried = "who table",
        .run = mv_cmd_peak,
        .reads_part = MV_PART_DEVICE,
        .report = &mv_report_peak,
        .gates = MV_GATES(PEAK) | MV_GATES(RESERVED),
        .options = REPORT_OPTIONS | MV_HAS(LIMIT) | MV_HAS(FRAMES) | GATE_OPTIONS | MV_HAS(AT) |
                   MV_HAS(RULES) | MV_HAS(TARGET) | MV_HAS(BY) | MV_HAS(WITH) | RANGE_OPTIONS,
        ONE_FILE,
        .summary = "who holds memory at the peak",
        .help =
            "Every byte allocated at the peak, or at the moment of --at, by line of your code and "
            "by category. \"marginal\" is how far the peak would fall without that site; it is "
            "less than the site's bytes if another moment then becomes the peak. --target names "
            "the fewest sites without which the peak fits. --by groups by other facts in the file: "
            "names of tensors and metadata, annotations, forward line of a backward block, "
            "compiled regions, torch.fx nodes, layers, modules; on --level cuda or all, libraries. "
            "Sites within a loop over modules are split by layer. --with adds the operators and "
            "shapes of a trace of torch.profiler of the same run.\n",
        .example = "memviz peak train.pickle\n"
                   "memviz peak --at @ProfilerStep#3 --target 40GiB train.pickle\n"
                   "memviz peak --with trace.json.gz train.pickle\n"
                   "memviz peak --json --fail-on 'peak>70GiB' train.pickle >peak.json\n",
    },
    {
        .name = "lines",
        .group = MV_COMMAND_GROUP_REPORTS,
        .run = mv_cmd_lines,
        .reads_part = MV_PART_LIVING,
        .report = &mv_report_lines,
        .options = REPORT_OPTIONS | MV_HAS(LIMIT) | MV_HAS(SOURCE) | MV_HAS(BY) | MV_HAS(WITH) |
                   RANGE_OPTIONS,
        ONE_FILE,
        .summary = "a line profile: bytes allocated and held by each line of code",
        .help =
            "For each line of your code: the most bytes that it held at once (peak), the bytes "
            "that it allocated in all (total), and the bytes that it still holds at the end "
            "(live). active and reserved are the device's highest totals right after an allocation "
            "of that line. --source shows the line itself if the file is on this machine, and "
            "warns if the file is another version. --by groups by other facts than lines, as in "
            "peak. --with adds the operators and shapes of a trace of torch.profiler.\n",
        .example = "memviz lines train.pickle\n"
                   "memviz lines --source auto --from @ProfilerStep#3 train.pickle\n",
    },
    {
        .name = "fragmentation",
        .group = MV_COMMAND_GROUP_REPORTS,
        .run = mv_cmd_fragmentation,
        .reads_part = MV_PART_DEVICE,
        .needs = SEGMENTS,
        .report = &mv_report_fragmentation,
        .gates = MV_GATES(FRAGMENTED) | MV_GATES(UNKNOWN) | MV_GATES(RESERVED),
        .options = REPORT_OPTIONS | MV_HAS(LIMIT) | MV_HAS(FRAMES) | MV_HAS(AT) | GATE_OPTIONS |
                   RANGE_OPTIONS,
        ONE_FILE,
        .summary = "memory reserved but not used: how much, why, who pins it",
        .help = "Shows whether the allocator took far more memory than the run ever used at once, "
                "where the free memory is, which lines pin it, why segments were added although "
                "memory was free, and which setting helps. Each setting is replayed, and its gain "
                "is the figure that whatif shows. If most of the memory was freed but waits for a "
                "stream, the report names the lines that freed it. The moment is the peak of "
                "reserved memory unless --at names another.\n",
        .example = "memviz fragmentation train.pickle\n"
                   "memviz fragmentation --at end --json train.pickle | jq .pinned_by\n",
    },
    {
        .name = "memory",
        .group = MV_COMMAND_GROUP_PICTURES,
        .also_tried = "flamegraph flame tree heap",
        .run = mv_cmd_memory,
        .reads_part = MV_PART_MOMENT,
        .report = &mv_report_memory,
        .options = REPORT_OPTIONS | MV_HAS(SIZE) | MV_HAS(TITLE) | MV_HAS(THEME) | MV_HAS(FRAMES) |
                   MV_HAS(AT) | MV_HAS(FILTER) | MV_HAS(TOP) | MV_HAS(MOST_EVENTS) | MV_HAS(LIMIT) |
                   MV_HAS(DEPTH) | MV_HAS(BY) | RANGE_OPTIONS,
        .writes_file = true,
        ONE_FILE,
        .summary = "live bytes by stack: a tree, or a flame graph",
        .help =
            "The bytes that are allocated at the end, or at the moment of --at, by call stack: a "
            "tree, callers above callees, without branches below 1%. Calls in a row share a line. "
            "--limit, --depth and --frames show more or less of it. --by groups the bytes by other "
            "facts instead: library (who called CUDA, on --level cuda or all), line, annotation "
            "and others, as in peak. --by module shows a tree of modules, if the file has names of "
            "tensors (memviz.record(names=model)): a level for each part of a name. -o X.svg or "
            "X.png draws a flame graph, the largest on the left. X.html is the viewer as a page, "
            "with the trace inside. X.folded contains folded stacks, for flamegraph.pl, speedscope "
            "and others: frames, outermost first, joined by ';', then the bytes.\n",
        .example = "memviz memory --at peak train.pickle\n"
                   "memviz memory --by module train.pickle\n"
                   "memviz memory --at peak train.pickle -o peak.svg\n"
                   "memviz memory --at peak train.pickle -o peak.html\n"
                   "memviz memory train.pickle -o train.folded\n"
                   "memviz memory --at peak train.pickle -o - | flamegraph.pl >peak.svg\n",
    },
    {
        .name = "segments",
        .group = MV_COMMAND_GROUP_PICTURES,
        .run = mv_cmd_segments,
        .reads_part = MV_PART_DEVICE,
        .writes_beside = true,
        .report = &mv_report_pictures,
        .options = REPORT_OPTIONS | MV_HAS(SIZE) | MV_HAS(TITLE) | MV_HAS(THEME) | MV_HAS(FRAMES) |
                   MV_HAS(AT) | MV_HAS(FILTER) | MV_HAS(TOP) | MV_HAS(MOST_EVENTS) | RANGE_OPTIONS,
        .writes_file = true,
        ONE_FILE,
        .summary = "flame graph of reserved bytes by segment and stack",
        .help = "Draws a flame graph to -o X.html, X.svg or X.png, else to FILE.html, or writes "
                "folded stacks to -o X.folded: segment, pool, stream, whether the bytes are "
                "allocated, waiting for a stream or free, then the frames, outermost first. The "
                "lines add up to the bytes reserved at the end, or at the moment of --at.\n",
        .example = "memviz segments train.pickle -o segments.svg\n"
                   "memviz segments --at reserved-peak train.pickle -o - | flamegraph.pl >s.svg\n",
    },
    {
        .name = "ledger",
        .group = MV_COMMAND_GROUP_REPORTS,
        .also_tried = "nvidia-smi smi",
        .run = mv_cmd_ledger,
        .needs = "CUDA calls (memviz run records them)",
        .report = &mv_report_ledger,
        .options = REPORT_OPTIONS | MV_HAS(DEVICE) | MV_HAS(LIMIT) | MV_HAS(AT),
        ONE_FILE,
        .summary = "where all device memory went, in PyTorch and elsewhere",
        .help = "For a capture (memviz run): the memory that PyTorch, NCCL, cuBLAS and all other "
                "libraries requested from CUDA and still held, by library and API; an estimate of "
                "the CUDA context and the loaded code; and the unexplained rest. The rows add up "
                "to what the device shows as used, at each of its samples. The moment is the "
                "sample with the highest use unless --at names another.\n",
        .example = "memviz ledger train.bin\n"
                   "memviz ledger --json --at end train.bin | jq '.devices[0].unexplained'\n",
    },
    {
        .name = "oom",
        .group = MV_COMMAND_GROUP_REPORTS,
        .also_tried = "why",
        .run = mv_cmd_oom,
        .needs = SEGMENTS,
        .needs_failures = true,
        .reads_part = MV_PART_LIVING,
        .report = &mv_report_oom,
        .gates = MV_GATES(OOM) | MV_GATES(UNKNOWN),
        .options = REPORT_OPTIONS | GATE_OPTIONS | MV_HAS(LIMIT) | MV_HAS(FRAMES) |
                   (RANGE_OPTIONS & ~MV_HAS(LEVEL)),
        .least_files = 1,
        .most_files = 1,
        .arguments = "FILE|TEXT",
        .summary = "causes of out-of-memory errors, and what would have helped",
        .help =
            "For each request that failed: its size, what the device and the cache had, and the "
            "verdict: capacity, fragmentation, stream_or_pool, pending_free, outside_pytorch or "
            "unknown. Then what the step would still have requested, the lines that pin or hold "
            "the memory, and the smallest change with which the request would have succeeded. A "
            "setting is advised only if a replay with it served the request. A capture also shows "
            "the calls that the device refused; for a program without PyTorch, it shows only "
            "these, with the verdict capacity, outside or unknown. Without a snapshot, pass the "
            "text of the error, a log that contains it (- is standard input), or the table of "
            "torch.cuda.memory_summary(). The figures in it are added up, and the verdict is "
            "limit, capacity or outside_pytorch where they prove it.\n",
        .example = "memviz oom train.pickle\n"
                   "memviz oom 'CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has ...'\n"
                   "memviz oom error.log\n"
                   "memviz oom --json train.pickle | jq '.ooms[].verdict'\n",
    },
    {
        .name = "floor",
        .group = MV_COMMAND_GROUP_REPORTS,
        .also_tried = "minimum bound ideal pack",
        .run = mv_cmd_floor,
        .reads_part = MV_PART_DEVICE,
        .report = &mv_report_floor,
        .options = REPORT_OPTIONS | MV_HAS(LEVEL) | MV_HAS(DEVICE),
        ONE_FILE,
        .summary = "the least memory that any allocator could have reserved",
        .help = "Splits the peak of reserved memory into three parts: the memory that any "
                "allocator needs, the cost of separate streams and pools, and the cost of "
                "placement, segments and the cache. The first is a bound: the most bytes in use at "
                "once. Next to it is the size of the best placement of all blocks that memviz "
                "found and checked; if both are equal, no better placement exists.\n",
        .example = "memviz floor train.pickle\n"
                   "memviz floor --json train.pickle | jq '.devices[0].lower'\n",
    },
    {
        .name = "whatif",
        .group = MV_COMMAND_GROUP_REPORTS,
        .also_tried = "simulate replay",
        .run = mv_cmd_whatif,
        .reads_part = MV_PART_DEVICE,
        .needs = SEGMENTS,
        .report = &mv_report_whatif,
        .options = REPORT_OPTIONS | MV_HAS(DEVICE) | MV_HAS(LIMIT) | MV_HAS(FRAMES) | MV_HAS(CONF) |
                   MV_HAS(CAPACITY) | MV_HAS(TARGET) | MV_CHANGE_OPTIONS | MV_HAS(RANKS),
        ONE_FILE,
        .summary = "the effect of other PYTORCH_CUDA_ALLOC_CONF settings, or of other code",
        .help = "Replays the trace on a simulation of PyTorch's allocator: how much memory each "
                "--conf would have taken from the device at its peak, and with how many calls. "
                "--conf '' means the defaults. Without --conf a set of settings is tried and "
                "ranked. --capacity limits the memory of the device, or of the process; then "
                "failures and garbage collection are replayed too. The recorded run itself is "
                "replayed first; if the replay does not match it, no advice is given. --drop, "
                "--scale and the other changes edit what the program requested before it is "
                "replayed; all of them make one run, and what each assumes is printed. F is a "
                "filter, as --filter takes it. --target looks for the cheapest changes that keep "
                "the run within SIZE: settings, empty_cache(), recomputing the loops over modules "
                "and moving activations to the host, each replayed. --target oom looks for those "
                "that serve the request that failed and leave room for the rest of the step.\n",
        .example = "memviz whatif train.pickle\n"
                   "memviz whatif --recompute 'site:model.py:62' --drop aux_loss train.pickle\n"
                   "memviz whatif --target 20GiB train.pickle\n"
                   "memviz whatif --target oom failed.pickle\n"
                   "memviz whatif --conf expandable_segments:True --capacity 40GiB train.pickle\n"
                   "memviz whatif --json train.pickle | jq '.runs[0]'\n",
    },
    {
        .name = "fit",
        .group = MV_COMMAND_GROUP_SEVERAL,
        .also_tried = "predict batch scale",
        .run = mv_cmd_fit,
        .needs = SEGMENTS,
        .report = &mv_report_fit,
        .options = REPORT_OPTIONS | MV_HAS(DEVICE) | MV_HAS(AT) | MV_HAS(CAPACITY),
        .takes_sizes = true,
        .least_files = 1,
        .most_files = MV_MOST_FIT_RUNS,
        .arguments = "FILE=SIZE...",
        .summary = "the peaks at other batch sizes or sequence lengths, and which size fits",
        .help =
            "Takes recordings of one program with different input sizes: two if the batch or the "
            "sequence varies, three if both do (8x512), or one whose steps have several sizes "
            "(FILE=8,16). The allocations of the recordings are matched, the bytes of each become "
            "a function of the size, and the run is replayed with the bytes of each size in --at. "
            "If the recordings leave a size undecided, its peak has bounds, and a figure only if "
            "the bounds differ by at most 2 %; another recording narrows them. --capacity limits "
            "the memory that may be reserved, and finds the largest size that fits.\n",
        .example = "memviz fit batch8.pickle=8 batch16.pickle=16 --at 24,32 --capacity 80GiB\n"
                   "memviz fit a.pickle=8x512 b.pickle=16x512 c.pickle=8x1024 --at 16x2048\n"
                   "memviz fit --json --at 24 b8.pickle=8 b16.pickle=16 | jq '.points[0]'\n",
    },
    {
        .name = "ranks",
        .group = MV_COMMAND_GROUP_SEVERAL,
        .run = mv_cmd_ranks,
        .reads_part = MV_PART_LIVING,
        .reads_summaries = true,
        .report = &mv_report_ranks,
        .gates = MV_GATES(LEAK) | MV_GATES(OOM) | MV_GATES(UNKNOWN) | MV_GATES(PEAK) |
                 MV_GATES(RESERVED),
        .options = REPORT_OPTIONS | MV_HAS(LIMIT) | MV_HAS(FRAMES) | GATE_OPTIONS | RANGE_OPTIONS |
                   MV_HAS(GROUPS),
        MANY,
        .takes_folders = true,
        .arguments = "FILE...",
        .summary = "several ranks or devices side by side",
        .help = "One row for each rank (or device of a file): its peaks, leak verdict, steps, and "
                "where it first differs from most ranks. Then the outliers, with the reasons. The "
                "stages of a pipeline are found, and each rank is compared with its stage; "
                "--groups states the stages, for files whose names are in the order of the ranks. "
                "FILE can be a summary written by memviz summarize.\n",
        .example = "memviz ranks rank*.pickle\n"
                   "memviz ranks --groups tp=8,pp=4 rank*.pickle\n"
                   "memviz ranks --json *.summary | jq .outliers\n",
    },
    {
        .name = "summarize",
        .group = MV_COMMAND_GROUP_SEVERAL,
        .run = mv_cmd_summarize,
        .reads_part = MV_PART_LIVING,
        .writes_beside = true,
        .reads_summaries = true,
        .report = &mv_report_summarize,
        .options = REPORT_OPTIONS | RANGE_OPTIONS,
        MANY,
        .writes_file = true,
        .takes_folders = true,
        .arguments = "FILE...",
        .summary = "a small file that ranks reads instead of a snapshot",
        .help = "Writes only what memviz ranks needs from each snapshot, to -o X.summary, else to "
                "FILE.summary. Several files, also summaries, become one.\n",
        .example = "memviz summarize rank7.pickle -o rank7.summary\n"
                   "memviz summarize node1.summary node2.summary -o all.summary\n",
    },
    {
        .name = "trace_plot",
        .group = MV_COMMAND_GROUP_PICTURES,
        .also_tried = "plot timeline draw",
        .run = mv_cmd_trace_plot,
        PLOT,
        .summary = "the memory timeline as a picture",
        .help = "Memory over time: allocated bytes stacked by allocation, the reserved line above "
                "them, the peak, and the call sites that hold most. It is written to -o X.html, "
                "X.svg or X.png, else to FILE.html, and the path is printed. X.html is one file "
                "that needs only a browser: the viewer and all reports, with the trace inside. A "
                "page of a very long trace omits the blocks that hold least (--most-events). It "
                "opens on --from to --to, with --filter and --top as its search. In X.svg and "
                "X.png each device has a panel of --size, one below the other; idle devices are "
                "omitted. -o - writes SVG to standard output. --view pools draws each memory pool "
                "separately; --view segments and --view state draw what segment_plot draws. "
                "--filter draws only what matches, and shows its share of the peak. --top N draws "
                "the N largest one by one, and all others as one grey band. On a terminal with a "
                "display, without -o, it is shown in the viewer's window.\n",
        .example = "memviz trace_plot train.pickle\n"
                   "memviz trace_plot train.pickle -o timeline.svg\n"
                   "memviz trace_plot --filter 'forward size>1M' train.pickle -o forward.png\n"
                   "memviz trace_plot --view pools graphs.pickle -o pools.png\n"
                   "memviz trace_plot --size 1600x900 --theme dark train.pickle -o slide.png\n"
                   "memviz trace_plot --from @ProfilerStep#3 --to @ProfilerStep#4 train.pickle\n",
    },
    {
        .name = "segment_plot",
        .group = MV_COMMAND_GROUP_PICTURES,
        .run = mv_cmd_segment_plot,
        PLOT,
        .summary = "the allocator's segments as a picture",
        .help = "Segments over time: what PyTorch took from the device, when, which line requested "
                "it, and how much of it tensors used; for expandable segments also the mapped and "
                "unmapped parts. With --view state, or --at: every segment that is reserved at the "
                "end, or at that moment, and the blocks in it at their addresses, by pool and "
                "stream. It is written to -o X.html, X.svg or X.png, else to FILE.html, and the "
                "path is printed. --view active draws what trace_plot draws. On a terminal with a "
                "display, without -o, it is shown in the viewer's window.\n",
        .example = "memviz segment_plot train.pickle -o segments.svg\n"
                   "memviz segment_plot --at reserved-peak train.pickle -o state.svg\n",
    },
    {
        .name = "view",
        .group = MV_COMMAND_GROUP_PICTURES,
        .also_tried = "show open gui ui",
        .run = mv_cmd_view,
        .opens_window = true,
        .is_interactive = true,
        .report = &mv_report_view,
        .options = MV_HAS(JSON) | MV_HAS(AT) | MV_HAS(FILTER) | MV_HAS(VIEW) | MV_HAS(THEME) |
                   MV_HAS(SIZE) | MV_HAS(SCALE) | MV_HAS(RENDERER) | MV_HAS(MEM) |
                   MV_HAS(HEADLESS) | MV_HAS(SCRIPT) | MV_HAS(SHOT) | MV_HAS(BENCH) |
                   MV_HAS(FRAMES) | MV_HAS(SESSION) | MV_HAS(STATE) | MV_HAS(SAMPLE) |
                   MV_HAS(FOLLOW) | RANGE_OPTIONS,
        .least_files = 0,
        .most_files = 1024,
        .takes_folders = true,
        .arguments = "[FILE...]",
        .summary = "look at snapshots in a window",
        .help = "Opens a window: allocations and segments over time, the allocator's state, flame "
                "graphs, tables and the findings of the reports, all linked. The wheel zooms, a "
                "drag selects, / searches, ? shows all keys; Tab, arrows and Enter reach "
                "everything without a mouse. It opens on --level, --from, --to, --at, --filter, "
                "--device and --view; several files are lanes, side by side. Ctrl+S saves a "
                "session, --session opens it again; Ctrl+Shift+C copies a command line that shows "
                "the same, with everything else in --state. --sample opens the built-in recording, "
                "which every command reads under the name memviz:sample. --follow shows newer data "
                "of a recording that is being written, Shift+F stops and resumes that. --headless "
                "needs no window: --script runs a session from a file (docs/viewer.md), --shot "
                "writes a PNG, and --bench times frames. It needs SDL 2.0.20 or newer.\n",
        .example = "memviz view train.pickle\n"
                   "memviz view --sample\n"
                   "memviz view --filter 'leak size>1M' --at peak train.pickle\n"
                   "memviz view --session leak.session\n"
                   "memviz view --follow 4711\n"
                   "memviz view --headless --shot view.png --size 1600x900 train.pickle\n"
                   "memviz view --headless --bench panzoom --frames 600 --json train.bin\n",
    },
    {
        .name = "serve",
        .group = MV_COMMAND_GROUP_PICTURES,
        .run = mv_cmd_serve,
        .is_interactive = true,
        .serves = true,
        .report = &mv_report_serve,
        .options = MV_HAS(JSON) | MV_HAS(PORT),
        MANY,
        .confines_itself = true,
        .arguments = "FILE|FOLDER...",
        .summary = "the viewer in the browser of another machine, over SSH",
        .help = "Serves the viewer's page and the snapshots over HTTP, on 127.0.0.1 only, until "
                "Ctrl+C. It prints the address, which cannot be guessed, and the ssh -L command "
                "with which your own machine reaches it. Folders are listed; choose one file, some "
                "ranks, or two files to compare. Each file is sent as a .bin, far smaller than a "
                "pickle and made on request. Nothing is written.\n",
        .example = "memviz serve train.pickle\n"
                   "memviz serve --port 8100 /scratch/run7\n",
    },
    {
        .name = "mcp",
        .group = MV_COMMAND_GROUP_OTHERS,
        .run = mv_cmd_mcp,
        .is_interactive = true,
        .serves = true,
        .confines_itself = true,
        .arguments = "",
        .summary = "an MCP server (Model Context Protocol): the reports for agents",
        .help =
            "Answers requests of the Model Context Protocol on standard input and output, until "
            "the input ends: one tool for each report, two for pictures. Clients start it; paths "
            "are relative to the folder in which it was started. Nothing is written.\n",
        .example = "memviz mcp\n",
    },
    {
        .name = "run",
        .group = MV_COMMAND_GROUP_RECORD,
        .also_tried = "record capture",
        .run = mv_cmd_run,
        .options = MV_HAS(STACKS) | MV_HAS(CPU) | MV_HAS(WAIT_FREE) | MV_HAS(NVTX_ALL) |
                   MV_HAS(START_AFTER) | MV_HAS(STOP_AFTER) | MV_HAS(MAX_SIZE) | MV_HAS(MAX_AGE) |
                   MV_HAS(ON) | MV_HAS(AFTER) | MV_HAS(COOLDOWN) | MV_HAS(KEEP) | MV_HAS(OUTPUT) |
                   MV_STOP_AT_WORD,
        MANY,
        .writes_file = true,
        .starts_program = true,
        .arguments = "[--] CMD...",
        .summary = "run a program and record its GPU memory",
        .help =
            "Runs CMD unchanged, with a preloaded library that records every allocation of CUDA\n"
            "and PyTorch in CMD and in every process that it starts. The result is written to\n"
            "-o F.bin (default: memviz.%p.bin; %p: pid, %r: rank, %h: host). The last line names\n"
            "it, and the exit status is CMD's. The recording survives if CMD is killed.\n",
        .example = "memviz run -o train.bin -- python train.py --epochs 3\n"
                   "memviz run --start-after 'step 1000' -o late.bin -- python train.py\n"
                   "memviz run -o 'run.%r.bin' -- torchrun --nproc-per-node 8 train.py\n"
                   "memviz run --max-size 512M --max-age 10m -- python serve.py\n",
    },
    {
        .name = "dry-run",
        .group = MV_COMMAND_GROUP_RECORD,
        .also_tried = "predict estimate simulate dryrun dry_run fits",
        .run = mv_cmd_dry_run,
        .options = MV_HAS(STEPS) | MV_HAS(GPU) | MV_HAS(RANKS) | MV_HAS(EXPECT) | MV_HAS(OUTPUT) |
                   MV_STOP_AT_WORD,
        MANY,
        .writes_file = true,
        .starts_program = true,
        .arguments = "[--] python SCRIPT...",
        .summary = "predict the GPU memory of a PyTorch program without a GPU",
        .help = "Runs a Python program unchanged, on a machine with or without a GPU, until its "
                "optimizers have made --steps N steps. Tensors on the GPU take no memory and "
                "nothing is computed; what the program would have allocated and reserved is "
                "written as a snapshot to -o F.pickle (default: memviz.dry-run.pickle; %p: pid, "
                "%r: rank, %h: host), which every report reads. The last lines report the basis of "
                "the prediction and whether the program fits --gpu, a name such as a100-40gb or a "
                "number of MiB. --ranks N predicts for one of N ranks, whose collectives do "
                "nothing. It needs PyTorch 2.2 or later.\n",
        .example = "memviz dry-run -- python train.py --batch 32\n"
                   "memviz dry-run --expect --gpu a100-40gb -- python train.py\n",
    },
    {
        .name = "attach",
        .group = MV_COMMAND_GROUP_RECORD,
        .run = mv_cmd_attach,
        .report = &mv_report_attach,
        .options = MV_HAS(JSON) | MV_HAS(FOR) | MV_HAS(OUTPUT),
        .least_files = 1,
        .most_files = 1,
        .writes_file = true,
        .starts_program = true,
        .confines_itself = true,
        .arguments = "PID",
        .summary = "record a Python process that is already running",
        .help = "Starts PyTorch's own recorder in process PID, waits for the time of --for or "
                "Ctrl-C, lets PyTorch write its snapshot to -o FILE (default: memviz.PID.pickle), "
                "and stops the recorder. The program needs no restart and no preparation. It stops "
                "for less than a millisecond, and while PyTorch writes the snapshot. Blocks that "
                "were allocated before have no stack. It needs the permissions of a debugger: the "
                "same user and kernel.yama.ptrace_scope 0, or root.\n",
        .example = "memviz attach 4711\n"
                   "memviz attach 4711 --for 5m -o late.pickle\n",
    },
    {
        .name = "top",
        .group = MV_COMMAND_GROUP_RECORD,
        .also_tried = "watch monitor htop live",
        .run = mv_cmd_top,
        .report = &mv_report_top,
        .options = REPORT_OPTIONS | MV_HAS(OLDER) | MV_HAS(LIMIT) | MV_HAS(ONCE) | MV_HAS(METRICS) |
                   MV_HAS(DEVICE) | MV_HAS(LEVEL),
        MANY,
        .confines_itself = true,
        .is_interactive = true,
        .arguments = "PID|FILE...",
        .summary = "who holds memory now, in programs that are being recorded",
        .help = "The memory that a program under memviz run holds now: the device's memory in use, "
                "by library, allocated and reserved; the lines that hold most, how much each has "
                "grown in the last 5 minutes, and the age of its oldest block; and the leak "
                "verdict so far. PID is the program's process, or memviz run's for all processes "
                "of its run. FILE is a live file (NAME.PID.live) or a finished recording, which is "
                "shown as it was at its end. --older 5m shows only blocks that are at least this "
                "old, whether or not the program has steps. On a terminal the report is redrawn "
                "each second. --metrics serves the figures for Prometheus.\n",
        .example = "memviz top 4711\n"
                   "memviz top --older 10m --json 4711 | jq '.devices[0].lines[0]'\n"
                   "memviz top --once run.*.live\n",
    },
    {
        .name = "ctl",
        .group = MV_COMMAND_GROUP_RECORD,
        .also_tried = "control pause resume mark stop dump-now",
        .run = mv_cmd_ctl,
        .report = &mv_report_ctl,
        .options = REPORT_OPTIONS & ~MV_HAS(OUTPUT),
        .least_files = 2,
        .most_files = 3,
        .confines_itself = true,
        .takes_words = true,
        .arguments = "PID|FILE status|mark TEXT|pause|resume|snapshot [FILE]|stop",
        .summary = "control a run that is being recorded",
        .help = "Controls memviz run while its program runs. status prints what is recorded and "
                "kept; mark TEXT names a moment for reports (--from @TEXT); between pause and "
                "resume, only blocks that outlive the pause are kept; snapshot writes the "
                "recording so far to a file (default: NAME.snapshot.K.bin beside the result); stop "
                "ends the recording and leaves the program running. PID is the process of the "
                "program or of memviz run; FILE is a live file. Only the same user can do this.\n",
        .example = "memviz ctl 4711 status --json\n"
                   "memviz ctl 4711 mark 'epoch 3'\n"
                   "memviz ctl 4711 snapshot now.bin\n",
    },
    {
        .name = "convert",
        .group = MV_COMMAND_GROUP_OTHERS,
        .run = mv_cmd_convert,
        .adds_nothing = true,
        .writes_last = true,
        .report = &mv_report_convert,
        .options = REPORT_OPTIONS | MV_HAS(PLAIN) | MV_HAS(SYMBOLS) | MV_HAS(MOST_EVENTS),
        .least_files = 1,
        .most_files = 2,
        .writes_file = true,
        .arguments = "IN OUT | IN -o OUT",
        .summary = "write a snapshot in another format",
        .help =
            "The suffix of OUT chooses the format. .bin is memviz's own container, small and quick "
            "to open. .msgpack is PyTorch's own dict, as msgpack.packb(pickle.load(f)) writes it: "
            "without notes, the data of captures, and which events belong to one allocator call, "
            "which oom, whatif and fragmentation need. .html is the viewer and all reports as one "
            "page for any browser, with the snapshot inside; a page of a very long trace omits the "
            "blocks that hold least (--most-events). Otherwise nothing that memviz models is lost. "
            "A live file from another machine is read without the names in its native stacks; with "
            "--symbols its libraries are searched for on this machine.\n",
        .example = "memviz convert train.pickle train.bin\n"
                   "memviz convert train.bin train.msgpack\n"
                   "memviz convert train.pickle train.html\n",
    },
    {
        .name = "export",
        .group = MV_COMMAND_GROUP_OTHERS,
        .run = mv_cmd_export,
        .copies_tables = true,
        .report = &mv_report_export,
        .options = MV_HAS(JSON) | MV_HAS(LEVEL) | MV_HAS(DEVICE) | MV_HAS(AT) | MV_HAS(FORMAT) |
                   MV_HAS(TABLE) | MV_HAS(FRAMES) | MV_HAS(OUTPUT),
        .writes_file = true,
        ONE_FILE,
        .summary = "a snapshot for Perfetto, speedscope, SQLite or a spreadsheet",
        .help = "Writes the contents of the file for another tool to -o OUT, or to standard output "
                "with -o -. --format chooses the tool:\n"
                "  perfetto    totals, annotations, out-of-memory events      ui.perfetto.dev\n"
                "  speedscope  who holds memory at the end or at --at, and\n"
                "              who allocated how much in all                  speedscope.app\n"
                "  folded      who holds memory, as folded stacks             flamegraph.pl\n"
                "  csv         one table, chosen by --table\n"
                "  sqlite      all tables, for sqlite3 and pandas\n"
                "Without --format the suffix of OUT decides: .perfetto-trace or .pftrace, .json "
                "(speedscope), .folded, .csv, .sqlite or .db.\n",
        .example = "memviz export train.pickle -o train.perfetto-trace\n"
                   "memviz export --at peak train.pickle -o peak.speedscope.json\n"
                   "memviz export train.pickle -o train.sqlite\n"
                   "memviz export --format csv --table events train.pickle -o - | head\n",
    },
    {
        .name = "dump",
        .group = MV_COMMAND_GROUP_OTHERS,
        .run = mv_cmd_dump,
        .adds_nothing = true,
        .options = MV_HAS(CALLS) | MV_HAS(CHUNKS) | MV_HAS(OUTPUT),
        ONE_FILE,
        .summary = "every row of a file as text, for debugging files",
        .help = "The whole snapshot as lines that do not depend on the file's format: equal dumps "
                "mean equal snapshots. --calls adds which rows belong to the same allocator call, "
                "which plain msgpack cannot store. --chunks lists the chunks of a .bin instead.\n",
        .example = "memviz dump train.bin | less\n"
                   "diff <(memviz dump a.pickle) <(memviz dump a.bin)\n",
    },
    {
        .name = "completion",
        .group = MV_COMMAND_GROUP_OTHERS,
        .run = mv_cmd_completion,
        .takes_words = true,
        .options = MV_HAS(OUTPUT),
        MANY,
        .arguments = "bash|zsh|fish",
        .summary = "a shell script that completes memviz's command line",
        .help = "Prints the completion script for a shell.\n",
        .example = "source <(memviz completion bash)\n"
                   "memviz completion fish -o ~/.config/fish/completions/memviz.fish\n",
    },
    {
        .name = "help",
        .group = MV_COMMAND_GROUP_HELP,
        .run = mv_cmd_help,
        .takes_words = true,
        .most_files = 2,
        .arguments = "[COMMAND | terms [TERM]]",
        .summary = "explain the commands and the terms in reports",
        .help = "Lists the commands, or explains one. help terms explains the words that the "
                "reports use, or one of them.\n",
        .example = "memviz help trace\n"
                   "memviz help terms stranded\n",
    },
    {
        .name = "version",
        .group = MV_COMMAND_GROUP_HELP,
        .run = mv_cmd_version,
        .arguments = "",
        .summary = "the version of memviz",
        .help = "Prints the version, as memviz --version does.\n",
        .example = "memviz version\n",
    },
    {0},
};

const mv_command *mv_command_find(const char *name)
{
    for (const mv_command *c = mv_commands; c->name; c++)
        if (strcmp(c->name, name) == 0 || (c->alias && strcmp(c->alias, name) == 0))
            return c;
    return NULL;
}

const mv_command *mv_command_meant(const char *word)
{
    for (const mv_command *c = mv_commands; c->name; c++)
        if (c->also_tried && mv_text_has_word(c->also_tried, word, " "))
            return c;
    return NULL;
}
