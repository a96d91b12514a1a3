#include "parse/readers.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/text.h"
#include "parse/model/build.h"
#include "parse/sample.h"

const mv_reader mv_readers[] = {
    {"pickle", mv_pickle_probe, mv_pickle_read},
    {"msgpack", mv_msgpack_probe, mv_msgpack_read},
    {"bin", mv_snapshot_probe, mv_snapshot_read},
    {"html", mv_page_probe, mv_page_read},
    {"rmm", mv_rmm_probe, mv_rmm_read},
    {"pprof", mv_pprof_probe, mv_pprof_read},
    {"xplane", mv_xspace_probe, mv_xspace_read},
    {"kineto", mv_kineto_probe, mv_kineto_read},
    {NULL, NULL, NULL},
};

enum { LOOKED_AT = 4096 }; /* number of bytes from which the format is identified */

#define LOOK(at, literal, why)                \
    {                                         \
        at, sizeof(literal) - 1, literal, why \
    }

#define MV_IS_PYTHON                                                                          \
    "this is a Python program, not a snapshot; to record what it does: memviz run -- python " \
    "SCRIPT"

/* Kinds of files that users pass instead of a snapshot. The first matching row applies. */
static const struct {
    uint16_t at;
    uint16_t length;
    const char *bytes;
    const char *why;
} looks[] = {
    LOOK(0, MV_SESSION_BEGINS,
         "this is a session of the viewer, which names snapshots: memviz view opens it"),
    LOOK(0, "version https://git-lfs",
         "this is git-lfs's pointer to the file, not the file: run git lfs pull"),
    LOOK(0, "{", "this looks like text (JSON or XML); pass the snapshot pickle itself"),
    LOOK(0, "[", "this looks like text (JSON or XML); pass the snapshot pickle itself"),
    LOOK(0, "<", "this looks like text (JSON or XML); pass the snapshot pickle itself"),
    LOOK(0, "PK\3\4",
         "this is a zip archive (torch.save?); pass the file that _dump_snapshot wrote"),
    LOOK(0, MV_OLD_TORCH_SAVE,
         "this is a torch.save file from before PyTorch 1.6; pass the file that _dump_snapshot "
         "wrote"),
    LOOK(0,
         "\xfd"
         "7zXZ",
         "this is xz-compressed; unpack it first (gzip and zstd are read directly)"),
    LOOK(0, "BZh", "this is bzip2-compressed; unpack it first (gzip and zstd are read directly)"),
    LOOK(0, "\x1f\x8b", "this is compressed twice, here by gzip; unpack it once"),
    LOOK(0, "\x28\xb5\x2f\xfd", "this is compressed twice, here by zstd; unpack it once"),
    LOOK(0, "SQLite format 3",
         "this is an SQLite database (of nsys, or of memviz export?); pass the snapshot itself"),
    LOOK(8, "{\"",
         "these are tensors (safetensors), not a memory snapshot; pass the file that "
         "_dump_snapshot wrote"),
    LOOK(0, "import ", MV_IS_PYTHON),
    LOOK(0, "from ", MV_IS_PYTHON),
    LOOK(0, "#!",
         "this is a script, not a snapshot; to record what it does: memviz run -- ./SCRIPT"),
    LOOK(0,
         "\x7f"
         "ELF",
         "this is a program or a library, not a snapshot; to record what it does: memviz run -- "
         "./PROGRAM"),
    LOOK(257, "ustar", "this is a tar archive; unpack it and pass the snapshot in it"),
    LOOK(0, "\xef\xbb\xbf\x80",
         "this is a pickle after a byte order mark: text was written where "
         "bytes belong; copy the file as binary"),
    LOOK(0, "\xc2\x80", "this is a pickle that was stored as UTF-8 text; copy the file as binary"),
    LOOK(0, "\xef\xbf\xbd",
         "this was stored as UTF-8 text, which lost its bytes; copy the file as binary"),
};

static const char UNKNOWN_BYTES[] =
    "neither a PyTorch snapshot (pickle or page of _memory_viz), msgpack, a .bin, "
    "a profiler trace, nor a file of RMM, XLA or JAX";

