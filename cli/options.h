/* The command line's options. The parser, --help, completion and the tests all use this one
 * list. */
#pragma once

#include "cli/gate.h"

/* id, long name, letter (0: none), argument (NULL: none), its words for completion, help */
#define MV_OPTION_LIST(X)                                                                          \
    X(JSON, "json", 0, NULL, NULL, "print one JSON object")                                        \
    X(CSV, "csv", 0, NULL, NULL, "print one table of the report as CSV; --table names it")         \
    X(DEVICE, "device", 'd', "N", NULL, "only this device")                                        \
    X(LEVEL, "level", 0, "LEVEL", "pytorch cuda host all",                                         \
      "memory of: pytorch (default), cuda, host, all, or a heap registered by the program")        \
    X(LIMIT, "limit", 'n', "N", NULL, "print at most N rows; 0: all")                              \
    X(DEPTH, "depth", 0, "N", NULL, "show at most N levels of the tree")                           \
    X(FROM, "from", 0, "X", NULL, "start at event number, time (1.5s) or annotation (@NAME[#K])")  \
    X(TO, "to", 0, "X", NULL, "stop before event number, time or annotation")                      \
    X(AT, "at", 0, "WHEN", "peak reserved-peak end oom low",                                       \
      "moment: peak, reserved-peak, end, oom[#K], low[#K], event number, time, @NAME[#K]")         \
    X(WITH, "with", 0, "FILE", NULL,                                                               \
      "a torch.profiler trace of the same run: adds operators and shapes")                         \
    X(RULES, "rules", 0, "FILE", NULL,                                                             \
      "a file of your own categories: a regex and a category on each line")                        \
    X(TARGET, "target", 0, "SIZE", NULL, "name the fewest sites without which the peak fits")      \
    X(SOURCE, "source", 0, "DIR", "auto",                                                          \
      "show source lines from DIR, or with auto from the recorded paths")                          \
    X(FRAMES, "frames", 0, "WHICH", "user all", "frames of stacks to show: user (default) or all") \
    X(FAIL_ON, "fail-on", 0, "WHAT", NULL, "exit with 3 if the gate is met, 4 if that is unknown") \
    X(PLAIN, "plain", 0, NULL, NULL, "no effect: .msgpack is always PyTorch's own dict")           \
    X(SYMBOLS, "symbols", 0, NULL, NULL,                                                           \
      "search this machine for the libraries of a live file from another machine")                 \
    X(CALLS, "calls", 0, NULL, NULL, "also print which rows come from the same allocator call")    \
    X(CHUNKS, "chunks", 0, NULL, NULL, "list the chunks of a .bin instead, even damaged ones")     \
    X(STACKS, "stacks", 0, "WHICH", "none python native all",                                      \
      "stacks to record: python (default), native, all, none")                                     \
    X(CPU, "cpu", 0, NULL, NULL, "also record tensors on the CPU")                                 \
    X(WAIT_FREE, "wait-free", 0, NULL, NULL, "lose an event rather than wait for another thread")  \
    X(NVTX_ALL, "nvtx-all", 0, NULL, NULL,                                                         \
      "record XLA's ranges too; JAX's own profiler then misses them")                              \
    X(MAX_SIZE, "max-size", 0, "SIZE", NULL,                                                       \
      "size limit of each recording on disk, 16M or more: older events are folded")                \
    X(MAX_AGE, "max-age", 0, "TIME", NULL, "fold events older than this, such as 10m")             \
    X(ON, "on", 0, "CONDITION", "oom used>90% high growth>1G/10m SIGUSR2 exit",                    \
      "write NAME.REASON.K.bin when one is met: oom, used>90%, used>70G, high, growth>1G/10m, "    \
      "SIGUSR2, exit; several with commas")                                                        \
    X(AFTER, "after", 0, "TIME", NULL, "how long to record after a condition of --on, such as 2s") \
    X(COOLDOWN, "cooldown", 0, "TIME", NULL,                                                       \
      "shortest time between two files of one condition (default: 60s)")                           \
    X(KEEP, "keep", 0, "N", NULL,                                                                  \
      "how many of the newest files of each condition to keep (default: 3)")                       \
    X(FOR, "for", 0, "TIME", NULL, "record for this long: 90s, 5m (default: 60s)")                 \
    X(OLDER, "older", 0, "TIME", NULL, "show only blocks that are at least this old: 90s, 5m")     \
    X(START_AFTER, "start-after", 0, "X", NULL,                                                    \
      "until X, keep only memory that stays alive: a time (90s), mark (NAME[#K]) or step number")  \
    X(STOP_AFTER, "stop-after", 0, "X", NULL,                                                      \
      "from X on, keep only memory that stays alive; X as above")                                  \
    X(METRICS, "metrics", 0, "PORT|PATH", NULL,                                                    \
      "serve the figures as Prometheus text, on a port of this machine or a Unix socket")          \
    X(ONCE, "once", 0, NULL, NULL, "print the report once and exit")                               \
    X(CAPACITY, "capacity", 0, "BYTES", NULL, "memory available to the allocator, such as 80GiB")  \
    X(CONF, "conf", 0, "SETTINGS", NULL,                                                           \
      "settings to try, written as in PYTORCH_CUDA_ALLOC_CONF; can be repeated")                   \
    X(DROP, "drop", 0, "F", NULL, "without the allocations that match the filter F")               \
    X(CHANGE_SCALE, "scale", 0, "F=X", NULL, "with X times the bytes of the allocations of F")     \
    X(HALF, "half", 0, "F", NULL, "with half the bytes of the allocations of F")                   \
    X(PREALLOC, "prealloc", 0, "F|SIZE", NULL,                                                     \
      "with one buffer for the allocations of F, or with SIZE allocated and freed at the start")   \
    X(ONE_STREAM, "one-stream", 0, NULL, NULL, "with everything on one stream")                    \
    X(EMPTY_CACHE, "empty-cache-each", 0, "STEP|NAME", NULL,                                       \
      "with empty_cache() after each step, or after each range of this name")                      \
    X(CHANGE_CPU, "cpu", 0, "F", NULL, "with the allocations of F on the host while not in use")   \
    X(FREE_EARLY, "free-early", 0, "F", NULL, "with frees of F that wait for no stream")           \
    X(RECOMPUTE, "recompute", 0, "F", NULL,                                                        \
      "with the allocations of F freed after the forward pass and made again for the backward "    \
      "pass")                                                                                      \
    X(ZERO, "zero", 0, "N", NULL,                                                                  \
      "with optimizer state (1), gradients (2) and parameters (3) divided among --ranks")          \
    X(RANKS, "ranks", 0, "R", NULL, "number of ranks")                                             \
    X(GROUPS, "groups", 0, "tp=N,pp=N", NULL,                                                      \
      "sizes of tensor, data and pipeline parallelism, in the order in which rank numbers vary")   \
    X(SIZE, "size", 0, "WxH", NULL, "width and height of a picture in pixels, such as 1600x900")   \
    X(VIEW, "view", 0, "VIEW", "active segments state pools",                                      \
      "contents of a picture: active memory, segments or pools over time, or the state at a "      \
      "moment")                                                                                    \
    X(FILTER, "filter", 0, "EXPR", NULL,                                                           \
      "show only what matches: text, /regex/, size>64M, life<10, stream:0, pool:1,0, "             \
      "addr:0x7f00, site:train.py:62, stack:17, like:17, nostack, nopython, "                      \
      "leak, leak:2, cat:optimizer, block:5,9-12; several must all match, - negates")              \
    X(TOP, "top", 0, "N", NULL, "draw the N largest one by one, and all others as one")            \
    X(MOST_EVENTS, "most-events", 0, "N", NULL,                                                    \
      "in pages with more events than this, omit the smallest blocks; 0: omit none (default: "     \
      "6000000)")                                                                                  \
    X(FOLLOW, "follow", 0, NULL, NULL,                                                             \
      "show newer data of a recording that is being written: FILE is its live file, or PID")       \
    X(HEADLESS, "headless", 0, NULL, NULL, "draw into memory, without a window")                   \
    X(SCRIPT, "script", 0, "FILE", NULL, "run a session from FILE")                                \
    X(SAMPLE, "sample", 0, NULL, NULL, "open the built-in recording: a training run with a leak")  \
    X(SESSION, "session", 0, "FILE", NULL, "open a saved session: its files and its view")         \
    X(STATE, "state", 0, "TEXT", NULL,                                                             \
      "session members to begin with, separated by ;: 'colour category; tab tables'")              \
    X(SHOT, "shot", 0, "FILE", NULL, "write the view to FILE, a PNG, and exit")                    \
    X(BENCH, "bench", 0, "WHICH", "panzoom", "play a fixed path of inputs and time the frames")    \
    X(RENDERER, "renderer", 0, "NAME", "software opengl opengles2",                                \
      "the SDL driver that draws the window (default: the GPU, if it is faster)")                  \
    X(SCALE, "scale", 0, "FACTOR", NULL, "text size, from 0.5 to 4 (default: the display's)")      \
    X(MEM, "mem", 0, "SIZE", NULL, "memory limit for cached pictures (default: 64M)")              \
    X(BY, "by", 0, "WHAT", "use line metadata annotation forward compile fx layer library module", \
      "group rows by line (default), metadata, annotation, forward, compile, fx, layer, library, " \
      "module")                                                                                    \
    X(TITLE, "title", 0, "TEXT", NULL, "title of a picture (default: the file's name)")            \
    X(THEME, "theme", 0, "WHICH", "light dark", "colors of a picture: light (default) or dark")    \
    X(FORMAT, "format", 0, "WHICH", "perfetto speedscope folded csv sqlite",                       \
      "output format: perfetto, speedscope, folded, csv, sqlite")                                  \
    X(PAGE, "format", 0, "WHICH", "md junit",                                                      \
      "the gates and the report as Markdown (md) for CI summaries, or as JUnit XML (junit)")       \
    X(TABLE, "table", 0, "NAME",                                                                   \
      "allocations events segments blocks stacks frames annotations tensors api_calls heap_calls " \
      "samples "                                                                                   \
      "facts",                                                                                     \
      "the table that --csv prints, one of those below")                                           \
    X(PORT, "port", 0, "N", NULL, "port of this machine to listen on (default: a free one)")       \
    X(STEPS, "steps", 0, "N", NULL, "stop after N steps of the optimizer (default: 3)")            \
    X(GPU, "gpu", 0, "NAME", NULL, "GPU to predict for: its name or MiB (default: h100-80gb)")     \
    X(EXPECT, "expect", 0, NULL, NULL, "print only whether it fits; write only what -o names")     \
    X(OUTPUT, "output", 'o', "FILE", NULL, "write to FILE; its suffix must match the output")      \
    X(NO_PAGER, "no-pager", 0, NULL, NULL, "never show long output in a pager")                    \
    X(QUIET, "quiet", 'q', NULL, NULL, "no progress and no notes on standard error")               \
    X(COLOR, "color", 0, "WHEN", "auto always never",                                              \
      "colored text: auto (default), always, never")                                               \
    X(MAX_MEMORY, "max-memory", 0, "SIZE", NULL,                                                   \
      "memory limit, such as 4G (default: by file size, at most 3/4 of the machine's memory)")     \
    X(MAX_DISK, "max-disk", 0, "SIZE", NULL,                                                       \
      "disk space for what does not fit into memory; 0: none (default: half of what is free)")     \
    X(HELP, "help", 'h', NULL, NULL, "explain the command, with an example")

