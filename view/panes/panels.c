#include "view/panes/panels.h"

#include <math.h>

#include "base/size.h"
#include "view/document/ledger_moment.h"
#include "view/document/moment_text.h"

/* ---- jobs -------------------------------------------------------------------------------- */

const void *mv_shared_get(mv_panels *panels, mv_shared_list *list, const mv_document_device *device,
                          const mv_document_device *other, size_t size, mv_shared_fn *make,
                          const void *ask)
{
    mv_shared *found;

    pthread_mutex_lock(&list->lock);
    for (found = list->first; found && (found->of[0] != device || found->of[1] != other);
         found = found->next)
        continue;
    if (!found) {
        mv_arena arena;
        mv_arena_init(&arena, panels->view->budget);
        found = mv_arena_push(&arena, 1, size);
        if (found) {
            found->is_made = make(&arena, ask, found);
            found->of[0] = device;
            found->of[1] = other;
            found->arena = arena;
            found->next = list->first;
            list->first = found;
        }
    }
    pthread_mutex_unlock(&list->lock);
    return found && found->is_made ? found : NULL;
}

static void drop_shared(mv_shared_list *list)
{
    while (list->first) {
        mv_arena arena = list->first->arena;
        list->first = list->first->next;
        mv_arena_release(&arena);
    }
    pthread_mutex_destroy(&list->lock);
}

static bool make_facts(mv_arena *arena, const void *ask, void *out)
{
    const mv_document_device *device = ask;
    mv_panel_facts *facts = out;
    mv_err err;

    mv_listing_count_sizes(&device->lives, NULL, facts->ever);
    return mv_index_make(arena, &device->lives, MV_INDEX_ACTIVE, &facts->active, &err) == MV_OK;
}

const mv_panel_facts *mv_panels_facts(mv_panels *panels, const mv_document_device *device)
{
    return mv_shared_get(panels, &panels->facts, device, NULL, sizeof(mv_panel_facts), make_facts,
                         device);
}

/* The previous and next users of each block's bytes. */
typedef struct {
    mv_shared shared;
    mv_address_users users;
} panel_users;

static bool find_users(mv_arena *arena, const void *ask, void *out)
{
    const mv_document_device *device = ask;
    mv_err err;

    return mv_address_users_find(arena, &device->lives, &((panel_users *)out)->users, &err) ==
           MV_OK;
}

static void *find_heap(mv_arena *arena, void *context, const void *ask)
{
    const mv_heap_query *q = ask;
    mv_heap_answer *a = mv_push_struct(arena, mv_heap_answer);
    const mv_panel_facts *facts = mv_panels_facts(context, q->device);
    mv_state_opts opts = {.most_rows = q->rows,
                          .rows = q->fill,
                          .most_groups = q->rows / 3 + 1,
                          .columns = q->columns,
                          .by_address = q->by_address,
                          .has_no_kinds = q->device->calls > 0};
    mv_err err;

    if (!a || !facts)
        return NULL;
    a->ask = *q;
    if (mv_heap_moment_find(arena, &q->device->lives, &facts->active, q->event, &a->heap, &err) !=
            MV_OK ||
        mv_state_lay(arena, &q->device->lives, &a->heap.map, q->event, &opts, &a->state, &err) !=
            MV_OK)
        return NULL;
    return a;
}

mv_flames_query mv_flames_answer_query(const mv_flames_answer *a)
{
    const mv_flames_question *q = &a->ask;

    return (mv_flames_query){.source = (mv_flames_source)q->source,
                             .by_blocks = q->by_blocks,
                             .is_inverted = q->is_inverted,
                             .has_all_frames = q->has_all_frames,
                             .event = q->event,
                             .a = q->a,
                             .b = q->b,
                             .only = *q->only ? &a->only : NULL};
}

static bool find_held(mv_arena *arena, mv_flames_answer *a)
{
    const mv_flames_question *q = &a->ask;
    mv_err err;

    if (*q->only && !mv_search_allocs(arena, &q->document->trace, q->device, q->is_evaluated,
                                      q->only, &a->only))
        return false;
    return mv_flames_find(arena, &q->document->trace, &q->document->sites, &q->device->index,
                          mv_flames_answer_query(a), &a->flames, &err) == MV_OK;
}

