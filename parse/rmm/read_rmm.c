/* Reads RMM's allocation log (docs/other-files.md), which consists of lines of text with a
 * header. */
#include <stdio.h>

#include "base/numbers.h"
#include "parse/readers.h"
#include "parse/tools/block_log.h"

enum {
    COLUMNS = 6,
    MOST_COLUMN = 64, /* number of significant characters in a column */
    REPORT_LINES = 1 << 16,
    DAY_S = 24 * 60 * 60,
    MOST_SET_BACK_S = 2 * 60 * 60 /* longest time by which a clock is set back. At the end of summer
                                   * time, clocks are set back by one hour, in a few places by
                                   * two */
};

static const char header[] = "Thread,Time,Action,Pointer,Size,Stream";

/* U+FEFF, which some editors write at the beginning of a file. */
static const char mark[] = "\xef\xbb\xbf";

enum { THREAD, TIME, ACTION, POINTER, SIZE, STREAM };

typedef struct {
    mv_arena scratch;
    mv_build build;
    mv_block_log log;
    mv_span file;
    int64_t day_us;    /* time of the previous line since midnight */
    int64_t days_us;   /* length of the days that have passed, minus the steps by which the clock
                        * was set back */
    uint64_t set_back; /* number of times that the clock was set back */
    bool has_clock;    /* at least one line had a time of day */
    uint64_t good, bad, failures;
    uint64_t second;  /* position of a header after log lines; 0: none */
    bool are_several; /* the file contains several logs: headers followed by lines */
    uint64_t last_thread;
    mv_frame_id thread_frame;   /* frame for last_thread */
    mv_frame_id size_frame[64]; /* frames for sizes, by log2 of the size */
    bool has_size[64];
} rmm;

static bool begins_with(mv_span text, const char *with)
{
    return text.length >= strlen(with) && memcmp(text.data, with, strlen(with)) == 0;
}

/* ---- values ------------------------------------------------------------------------------ */

typedef char column_text[MOST_COLUMN];

/* Splits a line at its commas. Returns false if the number of columns is wrong, or a column is too
 * long. */
static bool cut_line(mv_span line, column_text columns[COLUMNS])
{
    uint32_t column = 0, length = 0;

    for (uint64_t i = 0; i < line.length; i++) {
        if (line.data[i] == ',') {
            columns[column][length] = 0;
            length = 0;
            if (++column == COLUMNS)
                return false;
        } else if (length + 1 == MOST_COLUMN || line.data[i] == 0) {
            return false;
        } else {
            columns[column][length++] = (char)line.data[i];
        }
    }
    columns[column][length] = 0;
    return column == COLUMNS - 1;
}

static bool read_address(const char *text, uint64_t *out)
{
    const char *at = text;

    *out = 0;
    if (strcmp(text, "(nil)") == 0 || strcmp(text, "nullptr") == 0)
        return true;
    if (at[0] == '0' && (at[1] | 0x20) == 'x')
        at += 2;
    return mv_number_take(&at, 16, out) && *at == 0;
}

/* Reads up to six digits after the point as microseconds; further digits are dropped. */
static bool take_fraction(const char **at, uint64_t *us)
{
    uint64_t unit = 100000;

    *us = 0;
    if (**at < '0' || **at > '9')
        return false;
    for (; **at >= '0' && **at <= '9'; ++*at, unit /= 10)
        *us += (uint64_t)(**at - '0') * unit;
    return true;
}

/* Reads a time written as HH:MM:SS.us, HH:MM:SS:us, or seconds.us since the epoch. */
static bool read_time(const char *at, uint64_t *us, bool *is_of_day)
{
    uint64_t number[3] = {0}, fraction = 0;
    uint32_t count = 0;

    do {
        if (!mv_number_take(&at, 10, &number[count++]))
            return false;
    } while (count < 3 && *at == ':' && at++);
    *is_of_day = count == 3;
    if (count == 2 || (*at != '.' && !(*at == ':' && *is_of_day)))
        return false;
    at++;
    if (!take_fraction(&at, &fraction) || *at)
        return false;
    if (*is_of_day && (number[0] > 23 || number[1] > 59 || number[2] > 60))
        return false;
    if (!*is_of_day && number[0] > (uint64_t)INT64_MAX / 4 / 1000000)
        return false;
    *us = fraction;
    *us += 1000000 * (*is_of_day ? (number[0] * 60 + number[1]) * 60 + number[2] : number[0]);
    return true;
}

typedef struct {
    mv_block_entry entry; /* the line's entry, without its time and stack */
    uint64_t thread, us;
    bool is_of_day;
    uint8_t kind; /* mv_block_step_kind */
} rmm_line;

static bool parse_action(const char *text, uint8_t *kind)
{
    static const struct {
        const char *name;
        mv_block_step_kind kind;
    } actions[] = {{"allocate", MV_BLOCK_STEP_ALLOC},
                   {"free", MV_BLOCK_STEP_FREE},
                   {"deallocate", MV_BLOCK_STEP_FREE},
                   {"allocate failure", MV_BLOCK_STEP_FAILURE}};

    for (unsigned i = 0; i < sizeof actions / sizeof *actions; i++) {
        *kind = (uint8_t)actions[i].kind;
        if (strcmp(text, actions[i].name) == 0)
            return true;
    }
    return false;
}