typedef enum {
#define MV_OPTION_ENUM(id, name, letter, argument, words, help) MV_OPTION_##id,
    MV_OPTION_LIST(MV_OPTION_ENUM) MV_OPTION_COUNT
} mv_option_id;

typedef struct {
    const char *name;
    char letter;
    const char *argument;
    const char *words;
    const char *help;
} mv_option;

extern const mv_option mv_option_table[MV_OPTION_COUNT];

/* A set of options. */
__extension__ typedef unsigned __int128 mv_option_set;

/* Return an option's help and its words, for a command that accepts the options in `allowed`. */
const char *mv_option_help(mv_option_id id, mv_option_set allowed);
const char *mv_option_words(mv_option_id id, mv_option_set allowed);

#define MV_OPTION_BIT(id) ((mv_option_set)1 << (id))
#define MV_HAS(id)        MV_OPTION_BIT(MV_OPTION_##id)

/* A bit in a set of options which means that the first word that is not an option, and all words
 * after it, belong to another program. */
#define MV_STOP_AT_WORD MV_OPTION_BIT(127)

/* The options that every command accepts. */
#define MV_COMMON_OPTIONS                                                                       \
    (MV_HAS(NO_PAGER) | MV_HAS(QUIET) | MV_HAS(COLOR) | MV_HAS(MAX_MEMORY) | MV_HAS(MAX_DISK) | \
     MV_HAS(HELP))

