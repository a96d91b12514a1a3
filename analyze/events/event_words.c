#include "analyze/events/event_words.h"

#include "analyze/code/culprit.h"
#include "analyze/code/native_frame.h"
#include "analyze/lives/alive.h"
#include "base/duration.h"
#include "base/numbers.h"
#include "base/size.h"
#include "base/text.h"

typedef struct {
    mv_text_maker words;
    const mv_event_facts *of;
    const mv_events *events;
    mv_event_explanation *out;
} event_writer;

static const char *size_of(event_writer *t, uint64_t bytes)
{
    char text[MV_SIZE_TEXT];

    return mv_make_text(&t->words, "%s", mv_size_text(text, bytes));
}

static const char *event_of(event_writer *t, uint32_t event)
{
    char text[MV_COUNT_TEXT];

    return mv_make_text(&t->words, "event %s", mv_count_text(text, event));
}

static const char no_events[] = "no events were recorded, so its lifetime is unknown";

/* Appends to the sentence `then`, which follows the first sentence. */
static void then(event_writer *t, const char *text)
{
    t->out->then = mv_make_text(&t->words, "%s%s%s", t->out->then, *t->out->then ? "; " : "", text);
}

/* ---- pieces of sentences ------------------------------------------------------------------ */

const char *mv_event_span_text(mv_arena *arena, const mv_events *e, uint32_t from, uint32_t to)
{
    char text[MV_DURATION_TEXT], count[MV_COUNT_TEXT];

    if (e->time_us[from] != MV_NO_TIME && e->time_us[to] != MV_NO_TIME &&
        e->time_us[to] >= e->time_us[from])
        return mv_arena_printf(arena, "%s",
                               mv_duration_text(text, e->time_us[to] - e->time_us[from]));
    return mv_arena_printf(arena, "%s event%s", mv_count_text(count, to - from),
                           mv_plural(to - from));
}

static const char *span_of(event_writer *t, uint32_t from, uint32_t to)
{
    const char *text = mv_event_span_text(t->words.arena, t->events, from, to);

    t->words.failed = t->words.failed || !text;
    return text ? text : "";
}

/* Returns "train.py:62 forward", preceded by `before`; "" if the line is unknown. */
static const char *line_of(event_writer *t, const char *before, mv_stack_id stack,
                           const char *after)
{
    char text[256];
    const char *label = text;

    mv_culprit_label(t->of->trace, t->of->kinds, stack, text, sizeof text);
    if (strcmp(label, MV_BACKWARD_LABEL) == 0)
        label = "the backward pass";
    return *label == '(' ? "" : mv_make_text(&t->words, "%s%s%s", before, label, after);
}

static const char *address_of(event_writer *t, uint64_t addr)
{
    return addr == MV_NO_BYTES ? ""
                               : mv_make_text(&t->words, " at 0x%llx", (unsigned long long)addr);
}

/* Describes a block: "2.00 MiB (1.97 MiB requested) at 0x7f1200000000". */
static const char *block_of(event_writer *t, uint32_t alloc)
{
    const mv_alloc_lives *a = &t->of->lives->allocs;
    const char *least = a->inexact[alloc] ? "at least " : "";
    const char *block = size_of(t, a->block[alloc]);
    const char *requested = size_of(t, a->requested[alloc]);

    if (strcmp(block, requested) == 0)
        return mv_make_text(&t->words, "%s%s%s", least, block, address_of(t, a->addr[alloc]));
    return mv_make_text(&t->words, "%s%s (%s requested)%s", least, block, requested,
                        address_of(t, a->addr[alloc]));
}

static const char *user_of(event_writer *t, uint32_t alloc)
{
    const mv_alloc_lives *a = &t->of->lives->allocs;

    if (a->birth[alloc] == MV_BEFORE)
        return mv_make_text(&t->words, "a block from before the first event%s",
                            line_of(t, " (", a->stack[alloc], ")"));
    return mv_make_text(&t->words, "%s%s", event_of(t, a->birth[alloc]),
                        line_of(t, " (", a->stack[alloc], ")"));
}