static bool parse_line(mv_span text, rmm_line *out)
{
    column_text c[COLUMNS];

    *out = (rmm_line){.thread = 0};
    if (!cut_line(text, c) || !mv_number_read(c[THREAD], &out->thread) ||
        !read_time(c[TIME], &out->us, &out->is_of_day) || !parse_action(c[ACTION], &out->kind) ||
        !read_address(c[POINTER], &out->entry.addr) ||
        !mv_number_read(c[SIZE], &out->entry.bytes) || !read_address(c[STREAM], &out->entry.stream))
        return false;
    out->entry.requested = out->entry.bytes;
    return true;
}

/* Returns the next line without its line end, and moves *at past the line. */
static mv_span take_line(mv_span file, uint64_t *at, bool *has_end)
{
    const uint8_t *from = file.data + *at;
    const uint8_t *end = memchr(from, '\n', file.length - *at);
    uint64_t length = end ? (uint64_t)(end - from) : file.length - *at;

    *has_end = end != NULL;
    *at += length + *has_end;
    return (mv_span){from, length - (length > 0 && from[length - 1] == '\r')};
}

/* ---- detection --------------------------------------------------------------------------- */

/* Returns the position of the first line, which may be the header. */
static uint64_t begin_of(mv_span head)
{
    return begins_with(head, mark) ? strlen(mark) : 0;
}

static bool has_header(mv_span head)
{
    uint64_t at = begin_of(head);

    return begins_with((mv_span){head.data + at, head.length - at}, header);
}

/* Returns true if the file may be a log. A part of a log has no header, and its first line may be
 * cut. The same is true of RMM's lines if they were extracted from another program's log. */
bool mv_rmm_probe(mv_span head)
{
    uint64_t at = begin_of(head);
    bool has_end = true, is_one = has_header(head);
    rmm_line line;

    for (int i = 0; i < 2 && !is_one && at < head.length; i++)
        is_one = parse_line(take_line(head, &at, &has_end), &line) && has_end;
    return is_one;
}

/* ---- times ------------------------------------------------------------------------------- */

/* Converts a time of day to a time on the calendar, because the log has no dates. A backward step
 * of hours means that midnight has passed. A smaller backward step means that the clock was set
 * back, and time continues from where it was. Steps of less than a second come from late threads,
 * whose lines are sorted later. A forward step of nearly a day is a line of a late thread from
 * before midnight. */
static int64_t on_the_calendar(rmm *r, int64_t day_us)
{
    const int64_t second = 1000000, day = DAY_S * second;
    int64_t step = r->has_clock ? day_us - r->day_us : 0;

    if (r->has_clock && step > day - 60 * second)
        return r->days_us - day + day_us;
    if (step < -MOST_SET_BACK_S * second) {
        r->days_us += day;
    } else if (step <= -second) {
        r->days_us -= step;
        r->set_back++;
    }
    r->has_clock = true;
    r->day_us = day_us;
    return r->days_us + day_us;
}

/* ---- lines ------------------------------------------------------------------------------- */

static mv_frame_id frame_of(rmm *r, const char *file, const char *function)
{
    mv_frame_row row = MV_FRAME_ROW;

    row.file = mv_build_string(&r->build, file, strlen(file));
    row.function = mv_build_string(&r->build, function, strlen(function));
    return mv_build_frame(&r->build, &row);
}

/* Makes a frame such as "512 KiB to 1 MiB", for sizes above half of a power of two, up to the power
 * itself. */
static mv_frame_id size_frame(rmm *r, uint32_t power)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    char text[32];

    if (!r->has_size[power]) {
        uint32_t low = power ? power - 1 : 0;
        snprintf(text, sizeof text, "%u %s to %u %s", 1u << low % 10, units[low / 10],
                 1u << power % 10, units[power / 10]);
        r->size_frame[power] = frame_of(r, MV_SIZE_FILE, text);
        r->has_size[power] = true;
    }
    return r->size_frame[power];
}

/* Makes a stack from the thread and the size. The log has no stacks, but requests from the same
 * line of code often have the same size. */
static mv_stack_id stack_of(rmm *r, uint64_t thread, uint64_t bytes)
{
    char text[MV_DIGITS + 1];
    mv_frame_id frames[2];
    uint32_t power = 0;

    while (power < 63 && bytes > (uint64_t)1 << power)
        power++;
    if (!r->good || thread != r->last_thread) {
        text[mv_digits(text, thread)] = 0;
        r->thread_frame = frame_of(r, MV_THREAD_FILE, text);
        r->last_thread = thread;
    }
    frames[0] = size_frame(r, power);
    frames[1] = r->thread_frame;
    return mv_build_stack(&r->build, frames, 2);
}