/* The options that name a change to the program (mv_options.change). */
#define MV_CHANGE_OPTIONS                                                                         \
    (MV_HAS(DROP) | MV_HAS(CHANGE_SCALE) | MV_HAS(HALF) | MV_HAS(PREALLOC) | MV_HAS(ONE_STREAM) | \
     MV_HAS(EMPTY_CACHE) | MV_HAS(CHANGE_CPU) | MV_HAS(FREE_EARLY) | MV_HAS(RECOMPUTE) |          \
     MV_HAS(ZERO))

#define MV_ALL_DEVICES (-1)

#define MV_MOST_CONFS         64
#define MV_MOST_GATES         16
#define MV_MOST_CHANGES_GIVEN 32
#define MV_MOST_SIZE          INT32_MAX /* maximum SIZE in FILE=SIZE and fit --at SIZE */

/* The pictures (cli/pictures/pictures.h). They begin with the words of --view, in the same
 * order. */
typedef enum {
    MV_PICTURE_ACTIVE,
    MV_PICTURE_SEGMENTS,
    MV_PICTURE_STATE,
    MV_PICTURE_POOLS,
    MV_PICTURE_STACKS,
    MV_PICTURE_SEGMENT_STACKS,
    MV_PICTURE_COUNT
} mv_picture_view;

