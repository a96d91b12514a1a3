/* memviz fit: predicts a program's peaks for input sizes that were not run. */

#include "analyze/fit/fit.h"
#include "cli/complain.h"
#include "cli/input/idle_devices.h"
#include "cli/input/input.h"
#include "cli/report/prose.h"
#include "cli/report/table.h"

#define MOST_POINTS 256

typedef struct {
    mv_cli *cli;
    mv_out *out;
    uint32_t device;
    mv_trace trace[MV_MOST_FIT_RUNS];
    mv_lives lives[MV_MOST_FIT_RUNS];
    uint32_t run_count;
    mv_fit_run runs[MV_MOST_FIT_RUNS];
    mv_input sizes[MV_MOST_FIT_RUNS]; /* [run_count] */
    uint32_t at_count;
    mv_input at[MOST_POINTS];
    mv_fit found;
} fit_report;

/* ---- fields ------------------------------------------------------------------------------ */

static const char *const answers[] = {
    [MV_FIT_NO] = "no", [MV_FIT_YES] = "yes", [MV_FIT_UNKNOWN] = "unknown"};

static mv_value answer_value(const mv_fit_point *p)
{
    return mv_value_shown(p->fits == MV_FIT_UNKNOWN ? mv_value_of(MV_VALUE_NULL)
                                                    : mv_value_bool(p->fits == MV_FIT_YES),
                          answers[p->fits]);
}

/* Returns "1.22 GiB", "1.20 to 1.31 GiB" or "unknown". */
static const char *peak_text(const mv_fit_peak *p, char out[2 * MV_SIZE_TEXT + 8])
{
    char least[MV_SIZE_TEXT], most[MV_SIZE_TEXT];

    if (p->is_known)
        return mv_size_text(out, p->bytes);
    if (p->most == MV_NO_BYTES)
        return "unknown";
    snprintf(out, 2 * MV_SIZE_TEXT + 8, "%s to %s", mv_size_text(least, p->least),
             mv_size_text(most, p->most));
    return out;
}

static mv_value peak_value(const mv_fit_peak *p, char text[2 * MV_SIZE_TEXT + 8])
{
    return mv_value_shown(mv_value_or_null(p->is_known, mv_value_u64(p->bytes)),
                          peak_text(p, text));
}

static mv_value bound(const mv_fit_peak *p, uint64_t bytes)
{
    return mv_value_bytes(p->most == MV_NO_BYTES ? MV_NO_BYTES : bytes);
}

/* Writes a number, or "16x512". */
static mv_value size_value(mv_input size, char text[MV_INPUT_TEXT])
{
    return size.length == 1 || size.batch == 0 ? mv_value_u64(size.batch)
                                               : mv_value_text(mv_input_text(text, size));
}

static mv_value size_or_null(mv_input size, char text[MV_INPUT_TEXT])
{
    return size.batch == 0 && size.length == 0 ? mv_value_of(MV_VALUE_NULL)
                                               : size_value(size, text);
}

#define POINT_FIELDS(COLUMN, MEMBER, LIST)                                                      \
    COLUMN("at", "at", 0, MV_UNIT_COUNT, 0, size_value(p->at, at))                              \
    COLUMN("peak_allocated", "allocated", 1, MV_UNIT_TEXT, 9,                                   \
           peak_value(&p->allocated, allocated))                                                \
    COLUMN("peak_reserved", "reserved", 2, MV_UNIT_TEXT, 9, peak_value(&p->reserved, reserved)) \
    COLUMN("fits", "fits", 3, MV_UNIT_TEXT, 0, answer_value(p))                                 \
    MEMBER("least_allocated", bound(&p->allocated, p->allocated.least))                         \
    MEMBER("most_allocated", bound(&p->allocated, p->allocated.most))                           \
    MEMBER("least_reserved", bound(&p->reserved, p->reserved.least))                            \
    MEMBER("most_reserved", bound(&p->reserved, p->reserved.most))                              \
    COLUMN("fails", "fails at", 4, MV_UNIT_TEXT | MV_UNIT_END, 0, p->fails)                     \
    MEMBER("base", size_or_null(p->base, base))                                                 \
    MEMBER("recorded", mv_value_bool(p->is_recorded))

static void list_points(mv_rows *rows)
{
    const fit_report *r = mv_rows_all(rows);
    char allocated[2 * MV_SIZE_TEXT + 8], reserved[2 * MV_SIZE_TEXT + 8], at[MV_INPUT_TEXT];
    char base[MV_INPUT_TEXT];

    if (!mv_option_given(&r->cli->options, MV_HAS(CAPACITY))) {
        mv_rows_head(rows, "fits", NULL);
        mv_rows_head(rows, "fails", NULL);
    }
    for (uint32_t i = 0; i < r->found.point_count; i++) {
        const mv_fit_point *p = &r->found.points[i];
        MV_ROWS_ADD(rows, POINT_FIELDS);
    }
}