/* Describes an unreadable file, and suggests the user's next step. */
static mv_code refuse(mv_span head, mv_err *err)
{
    if (head.length == 0)
        return mv_fail(err, MV_FORMAT, 0, "%s", "the file is empty");
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
        if (head.length >= (uint64_t)looks[i].at + looks[i].length &&
            memcmp(head.data + looks[i].at, looks[i].bytes, looks[i].length) == 0)
            return mv_fail(err, MV_FORMAT, 0, "%s", looks[i].why);
    if (mv_pickle_is_old(head))
        return mv_fail(err, MV_FORMAT, 0, "%s",
                       "pickle protocol 0 or 1 is not supported; 2 to 5 are");
    if (head.data[0] == 0x80 && head.length > 1)
        return mv_fail(err, MV_FORMAT, 1, "pickle protocol %u; 2 to 5 are read", head.data[1]);
    return mv_fail(err, MV_FORMAT, 0, "%s", UNKNOWN_BYTES);
}

/* Returns true if the file was transferred in text mode, which puts a carriage return before every
 * line feed. By chance, only one byte in 256 is a carriage return, so a few such line feeds are
 * enough evidence. In a file that was not transferred in text mode, a line feed without a carriage
 * return soon occurs. */
static bool was_sent_as_text(mv_span head)
{
    uint64_t feeds = 0;

    for (uint64_t i = 1; i < head.length; i++) {
        if (head.data[i] != '\n')
            continue;
        if (head.data[i - 1] != '\r')
            return false;
        feeds++;
    }
    return feeds >= 4;
}

/* Replaces the error if the pickle was transferred as text. All pickles contain small numbers, so
 * each of them soon contains a line feed. */
static mv_code blame_transfer(mv_err *err)
{
    if (err->code == MV_IO || err->code == MV_NOMEM || err->code == MV_DECOMPRESS)
        return err->code;
    return mv_fail(err, MV_FORMAT, err->offset, "%s",
                   "each line feed follows a carriage return: the file was transferred as text; "
                   "copy it as binary");
}

/* ---- the end ----------------------------------------------------------------------------- */

static const char *rest_text(mv_span rest)
{
    if (mv_pickle_probe(rest))
        return "another pickle; only the first is read: ";
    if (mv_snapshot_probe(rest) || mv_msgpack_probe(rest))
        return "another snapshot; only the first is read: ";
    return "";
}

static void note_rest(mv_trace *trace, const char *text, uint64_t bytes, uint64_t end)
{
    mv_build build = {.trace = trace};

    mv_build_note(&build, MV_NOTE_TRAILING, "%sfrom byte %llu on", text, (unsigned long long)end);
    trace->notes[MV_NOTE_TRAILING].count = bytes;
}

void mv_rest_note(mv_trace *trace, mv_span rest, uint64_t bytes, uint64_t end)
{
    note_rest(trace, rest_text(rest), bytes, end);
}

mv_code mv_rest_drain(mv_source *source, mv_trace *trace, uint64_t fill, mv_err *err)
{
    uint64_t end = mv_source_offset(source), bytes;
    const char *text;
    bool are_zero;

    mv_source_need(source, 64);
    text = rest_text((mv_span){source->at, (uint64_t)(source->end - source->at)});
    if (mv_source_drain(source, &bytes, &are_zero, err) != MV_OK)
        return err->code;
    if (bytes > (are_zero ? fill : 0))
        note_rest(trace, text, bytes, end);
    return MV_OK;
}

/* ---- reading ----------------------------------------------------------------------------- */

static const mv_read_opts quiet = {0};

/* Sets the level of another tool's file. Such a file has only one level, which is named after its
 * allocator, and no CUDA calls. */
static void take_level(mv_trace *trace)
{
    trace->origin.level = mv_trace_allocator(trace);
    trace->origin.first_call_frame = trace->frames.count;
}

/* Searches a refused file for error messages. `err` contains the reason for the refusal, and
 * receives an error of the search itself. */
static mv_code look_for_errors(mv_source *source, const mv_read_opts *opts, mv_err *err)
{
    uint64_t length = source->at < source->end ? (uint64_t)(source->end - source->at) : 0;
    bool is_text = length > 0 && !memchr(source->at, 0, length < LOOKED_AT ? length : LOOKED_AT);
    mv_err failed = {.offset = MV_NO_OFFSET};

    if (mv_error_texts_read(opts->error_arena, source, opts->errors, &failed) != MV_OK)
        *err = failed;
    else if (is_text && opts->errors->count == 0 && strstr(err->detail, UNKNOWN_BYTES))
        mv_fail(err, err->code, MV_NO_OFFSET,
                "this is text, such as a log, without an out-of-memory error; pass the snapshot "
                "that _dump_snapshot wrote, or the log of a run that failed");
    else if (is_text && opts->errors->count == 0)
        mv_text_append(err->detail, sizeof err->detail, "; it has no out-of-memory error");
    return err->code;
}

