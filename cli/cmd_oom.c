/* memviz oom: explains why each request for memory failed, and how it could have succeeded. */

#include "analyze/advice/remedies.h"
#include "analyze/code/labels.h"
#include "analyze/oom/oom_words.h"
#include "analyze/oom/refused_calls.h"
#include "cli/complain.h"
#include "cli/errors.h"
#include "cli/input/idle_devices.h"
#include "cli/input/input.h"
#include "cli/input/window.h"
#include "cli/report/command_text.h"
#include "cli/report/prose.h"
#include "cli/report/rows.h"
#include "cli/report/stack_text.h"
#include "cli/report/table.h"
#include "parse/model/living.h"

/* Number of rows of each list in text without --limit, and number of other lines. */
#define TEXT_ROWS   8
#define OTHER_LINES 14

/* The search for a remedy is bounded, so that the report takes about as long as without it. */
#define MOST_REMEDY_STEPS  ((uint64_t)1 << 23)
#define MOST_REMEDY_EVENTS ((uint32_t)1 << 18)

typedef struct {
    mv_cli *cli;
    mv_out *out;
    const mv_trace *trace;
    const mv_trace *read; /* the trace as read from the file; `trace` contains the calls if the
                           * program does not use PyTorch */
    bool is_of_calls;
    mv_sites sites;
    int64_t start_us;
    uint32_t first, end;   /* range of the reported devices */
    mv_lives *lives;       /* [end - first] */
    mv_ooms *found;        /* [end - first] */
    mv_remedies *remedies; /* [end - first] remedies for the last failure; `tried` is 0 if none were
                            * searched for */
    const char *more;      /* the command that shows all failures, or "" */
    uint64_t limit;
    const mv_error_report *errors; /* errors in a text that was given in place of a snapshot, or
                                    * NULL */
} oom_report;

static const char *label_of(const oom_report *r, mv_stack_id stack, char *label, size_t size)
{
    return mv_culprit_label(r->trace, r->sites.kinds, stack, label, size);
}

/* ---- fields ------------------------------------------------------------------------------ */

/* Lists the lines that pin the holes of a failed request, or the lines that hold the most. */
typedef struct {
    const mv_oom *oom;
    const mv_pin *pins; /* [count] */
    uint32_t count;
} pin_list;

static pin_list pins_of(const mv_oom *oom)
{
    return (pin_list){oom, oom->pins.lines, oom->pins.line_count};
}

static pin_list holders_of(const mv_oom *oom)
{
    return (pin_list){oom, oom->holders, oom->holder_count};
}

/* Finds different labels for the lines that hold memory and for the line of the request. If lines
 * share a helper, their labels contain callers that differ: "train.py:13 cache > util.py:9
 * alloc". */
static const char **holder_labels(const oom_report *r, const mv_oom *oom, const mv_pin *pins,
                                  uint32_t count)
{
    mv_labelled *rows = mv_push_array(&r->cli->scratch, mv_labelled, (uint64_t)count + 1);
    bool is_holder = false;

    for (uint32_t i = 0; rows && i <= count; i++) {
        mv_stack_id stack = i < count ? pins[i].stack : oom->stack;
        rows[i] = (mv_labelled){.trace = r->trace,
                                .kinds = r->sites.kinds,
                                .stack = stack,
                                .bytes = i < count ? pins[i].bytes : 0};
        is_holder = is_holder || (i < count && stack.row == oom->stack.row);
    }
    return rows ? mv_labels_find(&r->cli->scratch, rows, count + !is_holder, false) : NULL;
}

#define PIN_FIELDS(COLUMN, MEMBER, LIST)                                         \
    COLUMN("bytes", "beside", 2, MV_UNIT_BYTES, 9, pin->bytes)                   \
    COLUMN("blocks", "blocks", 3, MV_UNIT_COUNT | MV_UNIT_SPARE, 0, pin->blocks) \
    COLUMN("stranded", "stranded", 1, MV_UNIT_BYTES, 9,                          \
           mv_value_if(pin->stranded, mv_value_u64(pin->stranded)))              \
    MEMBER("segments", mv_value_if(pin->stranded, mv_value_u64(pin->segments)))  \
    COLUMN("age_events", "age", 4, MV_UNIT_COUNT | MV_UNIT_SPARE, 0,             \
           mv_value_u64(mv_pin_age(pin, mv_oom_moment(list->oom))))              \
    MEMBER("culprit", mv_value_culprit(r->trace, r->sites.kinds, pin->stack))    \
    COLUMN(NULL, "pinned by", 5, MV_UNIT_TEXT, 0,                                \
           mv_value_label(labels, i, r->trace, r->sites.kinds, pin->stack))      \
    MEMBER("frames", mv_value_frames(r->trace, pin->stack))