static bool find_segments(mv_arena *arena, mv_panels *panels, mv_flames_answer *a)
{
    const mv_flames_question *q = &a->ask;
    const mv_panel_facts *facts = mv_panels_facts(panels, q->device);
    mv_heap_moment heap;
    mv_err err;

    return facts &&
           mv_heap_moment_find(arena, &q->device->lives, &facts->active, q->event, &heap, &err) ==
               MV_OK &&
           mv_flames_of_segments(arena, &q->document->trace, &q->document->sites, &q->device->lives,
                                 &heap.map, mv_flames_answer_query(a), &a->flames, &err) == MV_OK;
}

static bool find_change(mv_arena *arena, mv_panels *panels, mv_flames_answer *a)
{
    const mv_panel_change *change = a->ask.other_device ? mv_panels_change(panels, &a->ask) : NULL;
    mv_err err;

    if (!change)
        return false;
    a->level[0] = change->found.level[0];
    a->level[1] = change->found.level[1];
    return mv_flames_of_change(arena, &change->code, &change->found, mv_flames_answer_query(a),
                               &a->flames, &err) == MV_OK;
}

static void *find_flames(mv_arena *arena, void *context, const void *ask)
{
    const mv_flames_question *q = ask;
    mv_flames_answer *a = mv_push_struct(arena, mv_flames_answer);
    uint64_t least;
    mv_err err;

    if (!a)
        return NULL;
    a->ask = *q;
    if (!(q->source == MV_FLAMES_CHANGE     ? find_change(arena, context, a)
          : q->source == MV_FLAMES_SEGMENTS ? find_segments(arena, context, a)
                                            : find_held(arena, a)))
        return NULL;
    a->focus = mv_flames_node(&a->flames, q->focus);
    least = a->flames.tree.nodes[a->focus].bytes / (q->width ? q->width : 1);
    if (mv_icicle_lay_node(arena, &a->flames.tree, a->focus, least, UINT32_MAX, UINT32_MAX,
                           &a->boxes, &err) != MV_OK)
        return NULL;
    return a;
}

static void *find_table(mv_arena *arena, void *context, const void *ask)
{
    const mv_listing_question *q = ask;
    mv_listing_answer *a = mv_push_struct(arena, mv_listing_answer);
    mv_err err;

    if (!a)
        return NULL;
    a->question = *q;
    a->ask = (mv_listing_query){.document = q->document,
                                .device = q->device,
                                .kind = (uint8_t)q->kind,
                                .is_evaluated = q->is_evaluated,
                                .event = q->event,
                                .a = q->a,
                                .b = q->b,
                                .of_segments = q->of_segments,
                                .rows = a->question.rows,
                                .sort = q->sort,
                                .is_ascending = q->is_ascending};
    if (q->kind == MV_LISTING_FRAGMENTS || q->kind == MV_LISTING_SIZES) {
        const mv_panel_facts *facts = mv_panels_facts(context, q->device);
        if (!facts)
            return NULL;
        a->ask.active = &facts->active;
        a->ask.ever = facts->ever;
    }
    if (*q->only) {
        mv_listing_size *ever = mv_push_array(arena, mv_listing_size, MV_LISTING_SIZE_ROWS);
        if (!ever || !mv_search_allocs(arena, &q->document->trace, q->device, q->is_evaluated,
                                       q->only, &a->only))
            return NULL;
        mv_listing_count_sizes(&q->device->lives, &a->only, ever);
        a->ask.only = &a->only;
        a->ask.ever = ever;
    }
    return mv_listing_find(arena, &a->ask, &a->table, &err) == MV_OK ? a : NULL;
}

/* Finds what holds the memory of the whole device. Returns false when out of memory. */
static bool find_device_report(mv_arena *arena, const mv_findings_question *q, mv_reports *reports)
{
    const mv_trace *read = mv_trace_as_read(&q->document->trace);
    uint32_t device = q->device->device;
    mv_ledger *ledger = mv_push_struct(arena, mv_ledger);
    mv_lives lives = q->device->lives;
    mv_err err;

    if (!ledger)
        return false;
    if (!mv_document_has_ledger(q->document) || device >= 64 ||
        !(mv_ledger_devices(read) >> device & 1))
        return true;
    if (q->document->trace.origin.level &&
        mv_lives_find(arena, read, device, &lives, &err) != MV_OK)
        return false;
    if (mv_ledger_find(arena, read, &lives, (mv_ledger_query){.when = MV_LEDGER_MOST_USED}, ledger,
                       &err) != MV_OK)
        return false;
    if (ledger->used != MV_NO_BYTES || ledger->by_sum > 0)
        reports->ledger = ledger;
    return true;
}