const char *mv_event_user_text(mv_arena *arena, const mv_event_facts *facts, uint32_t alloc)
{
    event_writer t = {.words.arena = arena, .of = facts, .events = &facts->lives->events};
    const char *text = user_of(&t, alloc);

    return t.words.failed ? NULL : text;
}

/* ---- allocations -------------------------------------------------------------------------- */

/* Whether `event` frees the row's block. A row may also end at an event that is not a free, because
 * its bytes are used again although no free was recorded. */
static bool is_free(const event_writer *t, uint32_t event)
{
    uint8_t action = t->events->action[event];

    return action == MV_ACTION_FREE_REQUESTED || action == MV_ACTION_FREE_COMPLETED;
}

/* Whether the block was freed before the first event and only waited for a stream. */
static bool was_pending(const event_writer *t)
{
    return t->out->born == MV_BEFORE && mv_alloc_was_pending(t->of->lives, t->out->alloc);
}

static void set_alloc(event_writer *t, uint32_t alloc)
{
    const mv_alloc_lives *a = &t->of->lives->allocs;
    const mv_address_users *users = t->of->users;

    t->out->alloc = alloc;
    t->out->segment = a->segment[alloc];
    t->out->born = a->birth[alloc];
    t->out->freed = a->freed[alloc];
    t->out->completed = a->completed[alloc];
    if (was_pending(t))
        t->out->freed = MV_NEVER; /* no event frees the block */
    if (users) {
        t->out->previous = users->previous[alloc];
        t->out->next = users->next[alloc];
    }
}

static void write_completion(event_writer *t, uint32_t freed, uint32_t completed)
{
    if (completed == MV_NEVER)
        then(t, "a stream may still use it at the last event, so it cannot be reused");
    else if (completed - freed > 1)
        then(t, mv_make_text(&t->words, "its bytes can be reused %s later, after %s",
                             span_of(t, freed, completed), event_of(t, completed)));
}

static void write_next(event_writer *t)
{
    if (!t->of->users || t->out->completed == MV_NEVER)
        return;
    if (t->out->next == MV_NO_ROW)
        then(t, "the address is not used again");
    else
        then(t,
             mv_make_text(&t->words, "the address is used next by %s", user_of(t, t->out->next)));
}

static void write_end(event_writer *t)
{
    uint32_t born = t->out->born, freed = t->out->freed;

    if (was_pending(t)) {
        then(t, "freed before the first event");
        if (t->out->completed == MV_NEVER)
            then(t, "a stream may still use it at the last event, so it cannot be reused");
        else
            then(t, mv_make_text(&t->words, "its bytes can be reused after %s",
                                 event_of(t, t->out->completed)));
    } else if (freed == MV_NEVER) {
        then(t, "still allocated at the last event");
    } else if (!is_free(t, freed)) {
        then(t, mv_make_text(&t->words, "its free is not recorded, but %s uses its bytes",
                             event_of(t, freed)));
    } else {
        if (born == MV_BEFORE)
            then(t, mv_make_text(&t->words, "freed by %s", event_of(t, freed)));
        else
            then(t, mv_make_text(&t->words, "freed after %s by %s", span_of(t, born, freed),
                                 event_of(t, freed)));
        write_completion(t, freed, t->out->completed);
    }
    write_next(t);
}

/* Describes a block in a heap without events, for which nothing but the block's existence is
 * known. */
static void write_block(event_writer *t, uint32_t alloc)
{
    t->out->what =
        mv_make_text(&t->words, "A block of %s%s", block_of(t, alloc),
                     line_of(t, ", allocated in ", t->of->lives->allocs.stack[alloc], ""));
    then(t, no_events);
}

static void write_alloc(event_writer *t, uint32_t alloc)
{
    set_alloc(t, alloc);
    if (t->events->count == 0) {
        write_block(t, alloc);
        return;
    }
    t->out->what = mv_make_text(
        &t->words,
        t->out->born == MV_BEFORE ? "Allocated before the first event: %s%s" : "Allocates %s%s",
        block_of(t, alloc), line_of(t, " in ", t->of->lives->allocs.stack[alloc], ""));
    write_end(t);
}