static void list_pins(mv_rows *rows)
{
    const oom_report *r = mv_rows_all(rows);
    const pin_list *list = mv_rows_one(rows);
    uint32_t count = mv_rows_take(rows, list->count, r->limit);
    const char **labels = NULL;

    if (mv_rows_are_text(rows))
        labels = holder_labels(r, list->oom, list->pins, count);
    if (list->pins == list->oom->holders) {
        mv_rows_head(rows, "stranded", NULL);
        mv_rows_head(rows, "bytes", "held");
        mv_rows_head(rows, "pinned by", "by");
    }
    for (uint32_t i = 0; i < count; i++) {
        const mv_pin *pin = &list->pins[i];
        MV_ROWS_ADD(rows, PIN_FIELDS);
    }
}

static const mv_table pin_table = {MV_TABLE(PIN_FIELDS, list_pins)};

#define FIGURE_FIELDS(MEMBER)                                                             \
    MEMBER("event", mv_value_event(mv_oom_moment(oom)))                                   \
    MEMBER("time_us", mv_value_time(oom->time_us))                                        \
    MEMBER("api", oom->api_call == MV_NO_ROW                                              \
                      ? mv_value_of(MV_VALUE_ABSENT)                                      \
                      : mv_value_string(r->read, r->read->api_calls.api[oom->api_call]))  \
    MEMBER("requested", oom->requested)                                                   \
    MEMBER("segment_bytes", oom->segment)                                                 \
    MEMBER("device_free", mv_value_bytes(oom->device_free))                               \
    MEMBER("limited", mv_value_bool(oom->refused_by == MV_REFUSED_LIMIT))                 \
    MEMBER("refused_by", mv_oom_refuser_name(oom->refused_by))                            \
    MEMBER("reserved", oom->bytes.reserved)                                               \
    MEMBER("allocated", oom->bytes.allocated)                                             \
    MEMBER("pending", oom->bytes.pending)                                                 \
    MEMBER("free_in_cache", oom->bytes.free)                                              \
    MEMBER("usable", oom->usable)                                                         \
    MEMBER("largest_hole", oom->largest_hole)                                             \
    MEMBER("device_total", mv_value_if(oom->total, mv_value_u64(oom->total)))             \
    MEMBER("device_total_guessed",                                                        \
           mv_value_if(oom->total, mv_value_bool(oom->total_source == MV_TOTAL_GUESSED))) \
    MEMBER("outside", mv_value_if(oom->total, mv_value_u64(oom->outside)))

#define OUTLOOK_FIELDS(MEMBER)                                                                    \
    MEMBER("limit", f->limit)                                                                     \
    MEMBER("limit_least", f->limit_least)                                                         \
    MEMBER("limit_most", f->limit_most)                                                           \
    MEMBER("margin", f->margin)                                                                   \
    MEMBER("margin_least", f->margin_least)                                                       \
    MEMBER("margin_most", f->margin_most)                                                         \
    MEMBER("rise", f->rise)                                                                       \
    MEMBER("forecast.peak",                                                                       \
           f->forecast.peak ? mv_value_u64(f->forecast.peak) : mv_value_of(MV_VALUE_NULL_OBJECT)) \
    MEMBER("forecast.least", f->forecast.least)                                                   \
    MEMBER("forecast.limit", f->limit)                                                            \
    MEMBER("forecast.basis", f->basis)                                                            \
    MEMBER("forecast.matched", f->forecast.matched)                                               \
    MEMBER("forecast.is_least", f->forecast.is_least)                                             \
    MEMBER("tried.setting", f->tried ? mv_value_text(f->conf) : mv_value_of(MV_VALUE_NO_OBJECT))  \
    MEMBER("tried.serves", f->serves)                                                             \
    MEMBER("tried.reserved", f->would_reserve)                                                    \
    MEMBER("tried.spare", f->spare)                                                               \
    MEMBER("leak.culprit", f->has_leak                                                            \
                               ? mv_value_text(mv_leak_label(r->trace, r->sites.kinds, &f->leak,  \
                                                             label, sizeof label))                \
                               : mv_value_of(MV_VALUE_NO_OBJECT))                                 \
    MEMBER("leak.bytes", f->leaked)                                                               \
    MEMBER("leak.bytes_per_step", f->leak.bytes_per_step)                                         \
    MEMBER("leak.frames", mv_value_frames(r->trace, f->leak.stack))