/* Finds how much other settings would save, but only for PyTorch's own trace. */
static bool find_whatif(mv_arena *arena, const mv_findings_question *q, mv_reports *reports)
{
    mv_whatif *whatif = mv_push_struct(arena, mv_whatif);
    mv_err err;

    if (!whatif)
        return false;
    if (q->document->trace.origin.level || mv_trace_allocator(&q->document->trace))
        return true;
    if (mv_whatif_find(arena, &q->document->trace, &q->device->lives, &q->document->sites,
                       (mv_whatif_opts){0}, whatif, &err) != MV_OK)
        return false;
    reports->whatif = whatif;
    return true;
}

static void *find_findings(mv_arena *arena, void *context, const void *ask)
{
    const mv_findings_question *q = ask;
    mv_findings_answer *a = mv_push_struct(arena, mv_findings_answer);
    mv_reports reports = mv_document_reports(q->document, q->device);
    mv_err err;

    (void)context;
    if (!a)
        return NULL;
    a->ask = *q;
    if (!find_device_report(arena, q, &reports))
        return NULL;
    /* If the replays run out of memory, the other findings are still shown. A NULL result would
     * hide them, and the query would not be sent again. */
    if (q->tries && !find_whatif(arena, q, &reports))
        reports.whatif = NULL;
    if (mv_findings_find(arena, &reports, &a->findings, &err) != MV_OK)
        return NULL;
    a->places = mv_finding_places_find(arena, q->document, q->device, &a->findings, reports.whatif);
    return a->places ? a : NULL;
}

/* Explains an allocation, segment or event. If `users` is NULL, the previous and next users of the
 * address are left out, which is fast. */
static bool explain(mv_arena *arena, const mv_explanation_question *q,
                    const mv_address_users *users, mv_event_explanation *out)
{
    mv_event_facts facts = {.trace = &q->document->trace,
                            .kinds = q->document->sites.kinds,
                            .lives = &q->device->lives,
                            .users = users};

    if (q->event != MV_NO_ROW)
        return mv_event_explanation_find(arena, &facts, q->event, out);
    if (q->alloc != MV_NO_ROW)
        return mv_alloc_explanation_find(arena, &facts, q->alloc, out);
    return mv_segment_explanation_find(arena, &facts, q->segment, out);
}

static void *find_explanation(mv_arena *arena, void *context, const void *ask)
{
    const mv_explanation_question *q = ask;
    mv_explanation_answer *a = mv_push_struct(arena, mv_explanation_answer);
    mv_panels *panels = context;
    const panel_users *found = mv_shared_get(panels, &panels->users, q->device, NULL,
                                             sizeof(panel_users), find_users, q->device);
    mv_err err;

    if (!a || !found || !explain(arena, q, &found->users, &a->story))
        return NULL;
    a->ask = *q;
    if (q->has_history && a->story.alloc != MV_NO_ROW &&
        mv_allocation_history_find(arena, &q->document->trace, q->device, a->story.alloc,
                                   &a->history, &err) != MV_OK)
        return NULL;
    return a;
}

/* ---- opening and closing ----------------------------------------------------------------- */

bool mv_panels_open(mv_view *view)
{
    mv_panels *p = mv_push_struct(&view->arena, mv_panels);

    if (!p)
        return false;
    view->panels = p;
    p->view = view;
    pthread_mutex_init(&p->facts.lock, NULL);
    pthread_mutex_init(&p->changes.lock, NULL);
    pthread_mutex_init(&p->users.lock, NULL);
    pthread_mutex_init(&p->ideals.lock, NULL);
    mv_arena_init(&p->filter_arena, view->budget);
    p->table_cursor = MV_BEFORE;
    p->heap = mv_slot_open(view->jobs, find_heap, p, sizeof(mv_heap_query));
    p->ideal = mv_slot_open(view->jobs, mv_state_ideal_find, p, mv_state_ideal_query_bytes());
    p->flames = mv_slot_open(view->jobs, find_flames, p, sizeof(mv_flames_question));
    p->table = mv_slot_open(view->jobs, find_table, p, sizeof(mv_listing_question));
    p->findings = mv_slot_open(view->jobs, find_findings, p, sizeof(mv_findings_question));
    p->details = mv_slot_open(view->jobs, find_explanation, p, sizeof(mv_explanation_question));
    p->cursor_explanation =
        mv_slot_open(view->jobs, find_explanation, p, sizeof(mv_explanation_question));
    return p->heap && p->ideal && p->flames && p->table && p->findings && p->details &&
           p->cursor_explanation;
}