static const mv_table point_table = {MV_TABLE(POINT_FIELDS, list_points)};

#define REPORT_FIELDS(COLUMN, MEMBER, LIST)                                               \
    LIST("points", &point_table, mv_value_rows(NULL))                                     \
    MEMBER("exact_sites", r->found.exact_sites)                                           \
    MEMBER("sites", r->found.sites)                                                       \
    MEMBER("exact_allocations", r->found.exact)                                           \
    MEMBER("allocations", r->found.allocs)                                                \
    MEMBER("refused", mv_value_text(r->found.refused))                                    \
    MEMBER("largest_that_fits", r->found.largest.batch == MV_NO_BYTES                     \
                                    ? mv_value_of(MV_VALUE_NULL)                          \
                                    : size_value(r->found.largest, largest))              \
    MEMBER("capacity", mv_value_bytes(mv_option_given(&r->cli->options, MV_HAS(CAPACITY)) \
                                          ? r->cli->options.capacity                      \
                                          : MV_NO_BYTES))                                 \
    MEMBER("device", mv_value_u64(r->device))                                             \
    MEMBER("note", r->found.note)

static void list_report(mv_rows *rows)
{
    const fit_report *r = mv_rows_all(rows);
    char largest[MV_INPUT_TEXT];

    MV_ROWS_ADD(rows, REPORT_FIELDS);
}

const mv_table mv_report_fit = {MV_TABLE(REPORT_FIELDS, list_report), .main = "points"};

/* ---- text -------------------------------------------------------------------------------- */

static uint32_t count_known(const mv_fit *f)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < f->point_count; i++)
        count += f->points[i].allocated.is_known && f->points[i].reserved.is_known;
    return count;
}

static bool has_range(const mv_fit *f)
{
    for (uint32_t i = 0; i < f->point_count; i++)
        if (f->points[i].allocated.most != MV_NO_BYTES)
            return true;
    return false;
}

static void put_verdict(const fit_report *r)
{
    const mv_fit *f = &r->found;
    char capacity[MV_SIZE_TEXT], largest[MV_INPUT_TEXT];

    mv_out_style(r->out, MV_STYLE_BOLD);
    mv_size_text(capacity, r->cli->options.capacity);
    if (!mv_option_given(&r->cli->options, MV_HAS(CAPACITY)))
        mv_prose_put(r->out, 0, 2, "%u of %u sizes can be predicted to 1 %%", count_known(f),
                     f->point_count);
    else if (f->largest.batch == MV_NO_BYTES)
        mv_prose_put(r->out, 0, 2, "the largest size that fits within %s is not known", capacity);
    else if (f->largest.batch == 0)
        mv_prose_put(r->out, 0, 2, "no size fits within %s", capacity);
    else
        mv_prose_put(r->out, 0, 2, "%s is the largest size known to fit within %s",
                     mv_input_text(largest, f->largest), capacity);
    mv_out_style(r->out, MV_STYLE_NONE);
}

static void put_text(const fit_report *r)
{
    const mv_fit *f = &r->found;

    put_verdict(r);
    mv_table_print(r->cli, &point_table, r, NULL, "\n");
    mv_out_char(r->out, '\n');
    if (f->refused)
        mv_prose_put_item(r->out, "%s: %s",
                          has_range(f) ? "a range instead of a figure" : "no figures", f->refused);
    if (f->allocs) {
        mv_prose_put_item(
            r->out,
            "exact functions of the size: %u of %u allocations, and in %u of %u stacks all of them",
            f->exact, f->allocs, f->exact_sites, f->sites);
    }
    if (*f->note)
        mv_prose_put_item(r->out, "%s", f->note);
}

/* ---- both -------------------------------------------------------------------------------- */

/* Parses a number from 1 to MV_MOST_SIZE. Returns the text after it, or NULL. */
static const char *read_number(const char *text, uint64_t *out)
{
    char number[24];
    size_t length = strspn(text, "0123456789");

    snprintf(number, sizeof number, "%.*s", (int)(length < sizeof number ? length : 0), text);
    return mv_number_read(number, out) && *out >= 1 && *out <= MV_MOST_SIZE ? text + length : NULL;
}

/* Parses "16,24" or "16x512,24x512". Returns the number of sizes, or 0 if the text is invalid. */
static uint32_t read_sizes(const char *text, mv_input *sizes, uint32_t most)
{
    for (uint32_t i = 0; text && i < most; i++) {
        sizes[i].length = 1;
        text = read_number(text, &sizes[i].batch);
        if (text && *text == 'x')
            text = read_number(text + 1, &sizes[i].length);
        if (text && !*text)
            return i + 1;
        if (!text || *text++ != ',')
            break;
    }
    return 0;
}