static bool read_growing(mv_arena *arena, const char *path, const mv_read_opts *opts, mv_trace *out)
{
    if (!opts || !opts->readers || mv_source_is_special(path))
        return false;
    if (mv_live_readers_read(opts->readers, path, (uint64_t)mv_now_us(), arena, out)) {
        take_level(out);
        return true;
    }
    mv_arena_release(arena);
    return false;
}

static mv_code read_source(mv_arena *arena, mv_source *source, const mv_read_opts *opts,
                           mv_trace *out, mv_err *err)
{
    mv_span head;
    mv_code code;
    bool as_text;

    mv_source_need(source, LOOKED_AT);
    head = (mv_span){source->at, (uint64_t)(source->end - source->at)};
    as_text = was_sent_as_text(head);
    for (const mv_reader *r = mv_readers; r->name; r++) {
        if (!r->probe(head))
            continue;
        code = r->read(arena, source, opts, out, err);
        if (code == MV_OK) {
            out->origin.compression = mv_source_compression(source);
            out->origin.file_bytes = mv_source_file_bytes(source);
            take_level(out);
        } else if (as_text && r->read == mv_pickle_read) {
            return blame_transfer(err);
        }
        return code;
    }
    if (head.length < LOOKED_AT) { /* the stream has ended or failed */
        mv_code failed = mv_source_fail(source, err, "");
        if (failed != MV_TRUNCATED)
            return failed;
    }
    refuse(head, err);
    return opts->errors ? look_for_errors(source, opts, err) : err->code;
}

static mv_code read_bytes(mv_arena *arena, mv_arena *window, mv_span bytes,
                          const mv_read_opts *opts, mv_trace *out, mv_err *err)
{
    mv_source source;
    mv_code code = mv_source_over(window, bytes, &source, err);

    if (code == MV_OK)
        code = read_source(arena, &source, opts, out, err);
    mv_source_close(&source);
    return code;
}

mv_code mv_trace_read_bounded(mv_arena *arena, int live, int folded, const mv_read_opts *opts,
                              mv_trace *out, mv_err *err)
{
    mv_arena window;
    mv_span bytes;
    mv_code code;

    *err = (mv_err){.offset = MV_NO_OFFSET};
    mv_arena_init(&window, arena->budget);
    code = mv_live_bounded_bytes(&window, live, folded, &bytes, err);
    if (code == MV_OK)
        code = read_bytes(arena, &window, bytes, opts ? opts : &quiet, out, err);
    mv_arena_release(&window);
    return code;
}

/* Reads a file that has a folded part next to it, and stores the result in *code. Returns false if
 * there is no folded part. */
static bool has_read_bounded(mv_arena *arena, const char *path, const mv_read_opts *opts,
                             mv_trace *out, mv_code *code, mv_err *err)
{
    int folded = mv_live_folded_open(path), live;

    if (folded < 0)
        return false;
    live = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    *code = live < 0 ? mv_fail(err, MV_IO, MV_NO_OFFSET, "%s", strerror(errno))
                     : mv_trace_read_bounded(arena, live, folded, opts, out, err);
    if (live >= 0)
        close(live);
    close(folded);
    return true;
}

mv_code mv_trace_read(mv_arena *arena, const char *path, const mv_read_opts *opts, mv_trace *out,
                      mv_err *err)
{
    mv_arena window;
    mv_source source;
    mv_err torn;
    mv_code code;

    if (read_growing(arena, path, opts, out))
        return MV_OK;
    if (has_read_bounded(arena, path, opts, out, &code, err))
        return code;

    *err = (mv_err){.offset = MV_NO_OFFSET};
    if (mv_sample_is(path) && mv_sample().length > 0)
        return mv_trace_read_bytes(arena, mv_sample(), out, err);
    mv_arena_init(&window, arena->budget);
    opts = opts ? opts : &quiet;
    code = opts->files_only ? mv_source_open_file(&window, path, &source, err)
                            : mv_source_open(&window, path, &source, err);
    if (code == MV_OK)
        code = read_source(arena, &source, opts, out, err);
    if (mv_source_check(&source, &torn) != MV_OK) {
        *err = torn;
        code = torn.code;
    }
    mv_source_close(&source);
    mv_arena_release(&window);
    return code;
}

mv_code mv_trace_read_bytes(mv_arena *arena, mv_span bytes, mv_trace *out, mv_err *err)
{
    mv_arena window;
    mv_code code;

    *err = (mv_err){.offset = MV_NO_OFFSET};
    mv_arena_init(&window, arena->budget);
    code = read_bytes(arena, &window, bytes, &quiet, out, err);
    mv_arena_release(&window);
    return code;
}