void mv_panels_close(mv_view *view)
{
    mv_panels *p = view->panels;

    drop_shared(&p->changes);
    drop_shared(&p->facts);
    drop_shared(&p->users);
    drop_shared(&p->ideals);
    mv_arena_release(&p->filter_arena);
}

/* ---- for the panes ----------------------------------------------------------------------- */

void mv_panel_remark(mv_view *view, mv_box box, const char *text)
{
    mv_ui *ui = &view->ui;
    mv_ui_lines style = {.size = MV_UI_TEXT,
                         .line = MV_UI_LINE,
                         .colour = ui->theme->faint_text,
                         .most = 8,
                         .gap = " "};
    float pad = mv_ui_px(ui, MV_UI_PAD), height;

    if (mv_ui_text_width(ui, MV_UI_TEXT, text) <= box.w) {
        mv_ui_text(ui, box, MV_UI_TEXT, style.colour, MV_ANCHOR_MIDDLE, text);
        return;
    }
    box.x += pad;
    box.w -= 2 * pad;
    height = (float)mv_ui_line_count(ui, box.w, &style, text) * mv_ui_px(ui, MV_UI_LINE);
    box.y += fmaxf(0, floorf((box.h - height) / 2));
    mv_ui_paragraph(ui, box, &style, text);
}

bool mv_panels_device(mv_view *view, mv_box box, const mv_document **document,
                      const mv_document_device **device)
{
    *document = mv_view_document(view);
    *device = mv_view_device(view);
    if (!view->sheet)
        mv_ui_fill(&view->ui, box, view->ui.theme->plot);
    if (*document && *device)
        return true;
    mv_panel_remark(view, box, "nothing is loaded yet");
    return false;
}

void mv_panels_interval(const mv_view *view, uint32_t *a, uint32_t *b)
{
    uint32_t events = mv_view_device(view)->lives.events.count;

    *a = view->now->has_interval ? view->now->a : (uint32_t)fmax(0, view->now->from);
    *b = view->now->has_interval ? view->now->b : (uint32_t)ceil(view->now->to);
    if (*b > events)
        *b = events;
    if (*a > *b)
        *a = *b;
}

bool mv_panels_isolated(const mv_view *view, char only[MV_SEARCH_TEXT])
{
    bool is_isolated = view->matches && view->now->show == MV_SHOW_ISOLATE;

    if (is_isolated)
        memcpy(only, view->now->search, MV_SEARCH_TEXT);
    return is_isolated;
}

uint32_t mv_panel_room(const mv_view *view, mv_box box)
{
    return (uint32_t)(box.h / (MV_UI_LINE * view->ui.scale));
}

static float line_height(const mv_panel_lines *lines)
{
    const mv_ui *ui = &lines->view->ui;

    return lines->size > 0 ? mv_ui_px(ui, lines->size + 5) : MV_UI_LINE * ui->scale;
}

mv_box mv_panel_line(mv_panel_lines *lines)
{
    float h = line_height(lines);
    mv_box line = {lines->box.x, lines->y, lines->box.w, h};

    if (lines->count++ < lines->first || lines->y + h > lines->box.y + lines->box.h + 0.5f)
        return (mv_box){lines->box.x, lines->box.y, lines->box.w, 0};
    lines->y += h;
    return line;
}

/* Returns how many bytes of the text fit the width. They end at a blank, or within a word if that
 * word is too long. */