/* Returns the line of the freeing call if its stack differs from the alloc's stack, otherwise "".
 * Some files repeat the alloc's stack in the free. */
static const char *freeing_line(event_writer *t, uint32_t event)
{
    mv_stack_id own = t->of->lives->allocs.stack[t->out->alloc];

    if (own.row == MV_NO_ROW || own.row == t->events->stack[event].row)
        return "";
    return line_of(t, " in ", t->events->stack[event], "");
}

/* Names the allocation that `event` frees: ", which event 8,407 (train.py:62 forward) allocated 12
 * ms before". */
static const char *origin(event_writer *t, uint32_t event)
{
    uint32_t born = t->out->born;

    if (born == MV_BEFORE)
        return ", which was allocated before the first event";
    return mv_make_text(&t->words, ", which %s allocated %s before", user_of(t, t->out->alloc),
                        span_of(t, born, event));
}

static void write_free(event_writer *t, uint32_t event)
{
    set_alloc(t, t->of->lives->alloc_of[event]);
    t->out->what = mv_make_text(&t->words, "Frees %s%s%s", block_of(t, t->out->alloc),
                                freeing_line(t, event), origin(t, event));
    write_completion(t, event, t->out->completed);
    write_next(t);
}

static void write_completed(event_writer *t, uint32_t event)
{
    uint32_t freed;

    set_alloc(t, t->of->lives->alloc_of[event]);
    freed = t->out->freed;
    if (freed == event) { /* the file contains no other free of the allocation */
        write_free(t, event);
        return;
    }
    if (was_pending(t))
        t->out->what = mv_make_text(
            &t->words, "Completes a free requested before the first event: %s can be reused",
            block_of(t, t->out->alloc));
    else
        t->out->what =
            mv_make_text(&t->words, "Completes the free requested by %s: %s can be reused",
                         freed + 1 == event ? "the event before" : event_of(t, freed),
                         block_of(t, t->out->alloc));
    write_next(t);
}

static void write_unknown_free(event_writer *t, uint32_t event)
{
    t->out->what =
        mv_make_text(&t->words, "Frees %s%s, where no allocation is recorded",
                     size_of(t, t->events->size[event]), address_of(t, t->events->addr[event]));
}

static void write_annotation(event_writer *t, uint32_t event)
{
    uint32_t alloc = t->of->lives->alloc_of[event];
    mv_string_id text = t->of->trace->tags.user_metadata[t->events->tag[event].row];

    if (alloc != MV_NO_ROW)
        set_alloc(t, alloc);
    t->out->what =
        mv_make_text(&t->words, "Annotates %s: '%s'",
                     alloc != MV_NO_ROW ? block_of(t, alloc)
                                        : mv_make_text(&t->words, "the bytes%s",
                                                       address_of(t, t->events->addr[event])),
                     mv_string_text(t->of->trace, text));
    if (alloc != MV_NO_ROW && t->out->born != MV_BEFORE)
        then(t, mv_make_text(&t->words, "allocated %s before by %s",
                             span_of(t, t->out->born, event), user_of(t, alloc)));
}

/* ---- segments ----------------------------------------------------------------------------- */

/* Maximum number of events to search for the end of a call; real calls have only a few events. */
enum { MOST_OF_CALL = 4096 };

/* Returns the alloc of the same call that needed the segment; MV_NO_ROW: unknown. */
static uint32_t needed_by(const event_writer *t, uint32_t event)
{
    const mv_events *e = t->events;
    uint32_t left = e->count - event - 1, most = left < MOST_OF_CALL ? left : MOST_OF_CALL;

    if (e->call[event] == MV_NO_CALL)
        return MV_NO_ROW;
    for (uint32_t i = event + 1; i <= event + most && e->call[i] == e->call[event]; i++)
        if (e->action[i] == MV_ACTION_ALLOC)
            return i;
    return MV_NO_ROW;
}