#define CHANGE_FIELDS(MEMBER)                                                             \
    MEMBER("smallest_change.free_bytes",                                                  \
           oom->detailed ? mv_value_u64(c->free_bytes) : mv_value_of(MV_VALUE_NO_OBJECT)) \
    MEMBER("smallest_change.free_blocks", c->free_blocks)                                 \
    MEMBER("smallest_change.free_segments", c->free_segments)                             \
    MEMBER("smallest_change.smaller_by", c->smaller_by)                                   \
    MEMBER("smallest_change.more_memory", c->more_memory)                                 \
    MEMBER("smallest_change.culprit",                                                     \
           mv_value_if(has_biggest, mv_value_culprit(r->trace, r->sites.kinds, biggest))) \
    MEMBER("smallest_change.frames", mv_value_if(has_biggest, mv_value_frames(r->trace, biggest)))

/* Returns the change that is enough for a device's last failure. NULL: none is known. */
static const mv_remedy *remedy_of(const oom_report *r, uint32_t index, const mv_oom *oom)
{
    const mv_ooms *all = &r->found[index];
    const mv_remedies *found = &r->remedies[index];

    return oom == &all->ooms[all->count - 1] && found->count && found->rows->reaches ? found->rows
                                                                                     : NULL;
}

static const mv_remedy no_remedy = {.change = ""};

#define REMEDY_FIELDS(MEMBER)                                                                \
    MEMBER("remedy.name",                                                                    \
           best ? mv_value_text(mv_remedy_name(remedy)) : mv_value_of(MV_VALUE_NULL_OBJECT)) \
    MEMBER("remedy.change", remedy->change)                                                  \
    MEMBER("remedy.setting",                                                                 \
           *remedy->change ? mv_value_of(MV_VALUE_NULL) : mv_value_text(remedy->trial.conf)) \
    MEMBER("remedy.saves", mv_value_i64(remedy->saves))                                      \
    MEMBER("remedy.spare", mv_value_bytes(remedy->spare))                                    \
    MEMBER("remedy.needs", mv_value_u64(r->remedies[index].rest))                            \
    MEMBER("remedy.recomputed_bytes", remedy->recomputed)                                    \
    MEMBER("remedy.copied_bytes", remedy->copied)                                            \
    MEMBER("remedy.command", r->more)

#define OOM_FIELDS(COLUMN, MEMBER, LIST)                                                 \
    MEMBER("device", mv_value_u64(r->first + index))                                     \
    FIGURE_FIELDS(MEMBER)                                                                \
    OUTLOOK_FIELDS(MEMBER)                                                               \
    MEMBER("verdict", mv_oom_verdict_name(oom->verdict))                                 \
    MEMBER("suspect", r->is_of_calls ? mv_value_of(MV_VALUE_ABSENT)                      \
                                     : mv_value_text(mv_oom_verdict_name(oom->suspect))) \
    MEMBER("why", oom->why)                                                              \
    LIST("pinned_by", &pin_table, mv_value_rows(&pins))                                  \
    MEMBER("advice", oom->advice)                                                        \
    LIST("held_by", &pin_table, mv_value_if(oom->detailed, mv_value_rows(&holders)))     \
    CHANGE_FIELDS(MEMBER)                                                                \
    REMEDY_FIELDS(MEMBER)                                                                \
    MEMBER("culprit", mv_value_culprit(r->trace, r->sites.kinds, oom->stack))            \
    MEMBER("frames", mv_value_frames(r->trace, oom->stack))

static void add_oom(mv_rows *rows, const oom_report *r, uint32_t index, const mv_oom *oom)
{
    const mv_oom_outlook *f = &oom->outlook;
    const mv_oom_change *c = &oom->change;
    pin_list pins = pins_of(oom), holders = holders_of(oom);
    const mv_remedy *best = remedy_of(r, index, oom), *remedy = best ? best : &no_remedy;
    bool has_biggest = oom->detailed && c->biggest != MV_NO_ROW;
    mv_stack_id biggest = has_biggest ? r->lives[index].allocs.stack[c->biggest] : MV_NO_STACK;
    char label[512];

    MV_ROWS_ADD(rows, OOM_FIELDS);
}