static size_t fitting(const mv_ui *ui, float size, const char *text, float width)
{
    size_t best = 0, letters = 0, length = strlen(text);
    char part[256];

    if (mv_ui_text_width(ui, size, text) <= width)
        return length;
    for (size_t i = 1; i <= length && i < sizeof part; i++) {
        if (((uint8_t)text[i] & 0xc0) == 0x80) /* this byte is inside a letter */
            continue;
        memcpy(part, text, i);
        part[i] = 0;
        if (mv_ui_text_width(ui, size, part) > width)
            break;
        letters = i;
        if (text[i] == ' ' || text[i] == 0)
            best = i;
    }
    return best ? best : letters ? letters : length;
}

uint32_t mv_panel_wrap(mv_panel_lines *lines, float left, float width, uint32_t colour,
                       uint32_t most, const char *text)
{
    mv_view *view = lines->view;
    float size = lines->size > 0 ? lines->size : MV_UI_TEXT;
    uint32_t count = 0;

    while (*text && count < most) {
        size_t length = count + 1 == most ? strlen(text) : fitting(&view->ui, size, text, width);
        mv_box line = mv_panel_line(lines);
        if (line.h > 0)
            mv_ui_text(&view->ui, (mv_box){line.x + left, line.y, width, line.h}, size, colour,
                       MV_ANCHOR_START, mv_panel_say(view, "%.*s", (int)length, text));
        text += length;
        text += *text == ' ';
        count++;
    }
    return count;
}

uint32_t mv_panel_flow(const mv_view *view, mv_box pane, const float *widths, uint32_t count,
                       mv_box *out)
{
    float high = mv_ui_px(&view->ui, MV_PANEL_HEAD), x = 0;
    uint32_t rows = 1;

    for (uint32_t i = 0; i < count; i++) {
        float width = mv_ui_px(&view->ui, widths[i]);
        if (x > 0 && x + width > pane.w) {
            rows++;
            x = 0;
        }
        if (out)
            out[i] =
                (mv_box){pane.x + x, pane.y + (float)(rows - 1) * high + 1,
                         i + 1 < count ? fminf(width, pane.w) : fmaxf(0, pane.w - x), high - 3};
        x += width;
    }
    return rows;
}

bool mv_panel_wheel(const mv_input *input, uint32_t *first)
{
    int32_t lines = (int32_t)(-3 * input->dy);

    if (input->kind != MV_INPUT_WHEEL || input->mods || lines == 0)
        return false;
    if (lines < 0 && *first < (uint32_t)-lines)
        *first = 0;
    else
        *first += (uint32_t)lines;
    return true;
}

const char *mv_panel_say(mv_view *view, const char *format, ...)
{
    const char *copy;
    va_list args;

    va_start(args, format);
    copy = mv_arena_vprintf(view->ui.frame, format, args);
    va_end(args);
    return copy ? copy : "";
}

const char *mv_panel_size(mv_view *view, uint64_t bytes)
{
    char text[MV_SIZE_TEXT];

    return mv_panel_say(view, "%s", mv_size_text(text, bytes));
}

const char *mv_panel_moment(mv_view *view, uint32_t event)
{
    const mv_document *document = mv_view_document(view);
    const mv_document_device *device = mv_view_device(view);
    char count[MV_TICK_TEXT], time[MV_TICK_TEXT];

    if (event == MV_BEFORE)
        return "before the first event";
    mv_axis_exact(event, count);
    mv_event_time_text(&document->trace, &device->lives.events, event, time);
    return mv_panel_say(view, "after event %s%s%s", count, *time ? " \xc2\xb7 " : "", time);
}

const mv_event_explanation *mv_panels_cursor_explanation(mv_view *view)
{
    const mv_document_device *device = mv_view_device(view);
    const mv_explanation_answer *a;
    mv_explanation_question q;
    bool is_current;

    memset(&q, 0, sizeof q);
    q.document = mv_view_document(view);
    q.device = device;
    q.event = view->now->cursor;
    q.alloc = q.segment = MV_NO_ROW;
    if (!device || q.event >= device->lives.events.count)
        return NULL;
    a = mv_slot_query(view->panels->cursor_explanation, &q, &is_current);
    return a && is_current ? &a->story : mv_panels_explain(view, &q);
}

const mv_event_explanation *mv_panels_explain(mv_view *view,
                                              const mv_explanation_question *question)
{
    mv_event_explanation *story = mv_push_struct(view->ui.frame, mv_event_explanation);

    return story && explain(view->ui.frame, question, NULL, story) ? story : NULL;
}