static bool read_points(fit_report *r)
{
    r->at_count = read_sizes(r->cli->options.at, r->at, MOST_POINTS);
    if (!r->at_count)
        mv_complain_usage("fit",
                          "expected --at SIZE[,SIZE...], each from 1 to %u, or of two: 16x512",
                          MV_MOST_SIZE);
    return r->at_count;
}

/* Reads the size of each file, or all sizes in the only file. */
static bool read_file_sizes(fit_report *r)
{
    const mv_options *o = &r->cli->options;

    r->run_count = (uint32_t)o->files;
    if (o->files == 1) {
        r->run_count = read_sizes(o->file_size[0], r->sizes, MV_MOST_STEP_SIZES);
        if (r->run_count > 1)
            return true;
        mv_complain_usage(
            "fit", "expected FILE=SIZE FILE=SIZE..., or the sizes that the steps of one file "
                   "have: FILE=SIZE,SIZE");
        return false;
    }
    for (int i = 0; i < o->files; i++)
        if (read_sizes(o->file_size[i], &r->sizes[i], 1) != 1) {
            mv_complain_usage("fit", "expected FILE=SIZE, such as batch8.pickle=8, not '%s=%s'",
                              o->file[i], o->file_size[i]);
            return false;
        }
    return true;
}

/* Rejects duplicate sizes, because they do not show how bytes depend on the size. */
static bool check_sizes(fit_report *r)
{
    char text[MV_INPUT_TEXT];

    for (uint32_t i = 0; i < r->run_count; i++)
        for (uint32_t k = 0; k < i; k++)
            if (r->sizes[i].batch == r->sizes[k].batch &&
                r->sizes[i].length == r->sizes[k].length) {
                mv_complain_usage("fit", "size %s is given twice",
                                  mv_input_text(text, r->sizes[i]));
                return false;
            }
    return true;
}

/* Returns the device that --device names, or else the only device in use in the first file. */
static bool choose_device(fit_report *r)
{
    uint32_t first, end;

    if (!mv_input_devices(r->cli, &r->trace[0], &first, &end))
        return false;
    for (r->device = first;
         r->device + 1 < end && !mv_device_is_reported(&r->trace[0], first, end, r->device);)
        r->device++;
    if (mv_devices_in_use(&r->trace[0], first, end) <= 1)
        return true;
    mv_complain_of(r->cli->options.file[0], "several devices are in use: choose one with --device");
    return false;
}

static bool read_run(fit_report *r, int i)
{
    const char *path = r->cli->options.file[i];
    mv_err err = {.offset = MV_NO_OFFSET};

    if (!mv_input_read_file(r->cli, path, &r->trace[i]) || (i == 0 && !choose_device(r)))
        return false;
    if (r->device >= r->trace[i].device_count) {
        mv_complain_of(path, "no device %u", r->device);
        return false;
    }
    if (mv_lives_find(&r->cli->arena, &r->trace[i], r->device, &r->lives[i], &err) != MV_OK) {
        mv_complain(path, &err);
        return false;
    }
    for (uint32_t k = (uint32_t)i; k < r->run_count; k++) /* all runs, if there is only one file;
                                                           * with several files, each overwrites its
                                                           * entry below */
        r->runs[k] = (mv_fit_run){&r->trace[i], &r->lives[i], r->sizes[k]};
    return true;
}

int mv_cmd_fit(mv_cli *cli)
{
    fit_report *r = mv_push_struct(&cli->arena, fit_report);
    mv_err err = {.offset = MV_NO_OFFSET};

    if (!r)
        return mv_complain_of(NULL, "%s", mv_code_text(MV_NOMEM));
    r->cli = cli;
    r->out = &cli->out;
    cli->kept = NULL; /* the cache has room for only two files, but all of them are needed here at
                       * once */
    if (!read_file_sizes(r) || !check_sizes(r) || !read_points(r))
        return MV_EXIT_USAGE;
    for (int i = 0; i < cli->options.files; i++)
        if (!read_run(r, i))
            return MV_EXIT_FAILED;
    if (mv_fit_find(&cli->arena, r->runs, r->run_count,
                    (mv_fit_opts){.at_count = r->at_count,
                                  .at = r->at,
                                  .capacity = mv_option_given(&cli->options, MV_HAS(CAPACITY))
                                                  ? cli->options.capacity
                                                  : 0},
                    &r->found, &err) != MV_OK)
        return mv_complain(NULL, &err);
    if (mv_table_is_wanted(cli))
        return mv_table_put(cli, r);
    put_text(r);
    return MV_EXIT_DONE;
}