/* Returns the row of a segment if the row is as large as the segment in the event. Smaller rows
 * were cut off later. */
static uint32_t whole_segment(event_writer *t, uint32_t event)
{
    const mv_segment_lives *s = &t->of->lives->segments;
    uint32_t row = t->of->lives->alloc_of[event];

    if (row == MV_NO_ROW)
        return MV_NO_ROW;
    t->out->segment = row;
    t->out->born = s->birth[row];
    t->out->freed = t->out->completed = s->death[row];
    return s->addr[row] == t->events->addr[event] && s->size[row] == t->events->size[event]
               ? row
               : MV_NO_ROW;
}

static void write_return(event_writer *t)
{
    uint32_t born = t->out->born, freed = t->out->freed;

    if (freed == MV_NEVER)
        then(t, "still held at the last event");
    else if (born == MV_BEFORE)
        then(t, mv_make_text(&t->words, "released by %s", event_of(t, freed)));
    else
        then(t, mv_make_text(&t->words, "released after %s by %s", span_of(t, born, freed),
                             event_of(t, freed)));
}

static void write_segment_begin(event_writer *t, uint32_t event)
{
    bool is_map = t->events->action[event] == MV_ACTION_SEGMENT_MAP;
    uint32_t needer = needed_by(t, event), row = whole_segment(t, event);
    const char *size = size_of(t, t->events->size[event]);
    const char *place = address_of(t, t->events->addr[event]);

    t->out->what =
        is_map ? mv_make_text(&t->words, "Maps %s of device memory into an expandable segment%s",
                              size, place)
               : mv_make_text(&t->words, "Gets a segment of %s from the device%s", size, place);
    if (needer != MV_NO_ROW)
        t->out->what = mv_make_text(&t->words, "%s, for the %s of %s", t->out->what,
                                    size_of(t, t->events->size[needer]), event_of(t, needer));
    if (row != MV_NO_ROW)
        write_return(t);
}

static void write_segment_end(event_writer *t, uint32_t event)
{
    bool is_unmap = t->events->action[event] == MV_ACTION_SEGMENT_UNMAP;
    uint32_t row = whole_segment(t, event);
    const char *size = size_of(t, t->events->size[event]);
    const char *place = address_of(t, t->events->addr[event]);

    t->out->what =
        is_unmap
            ? mv_make_text(&t->words, "Gives %s of an expandable segment%s back to the device",
                           size, place)
            : mv_make_text(&t->words, "Gives a segment of %s%s back to the device", size, place);
    if (t->out->segment == MV_NO_ROW)
        then(t, "its creation is not recorded");
    else if (row != MV_NO_ROW && t->out->born == MV_BEFORE)
        then(t, "held since before the first event");
    else if (row != MV_NO_ROW)
        then(t, mv_make_text(&t->words, "%s got it %s before", event_of(t, t->out->born),
                             span_of(t, t->out->born, event)));
}

/* Explains a segment row that has no event. */
static void write_segment_row(event_writer *t, uint32_t row)
{
    const mv_segment_lives *s = &t->of->lives->segments;
    const char *size = size_of(t, s->size[row]), *place = address_of(t, s->addr[row]);

    t->out->segment = row;
    t->out->born = s->birth[row];
    t->out->freed = t->out->completed = s->death[row];
    if (t->events->count == 0) {
        t->out->what = mv_make_text(&t->words, "A segment of %s%s", size, place);
        then(t, no_events);
        return;
    }
    if (t->out->born == MV_BEFORE)
        t->out->what = mv_make_text(
            &t->words, "A segment of %s%s, held since before the first event", size, place);
    else
        t->out->what =
            mv_make_text(&t->words, "%s%s, part of the memory that %s got from the device", size,
                         place, event_of(t, t->out->born));
    write_return(t);
}

/* ---- all events ---------------------------------------------------------------------------- */