static void list_ooms(mv_rows *rows)
{
    const oom_report *r = mv_rows_all(rows);

    for (uint32_t i = 0; i < r->end - r->first; i++)
        for (uint32_t k = 0; k < r->found[i].count && k < r->limit; k++)
            add_oom(rows, r, i, &r->found[i].ooms[k]);
}

static const mv_table oom_table = {MV_TABLE(OOM_FIELDS, list_ooms), .named_by = 2};

#define DEVICE_FIELDS(COLUMN, MEMBER, LIST)                 \
    MEMBER("device", mv_value_u64(r->first + i))            \
    MEMBER("ooms", found->count)                            \
    MEMBER("untried", found->untried)                       \
    MEMBER("history", mv_history_name(r->lives[i].history)) \
    MEMBER("retries", found->retries)                       \
    MEMBER("released", found->released)                     \
    MEMBER("collections", found->collections)               \
    MEMBER("collected", found->collected)

MV_LIST_ROWS(list_devices, oom_report, r, r->end - r->first, const mv_ooms *found = &r->found[i],
             DEVICE_FIELDS)

static const mv_table device_table = {MV_TABLE(DEVICE_FIELDS, list_devices)};

#define REPORT_FIELDS(COLUMN, MEMBER, LIST)                                      \
    LIST("ooms", &oom_table, mv_value_if(!r->errors, mv_value_rows(NULL)))       \
    LIST("devices", &device_table, mv_value_if(!r->errors, mv_value_rows(NULL))) \
    LIST("texts", &mv_error_table, mv_value_if(r->errors, mv_value_rows(r->errors)))

MV_LIST_REPORT(list_report, oom_report, r, REPORT_FIELDS)

const mv_table mv_report_oom = {MV_TABLE(REPORT_FIELDS, list_report), .main = "ooms"};

/* ---- text -------------------------------------------------------------------------------- */

static void put_headline(const oom_report *r, uint32_t index, const mv_oom *oom)
{
    char size[MV_SIZE_TEXT], label[512], time[32] = "", head[64], asked[48], event[32];

    snprintf(head, sizeof head, "OUT OF MEMORY  %s", mv_oom_verdict_name(oom->verdict));
    snprintf(asked, sizeof asked, ": %s requested at ", mv_size_text(size, oom->requested));
    mv_out_styled(r->out, MV_STYLE_RED, head);
    mv_out_text(r->out, asked);
    mv_out_style(r->out, MV_STYLE_BOLD);
    mv_prose_put_cut(r->out, mv_prose_room(r->out, (uint32_t)(strlen(head) + strlen(asked))),
                     label_of(r, oom->stack, label, sizeof label));
    mv_out_style(r->out, MV_STYLE_NONE);
    mv_out_char(r->out, '\n');
    if (oom->time_us != MV_NO_TIME && r->start_us != MV_NO_TIME)
        snprintf(time, sizeof time, " (%.3f s)", (double)(oom->time_us - r->start_us) / 1e6);
    if (mv_oom_moment(oom) == MV_BEFORE)
        snprintf(event, sizeof event, "before the first event");
    else
        snprintf(event, sizeof event, "%sevent %u", oom->api_call == MV_NO_ROW ? "" : "after ",
                 mv_oom_moment(oom));
    mv_prose_put_item(r->out, "device %u, %s%s: %s", r->first + index, event, time, oom->why);
}

static void put_sums(const oom_report *r, const mv_oom *oom)
{
    char size[5][MV_SIZE_TEXT], limit[2 * MV_SIZE_TEXT + 32] = "";
    const mv_oom_outlook *f = &oom->outlook;

    if (r->is_of_calls)
        return;
    if (oom->refused_by == MV_REFUSED_LIMIT)
        mv_prose_add(limit, sizeof limit, "; the limit is at least %s and below %s",
                     mv_size_text(size[0], f->limit_least),
                     mv_size_text(size[1], f->limit_most + 1));
    mv_prose_put_item(
        r->out, "%s reserved = %s allocated + %s pending + %s free; the device has %s left%s",
        mv_size_text(size[0], oom->bytes.reserved), mv_size_text(size[1], oom->bytes.allocated),
        mv_size_text(size[2], oom->bytes.pending), mv_size_text(size[3], oom->bytes.free),
        oom->device_free == MV_NO_BYTES ? "?" : mv_size_text(size[4], oom->device_free), limit);
}