static void read_line(rmm *r, const rmm_line *line)
{
    mv_block_entry entry = line->entry;

    entry.time_us = line->is_of_day ? on_the_calendar(r, (int64_t)line->us) : (int64_t)line->us;
    entry.stack = stack_of(r, line->thread, entry.bytes);
    r->failures += line->kind == MV_BLOCK_STEP_FAILURE;
    if (line->kind == MV_BLOCK_STEP_FAILURE)
        mv_block_log_failure(&r->log, &entry);
    else if (entry.bytes > 0 && line->kind == MV_BLOCK_STEP_ALLOC)
        mv_block_log_alloc(&r->log, &entry);
    else if (entry.bytes > 0)
        mv_block_log_free(&r->log, &entry);
}

/* Returns true if an unreadable line may be an alloc or a free. It may be one if it contains the
 * name of one, or begins with a number and a time, as such lines do. */
static bool may_be_event(mv_span line)
{
    static const char *const names[] = {",allocate,", ",free,", ",deallocate,"};
    uint64_t at = 0;

    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (memmem(line.data, line.length, names[i], strlen(names[i])))
            return true;
    while (at < line.length && line.data[at] >= '0' && line.data[at] <= '9')
        at++;
    return at > 0 && at + 1 < line.length && line.data[at] == ',' && line.data[at + 1] >= '0' &&
           line.data[at + 1] <= '9' && !memmem(line.data, line.length, ",allocate failure,", 18);
}

/* Adds a line. If the last line has no line end, the log was cut, because the program crashed, or
 * because it is still running and has not flushed everything. */
static void add_line(rmm *r, mv_span line, uint64_t at, bool has_end)
{
    rmm_line parsed;
    bool is_line = parse_line(line, &parsed), is_good = line.length == 0 || is_line;

    if (is_line)
        read_line(r, &parsed);
    else if (r->good > 0 && memmem(line.data, line.length, header, strlen(header)))
        r->second = at;
    r->are_several |= is_line && r->second > 0;
    if (!has_end) {
        mv_build_note(&r->build, MV_NOTE_DAMAGED, "the last line, at byte %llu, has no end",
                      (unsigned long long)at);
        mv_build_note(&r->build, MV_NOTE_LOST_EVENTS, "the log was cut at byte %llu",
                      (unsigned long long)at);
    } else if (!is_good) {
        mv_build_note(&r->build, MV_NOTE_LOOSE, "line at byte %llu: %.*s", (unsigned long long)at,
                      (int)(line.length < 40 ? line.length : 40), (const char *)line.data);
        if (may_be_event(line)) {
            mv_build_note(&r->build, MV_NOTE_LOST_EVENTS, "line at byte %llu cannot be read",
                          (unsigned long long)at);
            mv_block_log_unread(&r->log);
        }
    }
    r->good += is_good && line.length > 0;
    r->bad += !is_good && has_end;
}

static mv_code read_lines(rmm *r, const mv_read_opts *opts, mv_err *err)
{
    uint64_t at = begin_of(r->file), lines = 0, first;
    bool has_end;

    if (has_header(r->file))
        take_line(r->file, &at, &has_end);
    else
        mv_build_note(&r->build, MV_NOTE_LOST_EVENTS, "%s",
                      "the log has no header: its beginning is missing");
    first = at;
    while (at < r->file.length && r->build.code == MV_OK && !r->log.failed) {
        uint64_t begin = at;
        mv_span line = take_line(r->file, &at, &has_end);
        add_line(r, line, begin, has_end);
        if (opts && opts->progress && ++lines % REPORT_LINES == 0)
            opts->progress(opts->user, at, r->file.length);
    }
    if (r->bad > r->good)
        return mv_fail(err, MV_CORRUPT, first, "%llu of %llu lines are not RMM log lines",
                       (unsigned long long)r->bad, (unsigned long long)(r->bad + r->good));
    if (r->are_several)
        return mv_fail(err, MV_FORMAT, r->second, "%s",
                       "several logs in one file (another header); pass each log separately");
    if (r->good == 0)
        return mv_fail(err, MV_TRUNCATED, r->file.length, "%s",
                       "the log has only a header: RMM writes the rest when it is flushed or "
                       "the program ends");
    mv_live_fact_add_number(&r->build, "failures", r->failures);
    if (r->set_back)
        mv_live_fact_add_number(&r->build, "clock_set_back", r->set_back);
    return mv_block_log_end(&r->log, err);
}

mv_code mv_rmm_read(mv_arena *arena, mv_source *source, const mv_read_opts *opts, mv_trace *out,
                    mv_err *err)
{
    rmm r = {.file = {0}};
    mv_code code = mv_source_rest(source, &r.file, err);

    if (code != MV_OK)
        return code;
    mv_arena_init(&r.scratch, arena->budget);
    mv_build_init(&r.build, arena, out);
    mv_block_log_begin(&r.log, &r.build, &r.scratch);
    mv_block_log_device(&r.log, 0);
    mv_live_fact_add(&r.build, MV_FACT_ALLOCATOR, "rmm");
    code = read_lines(&r, opts, err);
    out->origin.format = MV_FORMAT_RMM;
    out->origin.data_bytes = r.file.length;
    mv_arena_release(&r.scratch);
    return code;
}