static void write_oom(event_writer *t, uint32_t event)
{
    uint64_t free = t->events->addr[event];

    t->out->what =
        mv_make_text(&t->words, "Requests %s%s, which fails", size_of(t, t->events->size[event]),
                     line_of(t, " in ", t->events->stack[event], ""));
    if (free != MV_NO_BYTES)
        then(t, mv_make_text(&t->words, "the device has %s free", size_of(t, free)));
}

static void write_other(event_writer *t, uint32_t event)
{
    const mv_tags *tags = &t->of->trace->tags;

    t->out->what =
        mv_make_text(&t->words, "'%s': an unknown kind of event",
                     mv_string_text(t->of->trace, tags->action[t->events->tag[event].row]));
}

static void write_event(event_writer *t, uint32_t event)
{
    bool has_alloc = t->of->lives->alloc_of[event] != MV_NO_ROW;

    switch ((mv_action)t->events->action[event]) {
    case MV_ACTION_ALLOC: /* every alloc event has an allocation */
        write_alloc(t, t->of->lives->alloc_of[event]);
        break;
    case MV_ACTION_FREE_REQUESTED:
        (has_alloc ? write_free : write_unknown_free)(t, event);
        break;
    case MV_ACTION_FREE_COMPLETED:
        (has_alloc ? write_completed : write_unknown_free)(t, event);
        break;
    case MV_ACTION_SEGMENT_ALLOC:
    case MV_ACTION_SEGMENT_MAP:
        write_segment_begin(t, event);
        break;
    case MV_ACTION_SEGMENT_FREE:
    case MV_ACTION_SEGMENT_UNMAP:
        write_segment_end(t, event);
        break;
    case MV_ACTION_OOM:
        write_oom(t, event);
        break;
    case MV_ACTION_SNAPSHOT:
        t->out->what = mv_make_text(&t->words, "A snapshot is taken: %s is active",
                                    size_of(t, t->events->size[event]));
        break;
    case MV_ACTION_ANNOTATE:
        write_annotation(t, event);
        break;
    default:
        write_other(t, event);
    }
}

static event_writer begin(mv_arena *arena, const mv_event_facts *facts, uint32_t event,
                          mv_event_explanation *out)
{
    *out = (mv_event_explanation){.event = event,
                                  .alloc = MV_NO_ROW,
                                  .segment = MV_NO_ROW,
                                  .born = MV_NEVER,
                                  .freed = MV_NEVER,
                                  .completed = MV_NEVER,
                                  .previous = MV_NO_ROW,
                                  .next = MV_NO_ROW,
                                  .what = "",
                                  .then = ""};
    return (event_writer){
        .words.arena = arena, .of = facts, .events = &facts->lives->events, .out = out};
}

static bool end(event_writer *t)
{
    t->out->text =
        mv_make_text(&t->words, "%s%s%s", t->out->what, *t->out->then ? "; " : "", t->out->then);
    return !t->words.failed;
}

bool mv_event_explanation_find(mv_arena *arena, const mv_event_facts *facts, uint32_t event,
                               mv_event_explanation *out)
{
    event_writer t = begin(arena, facts, event, out);

    write_event(&t, event);
    return end(&t);
}

bool mv_alloc_explanation_find(mv_arena *arena, const mv_event_facts *facts, uint32_t alloc,
                               mv_event_explanation *out)
{
    event_writer t = begin(arena, facts, facts->lives->allocs.birth[alloc], out);

    write_alloc(&t, alloc);
    return end(&t);
}

bool mv_segment_explanation_find(mv_arena *arena, const mv_event_facts *facts, uint32_t segment,
                                 mv_event_explanation *out)
{
    const mv_segment_lives *s = &facts->lives->segments;
    uint32_t event = s->birth[segment];
    event_writer t = begin(arena, facts, event, out);

    if (event != MV_BEFORE && facts->lives->alloc_of[event] == segment &&
        whole_segment(&t, event) == segment)
        write_segment_begin(&t, event);
    else
        write_segment_row(&t, segment);
    return end(&t);
}