static void put_remedy(const oom_report *r, uint32_t index, const mv_oom *oom)
{
    const mv_remedies *found = &r->remedies[index];
    const mv_remedy *remedy = remedy_of(r, index, oom);
    char saves[MV_SIZE_TEXT];
    const char *what;

    if (oom != &r->found[index].ooms[r->found[index].count - 1] || !found->count ||
        !found->rows->serves || (!*found->rows->change && oom->outlook.serves))
        return; /* the advice already names the setting */
    what = *found->rows->change ? "code change" : "setting";
    if (remedy)
        mv_prose_put_advice(
            r->out, "a replayed %s: %s; it reserves %s less (others: %s)", what, found->verdict,
            mv_size_text(saves, remedy->saves > 0 ? (uint64_t)remedy->saves : 0), r->more);
    else
        mv_prose_put_advice(r->out, "a replayed %s: %s (others: %s)", what, found->verdict,
                            r->more);
}

static void put_oom(const oom_report *r, uint32_t index, const mv_oom *oom)
{
    pin_list list = oom->pins.line_count > 0 && oom->verdict != MV_OOM_CAPACITY ? pins_of(oom)
                                                                                : holders_of(oom);

    put_headline(r, index, oom);
    put_sums(r, oom);
    if (oom->detailed && *oom->enough)
        mv_prose_put_item(r->out, "%s", oom->enough);
    mv_prose_put_advice(r->out, "%s", oom->advice);
    put_remedy(r, index, oom);
    mv_stack_put(r->out, r->trace, r->sites.kinds, oom->stack, r->cli->options.all_frames, 6);
    mv_table_print(r->cli, &pin_table, r, &list, "");
}

static void put_device(const oom_report *r, uint32_t index)
{
    const mv_ooms *found = &r->found[index];

    for (uint32_t i = 0; i < found->count && i < r->limit; i++) {
        put_oom(r, index, &found->ooms[i]);
        mv_out_char(r->out, '\n');
    }
    mv_rows_put_hidden(r->out, found->count, r->limit);
    mv_prose_put(r->out, 0, 2, "device %u: %s%s%s%s%s%s%s%s%s%s", r->first + index, found->verdict,
                 found->is_known ? "" : " (", found->is_known ? "" : found->why,
                 found->is_known ? "" : ")", *found->retried ? "; " : "", found->retried,
                 *found->collecting ? "; " : "", found->collecting, *found->unlooked ? "; " : "",
                 found->unlooked);
}

/* ---- both -------------------------------------------------------------------------------- */

/* Answers if a digest of the device's events shows that no request failed. */
static bool tell_served(oom_report *r, uint32_t index, mv_window window, mv_err *err)
{
    uint32_t device = r->first + index;
    const mv_digest *digest = &r->trace->digests[device];

    window.first = mv_event_number(r->trace, device, window.first);
    window.end = mv_event_number(r->trace, device, window.end);
    r->lives[index] = (mv_lives){.device = device,
                                 .history = (mv_history_kind)digest->history,
                                 .history_why = digest->history_why,
                                 .events.count = mv_event_total(r->trace, device)};
    return mv_ooms_words(&r->cli->arena, &r->lives[index], window, &r->found[index]) ||
           mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "") == MV_OK;
}

static bool inquire(oom_report *r, uint32_t index, mv_err *err)
{
    mv_lives *lives = &r->lives[index];
    mv_window window;

    if (!mv_window_find(r->cli, r->trace, r->first + index, &window))
        return false;
    if (r->trace->digests && mv_trace_events(r->trace, r->first + index).count > 0)
        return tell_served(r, index, window, err);
    if (mv_lives_find_ranked(&r->cli->arena, r->trace, r->first + index, lives, err) != MV_OK)
        return false;
    if (r->is_of_calls)
        return mv_refused_calls_find(&r->cli->arena, r->read, lives, &r->sites, window,
                                     &r->found[index], err) == MV_OK;
    return mv_ooms_find(&r->cli->arena, r->trace, lives, &r->sites, window, &r->found[index],
                        err) == MV_OK;
}

/* Searches for the cheapest remedy for the last failure. Does not search if there is a leak, which
 * needs a different remedy. */