/* The formats of --format, in the order of the option's words. */
typedef enum {
    MV_EXPORT_PERFETTO,
    MV_EXPORT_SPEEDSCOPE,
    MV_EXPORT_FOLDED,
    MV_EXPORT_CSV,
    MV_EXPORT_SQLITE
} mv_export_format;

/* The words of --by, in order. From LINE on, the order is that of mv_group_by. */
typedef enum { MV_BY_USE, MV_BY_LINE, MV_BY_WORDS = 10 } mv_by_word;

/* The pages of --format md|junit, in the order of the option's words. */
typedef enum { MV_PAGE_MD, MV_PAGE_JUNIT } mv_page_format;

typedef enum { MV_COLOR_AUTO, MV_COLOR_ALWAYS, MV_COLOR_NEVER } mv_color;

static_assert(MV_OPTION_COUNT < 127, "widen the sets of options");

typedef struct {
    mv_option_set allowed;               /* MV_HAS bits of the options that the command accepts */
    mv_option_set given;                 /* MV_HAS bits of the options on the command line */
    int64_t device;                      /* device ordinal, or MV_ALL_DEVICES */
    uint64_t limit;                      /* maximum number of rows to print, if given; 0: all */
    uint64_t depth;                      /* maximum depth of a tree; 0: no limit, or not given */
    const char *from, *to, *at, *output; /* NULL when not given */
    const char *level;                   /* NULL when not given */
    const char *stacks, *bench;          /* each is one of its option's words; NULL when not
                                          * given */
    uint32_t fail_ons;                   /* number of --fail-on arguments */
    const char *fail_on[MV_MOST_GATES];  /* these arguments, in order, for mv_gates_read */
    const char *rules, *source, *with;   /* NULL when not given */
    uint64_t target;                     /* meaningful when given */
    bool all_frames;
    uint32_t frame_count;                 /* number of frames for --bench; 0 when not given */
    const char *script, *shot, *renderer; /* NULL when not given */
    const char *session, *state;          /* sessions of the viewer; NULL when not given */
    double scale;                         /* 0 when not given */
    uint64_t mem;                         /* 0 when not given */
    uint64_t port;                        /* 0 when not given */
    uint64_t steps;                       /* 0 when not given */
    const char *gpu;                      /* NULL when not given */
    uint64_t for_us, older_us;            /* 0 when not given */
    const char *start_after, *stop_after; /* NULL when not given */
    const char *metrics;                  /* NULL when not given */
    uint64_t max_size, max_age_us;        /* 0 when not given */
    const char *on;                       /* NULL when not given */
    uint64_t after_us, cooldown_us, keep; /* meaningful when given */
    mv_color color;
    uint64_t capacity; /* meaningful when given */
    uint32_t confs;    /* number of --conf arguments */
    const char *conf[MV_MOST_CONFS];
    uint32_t changes; /* number of changes such as --drop and --half */
    struct {
        int option;       /* mv_option_id */
        const char *text; /* the option's argument; NULL: it takes no argument */
    } change[MV_MOST_CHANGES_GIVEN];
    const char *groups;     /* NULL when not given */
    uint64_t ranks;         /* 0 when not given */
    uint32_t width, height; /* size of a picture in pixels; 0 when not given */
    mv_picture_view view;   /* meaningful when given */
    const char *filter;     /* NULL when not given */
    const char *title;      /* NULL when not given */
    uint64_t top;           /* at most UINT32_MAX; 0 when not given */
    uint64_t most_events;   /* maximum number of events in a page, if given; 0: no limit */
    int by;                 /* mv_by_word; meaningful when given */
    bool is_dark;
    mv_export_format format; /* meaningful when given */
    mv_page_format page;     /* meaningful when given */
    const char *table;       /* NULL when not given */
    uint64_t max_memory;     /* 0 when not given */
    uint64_t max_disk;       /* meaningful when given */
    int files;               /* number of arguments that are not options */
    char **file;             /* [files] */
    const char **file_size;  /* [files] the SIZE in FILE=SIZE; NULL: the command takes no sizes */
    int named_files;   /* number of arguments before directories were expanded, for commands that
                        * expand them */
    char **named_file; /* [named_files] */
} mv_options;

static inline bool mv_option_given(const mv_options *options, mv_option_set bits)
{
    return (options->given & bits) != 0;
}

/* Whether `word`, which begins with '-', is an option whose argument is the next word. This is true
 * for --limit and -n, but not for --limit=5, -n5 and --json. Unknown options are assumed to take no
 * argument. */
bool mv_option_takes_next(const char *word);

/* Whether the option takes an argument in some commands but not in others, as --cpu does. */
bool mv_option_may_take_next(const char *word);

/* Parses the arguments after argv[0], which is the command's name, and accepts the options in
 * `allowed`. On wrong usage, returns false with a sentence in `why`. Reorders argv. */
bool mv_options_read(mv_option_set allowed, int argc, char **argv, mv_options *out, char *why,
                     uint32_t why_size);
