#include "cli/commands.h"

#include <limits.h>

#define RANGE_OPTIONS (MV_HAS(DEVICE) | MV_HAS(FROM) | MV_HAS(TO))
#define PLOT_OPTIONS                                                                            \
    (MV_HAS(JSON) | MV_HAS(SIZE) | MV_HAS(THEME) | MV_HAS(VIEW) | MV_HAS(OUTPUT) | MV_HAS(AT) | \
     MV_HAS(FILTER) | MV_HAS(TOP) | MV_HAS(BY) | RANGE_OPTIONS)

const mv_command mv_commands[] = {
    {
        .name = "info",
        .run = mv_cmd_info,
        .options = MV_HAS(JSON) | MV_HAS(DEVICE) | MV_HAS(OUTPUT),
        .least_files = 1,
        .most_files = 1,
        .arguments = "FILE",
        .summary = "what a file is and what it holds",
        .help = "Format, devices, how much of the history the file covers (complete, late,\n"
                "truncated, none, and why), allocator settings, and what was odd in the file.\n"
                "Of a capture: its process, how it ended, who called CUDA, and what was lost.\n",
        .example = "memviz info train.pickle\n"
                   "memviz info --json train.pickle | jq .history\n",
    },
    {
        .name = "stats",
        .run = mv_cmd_stats,
        .gates = MV_GATES(PEAK) | MV_GATES(RESERVED),
        .options = MV_HAS(JSON) | MV_HAS(FAIL_ON) | MV_HAS(DEVICE) | MV_HAS(LIMIT) | MV_HAS(OUTPUT),
        .least_files = 1,
        .most_files = 1,
        .arguments = "FILE",
        .summary = "totals now and at their peaks, per device and pool",
        .help = "What torch.cuda.memory_summary() says, for each device and pool. The audit tells\n"
                "whether the figures are exact to the byte; a peak that is only known from below\n"
                "is marked with >=. --limit bounds the pools of each device.\n",
        .example = "memviz stats train.pickle\n"
                   "memviz stats --json --device 0 train.pickle | jq '.devices[0].peak'\n",
    },
    {
        .name = "trace",
        .run = mv_cmd_trace,
        .options = MV_HAS(JSON) | MV_HAS(LIMIT) | MV_HAS(FRAMES) | MV_HAS(OUTPUT) | RANGE_OPTIONS,
        .least_files = 1,
        .most_files = 1,
        .arguments = "FILE",
        .summary = "the events as readable lines",
        .help =
            "One line an event: its number, seconds since the start, what happened, the address\n"
            "(#3 is the third allocation there; #0 was made before the trace), size, stream and\n"
            "the line of your code. On a terminal 50 events are shown unless --limit says more.\n",
        .example = "memviz trace --from 1.5s --limit 20 train.pickle\n"
                   "memviz trace --from @ProfilerStep#3 --frames all train.pickle\n",
    },
    {
        .name = "leaks",
        .run = mv_cmd_leaks,
        .gates = MV_GATES(LEAK) | MV_GATES(UNKNOWN),
        .options = MV_HAS(JSON) | MV_HAS(LIMIT) | MV_HAS(FRAMES) | MV_HAS(FAIL_ON) |
                   MV_HAS(CAPACITY) | MV_HAS(OUTPUT) | RANGE_OPTIONS,
        .least_files = 1,
        .most_files = 1,
        .arguments = "FILE",
        .summary = "what grows and is never freed",
        .help =
            "For each leak the line of your code to look at, the bytes it gains a step, and what\n"
            "to do; then what else is alive at the end without growing, and when the leaks will\n"
            "have filled the device, if its size is known (an out-of-memory event, a capture's\n"
            "samples, --capacity). 10 rows are shown unless --limit says more.\n",
        .example = "memviz leaks train.pickle\n"
                   "memviz leaks --json --fail-on leak train.pickle >leaks.json\n",
    },
    {
        .name = "diff",
        .alias = "compare",
        .run = mv_cmd_diff,
        .gates = MV_GATES(DELTA) | MV_GATES(RESERVED),
        .options = MV_HAS(JSON) | MV_HAS(LIMIT) | MV_HAS(AT) | MV_HAS(FRAMES) | MV_HAS(FAIL_ON) |
                   MV_HAS(OUTPUT) | RANGE_OPTIONS,
        .least_files = 2,
        .most_files = 2,
        .arguments = "BEFORE AFTER",
        .summary = "what changed between two snapshots",
        .help =
            "Whose memory grew, shrank, is new or is gone, from one run to another: peak to peak\n"
            "unless --at names another moment. Lines of code are matched although they moved\n"
            "within their file or the files lie elsewhere; the rows add up to the difference\n"
            "exactly. Reserved memory is compared at its own peak, and its difference divided:\n"
            "need, rounding, streams and pools, holes, unused segments.\n",
        .example = "memviz diff before.pickle after.pickle\n"
                   "memviz diff --fail-on 'delta>100MiB' main.pickle branch.pickle\n",
    },
    {
        .name = "peak",
        .run = mv_cmd_peak,
        .gates = MV_GATES(PEAK) | MV_GATES(RESERVED),
        .options = MV_HAS(JSON) | MV_HAS(LIMIT) | MV_HAS(FRAMES) | MV_HAS(FAIL_ON) |
                   MV_HAS(OUTPUT) | MV_HAS(AT) | MV_HAS(RULES) | MV_HAS(TARGET) | MV_HAS(BY) |
                   RANGE_OPTIONS,
        .least_files = 1,
        .most_files = 1,
        .arguments = "FILE",
        .summary = "who holds memory at the peak",
        .help =
            "Every byte allocated at the peak, or at another moment, by the line of your code and\n"
            "by category. \"marginal\" is by how far the peak would fall without that site: less\n"
            "than its bytes where the next peak is elsewhere. --target names the fewest sites\n"
            "without which the peak fits. --frames shows the stacks. --by groups by what the\n"
            "file says besides: names of tensors and metadata, annotations, the line of the\n"
            "forward pass that a backward block belongs to, compiled regions, nodes of fx.\n",
        .example = "memviz peak train.pickle\n"
                   "memviz peak --at @ProfilerStep#3 --target 40GiB train.pickle\n"
                   "memviz peak --json --fail-on 'peak>70GiB' train.pickle >peak.json\n",
    },
    {
        .name = "lines",
        .run = mv_cmd_lines,
        .options = MV_HAS(JSON) | MV_HAS(LIMIT) | MV_HAS(OUTPUT) | MV_HAS(SOURCE) | MV_HAS(BY) |
                   RANGE_OPTIONS,
        .least_files = 1,
        .most_files = 1,
        .arguments = "FILE",
        .summary = "a line profile: what each line of your code allocates and holds",
        .help = "For each line of your code the most bytes that it held at once (peak), what it\n"
                "allocated in all (total) and still holds at the end (live); active and reserved\n"
                "are the device's highest totals right after its allocations. --source shows the\n"
                "line itself where the file is here, and warns where it is another version of the\n"
                "file. --by has rows of another kind, as in peak.\n",
        .example = "memviz lines train.pickle\n"
                   "memviz lines --source auto --from @ProfilerStep#3 train.pickle\n",
    },
    {
        .name = "fragmentation",
        .run = mv_cmd_fragmentation,
        .gates = MV_GATES(FRAGMENTED) | MV_GATES(UNKNOWN) | MV_GATES(RESERVED),
        .options = MV_HAS(JSON) | MV_HAS(LIMIT) | MV_HAS(FRAMES) | MV_HAS(AT) | MV_HAS(FAIL_ON) |
                   MV_HAS(OUTPUT) | RANGE_OPTIONS,
        .least_files = 1,
        .most_files = 1,
        .arguments = "FILE",
        .summary = "reserved beyond what is used: how much, why, who pins it",
        .help =
            "Whether the allocator took far more memory than the run ever used at once, in which\n"
            "shape it is free, which lines pin it, why segments were added although memory was\n"
            "free, and which setting helps: each was replayed, and its gain is what whatif says.\n"
            "Without --at: where most was taken from the device.\n",
        .example = "memviz fragmentation train.pickle\n"
                   "memviz fragmentation --at end --json train.pickle | jq .pinned_by\n",
    },
    {
        .name = "memory",
        .run = mv_cmd_memory,
        .options = MV_HAS(JSON) | MV_HAS(SIZE) | MV_HAS(THEME) | MV_HAS(OUTPUT) | MV_HAS(FRAMES) |
                   MV_HAS(AT) | MV_HAS(FILTER) | MV_HAS(TOP) | RANGE_OPTIONS,
        .least_files = 1,
        .most_files = 1,
        .writes_file = true,
        .arguments = "FILE",
        .summary = "flame graph of live bytes by stack",
        .help =
            "Draws a flame graph to -o X.svg or X.png: the bytes that are allocated at the end,\n"
            "or at the moment of --at, by who called whom, the heaviest on the left. X.html is a\n"
            "page to zoom and search, with every other moment too. Or writes folded stacks to\n"
            "-o X.folded: frames, outermost first, joined by ';', then the bytes. All lines add\n"
            "up to what is allocated. flamegraph.pl, speedscope and others read them.\n",
        .example = "memviz memory --at peak train.pickle -o peak.svg\n"
                   "memviz memory --at peak train.pickle -o peak.html\n"
                   "memviz memory train.pickle -o train.folded\n"
                   "memviz memory --at peak train.pickle -o - | flamegraph.pl >peak.svg\n",
    },
    {
        .name = "segments",
        .run = mv_cmd_segments,
        .options = MV_HAS(JSON) | MV_HAS(SIZE) | MV_HAS(THEME) | MV_HAS(OUTPUT) | MV_HAS(FRAMES) |
                   MV_HAS(AT) | MV_HAS(FILTER) | MV_HAS(TOP) | RANGE_OPTIONS,
        .least_files = 1,
        .most_files = 1,
        .writes_file = true,
        .arguments = "FILE",
        .summary = "flame graph of reserved bytes by segment and stack",
        .help =
            "Draws a flame graph to -o X.svg, X.png or X.html, or writes folded stacks to\n"
            "-o X.folded: segment, pool, stream, whether the bytes are allocated, waiting for a\n"
            "stream or free, then the frames, outermost first. All lines add up to what is\n"
            "reserved at the end, or at the moment of --at.\n",
        .example = "memviz segments train.pickle -o segments.svg\n"
                   "memviz segments --at reserved-peak train.pickle -o - | flamegraph.pl >s.svg\n",
    },
    {
        .name = "ledger",
        .run = mv_cmd_ledger,
        .options = MV_HAS(JSON) | MV_HAS(DEVICE) | MV_HAS(LIMIT) | MV_HAS(AT) | MV_HAS(OUTPUT),
        .least_files = 1,
        .most_files = 1,
        .arguments = "FILE",
        .summary = "where all device memory went, PyTorch's and others'",
        .help =
            "Of a capture (memviz run): what PyTorch, NCCL, cuBLAS and everybody else asked CUDA\n"
            "for and still held, by library and API; an estimate of the context and code; and\n"
            "what remains unexplained, so that the rows add up to what the device shows. The\n"
            "moment is that of the highest use unless --at says another.\n",
        .example = "memviz ledger train.bin\n"
                   "memviz ledger --json --at end train.bin | jq '.devices[0].unexplained'\n",
    },
    {
        .name = "oom",
        .run = mv_cmd_oom,
        .gates = MV_GATES(OOM) | MV_GATES(UNKNOWN),
        .options = MV_HAS(JSON) | MV_HAS(FAIL_ON) | MV_HAS(LIMIT) | MV_HAS(FRAMES) |
                   MV_HAS(OUTPUT) | RANGE_OPTIONS,
        .least_files = 1,
        .most_files = 1,
        .arguments = "FILE",
        .summary = "why each out-of-memory happened, and what would have helped",
        .help =
            "For each request that failed: what was asked for, what the device and the cache had,\n"
            "and the verdict: capacity, fragmentation, stream_or_pool, pending_free or\n"
            "outside_pytorch; what the step would still have asked for; the lines that pin or "
            "hold\n"
            "the memory; the smallest change with which it would have fitted. A setting is "
            "advised\n"
            "only after a replay with it served the request. Captured files also show calls that\n"
            "the device refused.\n",
        .example = "memviz oom train.pickle\n"
                   "memviz oom --json train.pickle | jq '.ooms[].verdict'\n",
    },
    {
        .name = "whatif",
        .run = mv_cmd_whatif,
        .options = MV_HAS(JSON) | MV_HAS(DEVICE) | MV_HAS(LIMIT) | MV_HAS(FRAMES) | MV_HAS(CONF) |
                   MV_HAS(CAPACITY) | MV_HAS(OUTPUT),
        .least_files = 1,
        .most_files = 1,
        .arguments = "FILE",
        .summary = "what other PYTORCH_CUDA_ALLOC_CONF settings would have done",
        .help =
            "Replays the trace by PyTorch's own allocator, simulated: how much memory each --conf\n"
            "would have taken from the device at its peak, and with how many calls; --conf ''\n"
            "are the defaults. Without --conf a set of settings is tried and ranked. --capacity\n"
            "is what the device, or the process, may have: then failures and garbage collection\n"
            "are replayed too. First the recorded run itself is replayed; where that does not\n"
            "reproduce it, no advice is given.\n",
        .example = "memviz whatif train.pickle\n"
                   "memviz whatif --conf expandable_segments:True --capacity 40GiB train.pickle\n"
                   "memviz whatif --json train.pickle | jq '.runs[0]'\n",
    },
    {
        .name = "ranks",
        .run = mv_cmd_ranks,
        .gates = MV_GATES(LEAK) | MV_GATES(OOM) | MV_GATES(UNKNOWN) | MV_GATES(PEAK) |
                 MV_GATES(RESERVED),
        .options = MV_HAS(JSON) | MV_HAS(LIMIT) | MV_HAS(FRAMES) | MV_HAS(FAIL_ON) |
                   MV_HAS(OUTPUT) | RANGE_OPTIONS,
        .least_files = 1,
        .most_files = INT_MAX,
        .arguments = "FILE...",
        .summary = "several ranks or devices side by side",
        .help =
            "One row for each rank (or device of a file): its peaks, leak verdict, steps, and\n"
            "where it first differs from what most do; then which ranks are off, and why. A\n"
            "file that cannot be read gets a row that says so, and the exit status is 1. FILE may\n"
            "be a summary, which memviz summarize writes.\n",
        .example = "memviz ranks rank*.pickle\n"
                   "memviz ranks --json *.summary | jq .outliers\n",
    },
    {
        .name = "summarize",
        .run = mv_cmd_summarize,
        .options = MV_HAS(JSON) | MV_HAS(OUTPUT) | RANGE_OPTIONS,
        .least_files = 1,
        .most_files = INT_MAX,
        .writes_file = true,
        .arguments = "FILE...",
        .summary = "a small file that ranks takes in a snapshot's place",
        .help =
            "What memviz ranks needs of each snapshot, and nothing else. Several files, summaries\n"
            "among them, become one. Written to -o X.summary, else to FILE.summary.\n",
        .example = "memviz summarize rank7.pickle -o rank7.summary\n"
                   "memviz summarize node1.summary node2.summary -o all.summary\n",
    },
    {
        .name = "trace_plot",
        .run = mv_cmd_trace_plot,
        .options = PLOT_OPTIONS,
        .least_files = 1,
        .most_files = 1,
        .writes_file = true,
        .arguments = "FILE",
        .summary = "the memory timeline as a picture",
        .help =
            "Who held memory when: allocated bytes stacked by allocation, the reserved line above\n"
            "them, the peak, and the call sites that hold most. Written to -o X.html, X.svg or\n"
            "X.png, else to FILE.html; the path is printed. The page needs nothing but a browser\n"
            "and that file: the whole trace to zoom, point at and search, with all stacks, and in\n"
            "its tabs the segments, the allocator's state and flame graphs; it opens on --from\n"
            "and --to. In the others several devices are one below the other, each of the\n"
            "--size; idle ones are left out; -o - writes SVG to standard output. --view pools\n"
            "draws each memory pool separately; --view segments and --view state draw what\n"
            "segment_plot draws. --filter draws what matches alone, and says how much of the\n"
            "peak it is; --top N draws the N largest one by one, all others as a grey band.\n"
            "On a terminal with a display, without -o, it is shown in the viewer's window.\n",
        .example = "memviz trace_plot train.pickle\n"
                   "memviz trace_plot train.pickle -o timeline.svg\n"
                   "memviz trace_plot --filter 'forward size>1M' train.pickle -o forward.png\n"
                   "memviz trace_plot --view pools graphs.pickle -o pools.png\n"
                   "memviz trace_plot --size 1600x900 --theme dark train.pickle -o slide.png\n"
                   "memviz trace_plot --from @ProfilerStep#3 --to @ProfilerStep#4 train.pickle\n",
    },
    {
        .name = "segment_plot",
        .run = mv_cmd_segment_plot,
        .options = PLOT_OPTIONS,
        .least_files = 1,
        .most_files = 1,
        .writes_file = true,
        .arguments = "FILE",
        .summary = "the allocator's segments as a picture",
        .help =
            "Segments over time: what PyTorch took from the device, when, which line asked for\n"
            "it, and how much of it tensors used; mapped and unmapped parts of expandable\n"
            "segments too. With --view state, or --at: every segment that is reserved at the\n"
            "end, or at that moment, and every block where it lies in it, by pool and stream.\n"
            "Written to -o X.html, X.svg or X.png, else to FILE.html; the path is printed.\n"
            "--view active draws what trace_plot draws. On a terminal with a display, without -o,\n"
            "it is shown in the viewer's window.\n",
        .example = "memviz segment_plot train.pickle -o segments.svg\n"
                   "memviz segment_plot --at reserved-peak train.pickle -o state.svg\n",
    },
    {
        .name = "view",
        .run = mv_cmd_view,
        .options = MV_HAS(JSON) | MV_HAS(AT) | MV_HAS(FILTER) | MV_HAS(VIEW) | MV_HAS(THEME) |
                   MV_HAS(SIZE) | MV_HAS(SCALE) | MV_HAS(RENDERER) | MV_HAS(MEM) |
                   MV_HAS(HEADLESS) | MV_HAS(SCRIPT) | MV_HAS(SHOT) | MV_HAS(BENCH) |
                   MV_HAS(FRAMES) | RANGE_OPTIONS,
        .least_files = 0,
        .most_files = 1024,
        .arguments = "[FILE...]",
        .summary = "look at snapshots in a window",
        .help =
            "Opens a window: allocations and segments over time, the allocator's state, flame\n"
            "graphs, tables, the reports' findings, all linked. The wheel zooms, a drag selects,\n"
            "/ searches, ? shows all keys. It opens on --from, --to, --at, --filter, --device and\n"
            "--view; several files are shown side by side. --headless draws without a window, for\n"
            "--script, which runs a session that is written down (docs/viewer.md), --shot, which\n"
            "writes a PNG, and --bench, which times frames. SDL 2.0.20 or newer has to be there.\n",
        .example = "memviz view train.pickle\n"
                   "memviz view --filter 'leak size>1M' --at peak train.pickle\n"
                   "memviz view --headless --shot view.png --size 1600x900 train.pickle\n"
                   "memviz view --headless --bench panzoom --frames 600 --json train.bin\n",
    },
    {
        .name = "run",
        .run = mv_cmd_run,
        .options =
            MV_HAS(STACKS) | MV_HAS(CPU) | MV_HAS(WAIT_FREE) | MV_HAS(OUTPUT) | MV_STOP_AT_WORD,
        .least_files = 1,
        .most_files = INT_MAX,
        .writes_file = true,
        .starts_program = true,
        .arguments = "[--] CMD...",
        .summary = "run a program and record its GPU memory",
        .help =
            "Runs CMD as it is, with a library preloaded that records every allocation of CUDA\n"
            "and PyTorch, of every process that CMD starts. The result is written to -o F.bin\n"
            "(memviz.%p.bin unless given; %p: pid, %r: rank, %h: host); a closing line names\n"
            "it, and the exit status is CMD's. Should CMD be killed, all that was recorded\n"
            "is there all the same.\n",
        .example = "memviz run -o train.bin -- python train.py --epochs 3\n"
                   "memviz run -o 'run.%r.bin' -- torchrun --nproc-per-node 8 train.py\n",
    },
    {
        .name = "convert",
        .run = mv_cmd_convert,
        .writes_last = true,
        .options = MV_HAS(JSON) | MV_HAS(PLAIN) | MV_HAS(SYMBOLS),
        .least_files = 2,
        .most_files = 2,
        .writes_file = true,
        .arguments = "IN OUT",
        .summary = "write a snapshot in another format",
        .help = "OUT's ending chooses: .bin is memviz's own container, small and quick to open;\n"
                ".msgpack is msgpack with stack tables, or with --plain PyTorch's own dict as\n"
                "msgpack.packb(pickle.load(f)) gives it. Nothing that memviz models is lost.\n"
                "A live file of another machine is read without the names in its native stacks;\n"
                "with --symbols the libraries that it names are looked for on this one.\n",
        .example = "memviz convert train.pickle train.bin\n"
                   "memviz convert --plain train.bin train.msgpack\n",
    },
    {
        .name = "export",
        .run = mv_cmd_export,
        .options = MV_HAS(JSON) | MV_HAS(DEVICE) | MV_HAS(AT) | MV_HAS(FORMAT) | MV_HAS(TABLE) |
                   MV_HAS(FRAMES) | MV_HAS(OUTPUT),
        .least_files = 1,
        .most_files = 1,
        .writes_file = true,
        .arguments = "FILE",
        .summary = "a snapshot for Perfetto, speedscope, SQLite or a spreadsheet",
        .help =
            "Writes what the file holds for another tool to -o OUT, or to standard output with\n"
            "-o -. --format says for which:\n"
            "  perfetto    levels, annotations, out-of-memory events    ui.perfetto.dev\n"
            "  speedscope  who holds memory at the end or at the moment of --at, and who\n"
            "              allocated how much in all                    speedscope.app\n"
            "  folded      the former as folded stacks                  flamegraph.pl\n"
            "  csv         one table, chosen by --table\n"
            "  sqlite      all tables, for sqlite3 and pandas\n"
            "Without --format the ending of OUT decides: .perfetto-trace or .pftrace, .json\n"
            "(speedscope), .folded, .csv, .sqlite or .db.\n",
        .example = "memviz export train.pickle -o train.perfetto-trace\n"
                   "memviz export --at peak train.pickle -o peak.speedscope.json\n"
                   "memviz export train.pickle -o train.sqlite\n"
                   "memviz export --format csv --table events train.pickle -o - | head\n",
    },
    {
        .name = "dump",
        .run = mv_cmd_dump,
        .options = MV_HAS(CALLS) | MV_HAS(CHUNKS) | MV_HAS(OUTPUT),
        .least_files = 1,
        .most_files = 1,
        .arguments = "FILE",
        .summary = "every row of a file as text, for debugging files",
        .help = "The whole snapshot as lines that do not depend on the file's format: equal dumps\n"
                "mean equal snapshots. --calls adds which rows stem from the same allocator call,\n"
                "which plain msgpack cannot keep. --chunks lists how a .bin is laid out instead.\n",
        .example = "memviz dump train.bin | less\n"
                   "diff <(memviz dump a.pickle) <(memviz dump a.bin)\n",
    },
    {
        .name = "completion",
        .run = mv_cmd_completion,
        .options = MV_HAS(OUTPUT),
        .least_files = 1,
        .most_files = 1,
        .arguments = "bash|zsh|fish",
        .summary = "a script that completes memviz's command line",
        .help = "Prints the completion script for a shell.\n",
        .example = "source <(memviz completion bash)\n"
                   "memviz completion fish -o ~/.config/fish/completions/memviz.fish\n",
    },
    {
        .name = "help",
        .run = mv_cmd_help,
        .most_files = 1,
        .arguments = "[COMMAND]",
        .summary = "what the commands do",
        .help = "Lists the commands, or explains one.\n",
        .example = "memviz help trace\n",
    },
    {
        .name = "version",
        .run = mv_cmd_version,
        .arguments = "",
        .summary = "the version of memviz",
        .help = "Prints the version; as does memviz --version.\n",
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