static bool find_remedies(oom_report *r, uint32_t index, mv_err *err)
{
    const mv_ooms *found = &r->found[index];
    const mv_oom *last = found->count ? &found->ooms[found->count - 1] : NULL;
    mv_remedies_opts opts = {.failure = last, .steps = MOST_REMEDY_STEPS};
    uint32_t events = r->lives[index].events.count;

    if (!last || last->api_call != MV_NO_ROW || last->outlook.has_leak ||
        events > MOST_REMEDY_EVENTS || mv_option_given(&r->cli->options, MV_HAS(TO)))
        return true;
    return mv_remedies_find(&r->cli->arena, r->trace, &r->lives[index], &r->sites, opts,
                            &r->remedies[index], err) == MV_OK;
}

static bool find_all(oom_report *r)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    bool found = true;

    r->lives = mv_push_array(&r->cli->arena, mv_lives, r->end - r->first);
    r->found = mv_push_array(&r->cli->arena, mv_ooms, r->end - r->first);
    r->remedies = mv_push_array(&r->cli->arena, mv_remedies, r->end - r->first);
    r->more = mv_command_text(&r->cli->arena, "whatif", "--target oom", mv_input_name(r->cli));
    if (!r->lives || !r->found || !r->remedies || !r->more)
        mv_fail(&err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    else if (!r->trace->digests)
        mv_sites_find(&r->cli->arena, r->trace, &r->sites, &err);
    for (uint32_t i = 0; i < r->end - r->first && err.code == MV_OK && found; i++)
        found = inquire(r, i, &err) && find_remedies(r, i, &err);
    if (err.code != MV_OK)
        mv_complain(mv_input_name(r->cli), &err);
    return err.code == MV_OK && found;
}

/* If PyTorch's allocator was not used, only calls can fail. */
static bool take_calls(oom_report *r, mv_trace *trace)
{
    mv_err err = {.offset = MV_NO_OFFSET};

    if (trace->api_calls.count == 0 || mv_level_default(trace) == MV_LEVEL_PYTORCH)
        return true;
    r->is_of_calls = true;
    if (mv_level_take(&r->cli->arena, trace, MV_LEVEL_CUDA, &err) == MV_OK) {
        r->cli->level = mv_level_name(MV_LEVEL_CUDA);
        return true;
    }
    mv_complain(mv_input_name(r->cli), &err);
    return false;
}

/* Reports on a text that was given in place of a snapshot. */
static int explain_errors(oom_report *r, const mv_error_texts *texts)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_error_report errors;
    int status = MV_EXIT_DONE;

    if (mv_errors_explain(r->cli, texts, &errors, &err) != MV_OK)
        return mv_complain(NULL, &err);
    errors.limit = r->limit;
    r->errors = &errors;
    mv_errors_evaluate(r->cli, texts);
    if (mv_table_is_wanted(r->cli)) {
        r->cli->options.table = r->cli->options.table ? r->cli->options.table : "texts";
        status = mv_table_put(r->cli, r);
    } else {
        mv_errors_put(r->cli, &errors);
    }
    r->errors = NULL;
    return mv_gate_status(&r->cli->gates, status);
}

int mv_cmd_oom(mv_cli *cli)
{
    mv_trace trace, read;
    mv_error_texts texts = {0};
    oom_report r = {.cli = cli,
                    .out = &cli->out,
                    .trace = &trace,
                    .read = &read,
                    .limit = mv_rows_wanted(cli, TEXT_ROWS, 1, OTHER_LINES)};

    cli->errors = &texts;
    if (mv_errors_are_given(cli, &texts))
        return texts.count ? explain_errors(&r, &texts) : MV_EXIT_FAILED;
    if (!mv_input_read(cli, &trace))
        return texts.count ? explain_errors(&r, &texts) : MV_EXIT_FAILED;
    read = trace;
    if (!take_calls(&r, &trace) || !mv_input_devices(cli, &trace, &r.first, &r.end) ||
        !find_all(&r))
        return MV_EXIT_FAILED;
    r.start_us = trace.digests ? MV_NO_TIME : mv_position_start_us(&trace);
    for (uint32_t i = 0; i < r.end - r.first; i++)
        mv_gate_evaluate_ooms(&cli->gates, &trace, r.first + i, &r.found[i]);
    mv_gate_evaluate_idle(&cli->gates, &trace, r.first, r.end);
    if (mv_table_is_wanted(cli))
        return mv_gate_status(&cli->gates, mv_table_put(cli, &r));
    for (uint32_t i = r.first; i < r.end; i++)
        if (mv_device_is_reported(&trace, r.first, r.end, i))
            put_device(&r, i - r.first);
    mv_idle_put_others(r.out, &trace, r.first, r.end, false);
    return mv_gate_status(&cli->gates, MV_EXIT_DONE);
}
