#include "view/document/whatif_replay.h"

#include "analyze/filter/site_words.h"
#include "base/numbers.h"
#include "base/size.h"
#include "base/sort.h"

enum { MOST_LINES = 6, MOST_CHANGES = 32, MOST_ROWS = MV_SETTING_CHOICES + 3 + MOST_LINES };

static const char *const change_names[] = {
#define MV_CHANGE_NAME(name, text) text,
    MV_CODE_CHANGE_LIST(MV_CHANGE_NAME)
#undef MV_CHANGE_NAME
};

/* ---- items ------------------------------------------------------------------------------- */

/* Takes the next line of a string. Returns false if there is none. */
static bool next_item(const char **text, mv_span *out)
{
    size_t length = strcspn(*text, "\n");

    *out = (mv_span){(const uint8_t *)*text, length};
    *text += length + ((*text)[length] == '\n');
    return length > 0;
}

static bool is_item(mv_span item, const char *text)
{
    return item.length == strlen(text) && memcmp(item.data, text, item.length) == 0;
}

/* Returns the length of a setting's key, including the colon; 0: the item is a change. */
static size_t key_bytes(const char *item)
{
    size_t length = strcspn(item, " :\n");

    return item[length] == ':' ? length + 1 : 0;
}

static bool is_of_setting(mv_span item, const char *text)
{
    size_t key = key_bytes(text);

    return key && item.length >= key && memcmp(item.data, text, key) == 0;
}

bool mv_whatif_has(const char *items, const char *item)
{
    mv_span one;

    while (next_item(&items, &one))
        if (is_item(one, item))
            return true;
    return false;
}

bool mv_whatif_toggle(char items[MV_SEARCH_TEXT], const char *item)
{
    char kept[MV_SEARCH_TEXT] = "";
    bool is_ticked = mv_whatif_has(items, item);
    const char *at = items;
    mv_span one;

    while (next_item(&at, &one))
        if (!is_item(one, item) && !is_of_setting(one, item))
            mv_text_append(kept, sizeof kept, "%s%.*s", *kept ? "\n" : "", (int)one.length,
                           (const char *)one.data);
    if (!is_ticked) {
        if (strlen(kept) + strlen(item) + 2 > sizeof kept)
            return false;
        mv_text_append(kept, sizeof kept, "%s%s", *kept ? "\n" : "", item);
    }
    memset(items, 0, MV_SEARCH_TEXT);
    memcpy(items, kept, strlen(kept));
    return true;
}

/* ---- rows of the tab ----------------------------------------------------------------------- */

static void add_item(mv_whatif_row *row, const char *item, const char *name)
{
    row->items[row->count] = item;
    row->names[row->count++] = name;
}

static bool add_settings(mv_whatif_facts *f)
{
    mv_whatif_row *row = NULL;

    for (uint32_t i = 0; i < MV_SETTING_CHOICES; i++) {
        const mv_setting_choice *c = &mv_setting_choices[i];
        const char *item;
        if (c->needs_limit && !mv_trials_collect_garbage(&f->trials))
            continue;
        if (!c->value && !strstr(f->trials.recorded_conf, c->key))
            continue;
        item = mv_arena_printf(&f->arena, "%s:%s", c->key, c->value ? c->value : "");
        if (!item)
            return false;
        if (!row || strcmp(row->title, c->key) != 0) {
            row = &f->rows[f->row_count++];
            row->title = c->key;
        }
        add_item(row, item, c->value ? c->value : "default");
    }
    return true;
}

static void add_program(mv_whatif_facts *f)
{
    mv_whatif_row row = {.title = "the whole program"};

    if (f->trials.trace->streams.count > 1)
        add_item(&row, "one-stream", "one stream");
    if (f->code.steps.count)
        add_item(&row, "empty-cache-each step", "empty_cache() each step");
    if (row.count)
        f->rows[f->row_count++] = row;
    f->rows[f->row_count++] =
        (mv_whatif_row){.title = "ZeRO: divided",
                        .count = 3,
                        .items = {"zero:1", "zero:2", "zero:3"},
                        .names = {"optimizer state", "and gradients", "and parameters"}};
    f->rows[f->row_count++] = (mv_whatif_row){
        .title = "ZeRO: ranks",
        .count = 7,
        .items = {"ranks:2", "ranks:4", "ranks:8", "ranks:16", "ranks:32", "ranks:64", "ranks:128"},
        .names = {"2", "4", "8", "16", "32", "64", "128"}};
}

bool mv_whatif_row_of(mv_arena *arena, const char *title, const char *filter, mv_whatif_row *out)
{
    static const char *const offers[][2] = {{"drop ", "drop"},
                                            {"half ", "half"},
                                            {"cpu ", "to the CPU"},
                                            {"recompute ", "recompute"},
                                            {"prealloc ", "one buffer"},
                                            {"free-early ", "free early"},
                                            {MV_WHATIF_APART, "own pool"}};

    *out = (mv_whatif_row){.title = title};
    for (size_t i = 0; i < sizeof offers / sizeof *offers; i++) {
        const char *item = mv_arena_printf(arena, "%s%s", offers[i][0], filter);
        if (!item)
            return false;
        add_item(out, item, offers[i][1]);
    }
    return true;
}

typedef struct {
    uint64_t bytes;
    uint32_t line;
} heavy_line;

/* Adds the lines of code that have allocated the most at the peak. */
static bool add_lines(mv_whatif_facts *f)
{
    const mv_document_device *d = f->device;
    const mv_site_colours *sites = &d->site_colours;
    heavy_line *heavy = mv_push_array(&f->arena, heavy_line, sites->line_count);
    char term[512];

    if (!heavy)
        return false;
    for (uint32_t i = 0; i < sites->line_count; i++)
        heavy[i].line = i;
    for (uint32_t i = 0; i < d->index.count; i++) {
        uint32_t stack = d->lives.allocs.stack[i].row;
        uint32_t line = stack < sites->stacks ? sites->line_of_stack[stack] : MV_NO_ROW;
        if (line != MV_NO_ROW && mv_index_is_alive(&d->index, i, d->peak_event))
            heavy[line].bytes += d->index.bytes[i];
    }
    mv_sort_rows(&f->arena, heavy, sites->line_count, MV_FALLING(heavy_line, bytes));
    for (uint32_t i = 0, told = 0; i < sites->line_count && told < MOST_LINES && heavy[i].bytes;
         i++) {
        const char *filter;
        if (!*mv_site_term(f->trials.trace, sites->line_frame[heavy[i].line], term, sizeof term))
            continue;
        filter = mv_arena_text(&f->arena, term, strlen(term));
        if (!filter ||
            !mv_whatif_row_of(&f->arena, strchr(filter, ':') + 1, filter, &f->rows[f->row_count]))
            return false;
        f->rows[f->row_count++].bytes = heavy[i].bytes;
        told++;
    }
    return true;
}

/* ---- facts of a device --------------------------------------------------------------------- */

static bool fill_facts(mv_whatif_facts *f, const mv_whatif_question *q)
{
    const mv_trace *trace = &q->document->trace;
    const mv_lives *lives = &q->device->lives;
    mv_err err;

    f->rows = mv_push_array(&f->arena, mv_whatif_row, MOST_ROWS);
    return f->rows &&
           mv_trials_open(&f->arena, trace, lives, (mv_trials_opts){0}, &f->trials, &err) ==
               MV_OK &&
           mv_code_facts_find(&f->arena, trace, lives, q->document->sites.kinds, &f->code, &err) ==
               MV_OK &&
           add_settings(f) && (add_program(f), add_lines(f));
}

/* Returns a device's facts; NULL when out of memory. In that case nothing is kept, so the next
 * query tries again. */
static const mv_whatif_facts *facts_of(mv_whatif_shared *shared, const mv_whatif_question *q)
{
    mv_whatif_facts *f;
    mv_arena arena;

    pthread_mutex_lock(&shared->lock);
    for (f = shared->facts; f && f->device != q->device; f = f->next)
        continue;
    if (!f) {
        mv_arena_init(&arena, shared->budget);
        f = mv_push_struct(&arena, mv_whatif_facts);
        if (f) {
            f->arena = arena;
            f->device = q->device;
            if (fill_facts(f, q)) {
                f->trials.arena = NULL; /* each replay has a separate arena */
                f->next = shared->facts;
                shared->facts = f;
            } else {
                arena = f->arena;
                f = NULL;
            }
        }
        if (!f)
            mv_arena_release(&arena);
    }
    pthread_mutex_unlock(&shared->lock);
    return f;
}

void mv_whatif_release(mv_whatif_shared *shared)
{
    while (shared->facts) {
        mv_arena arena = shared->facts->arena;
        shared->facts = shared->facts->next;
        mv_arena_release(&arena);
    }
    pthread_mutex_destroy(&shared->lock);
}

/* ---- the replay ---------------------------------------------------------------------------- */

typedef struct {
    mv_arena *arena;
    const char *conf;
    uint32_t count;
    mv_code_change changes[MOST_CHANGES];
    bool is_apart[MOST_CHANGES]; /* `changes` lists the change as a DROP, but its rows are moved to
                                    a separate pool */
    const char *stage, *ranks;   /* items of ZeRO; NULL: not ticked */
    const char *why;             /* an item that cannot be used, or "" */
} ticked_items;

static bool is_change(const char *item, mv_code_change *out, bool *is_apart)
{
    size_t length = strcspn(item, " ");

    *out = (mv_code_change){.kind = MV_CODE_CHANGE_DROP,
                            .text = item[length] ? item + length + 1 : NULL};
    *is_apart = strncmp(item, MV_WHATIF_APART, strlen(MV_WHATIF_APART)) == 0;
    for (uint32_t k = 0; k < MV_CODE_CHANGE_ZERO && !*is_apart; k++)
        if (strlen(change_names[k]) == length && memcmp(change_names[k], item, length) == 0) {
            out->kind = (mv_code_change_kind)k;
            return true;
        }
    return *is_apart;
}

/* Takes one item. Returns false when out of memory. */
static bool take_item(ticked_items *t, const char *item)
{
    char why[MV_FILTER_WHY] = "not a setting or a code change";
    size_t key = key_bytes(item);
    mv_code_change change;
    mv_alloc_conf parsed;
    bool is_apart;

    if (strncmp(item, "zero:", 5) == 0) {
        t->stage = item + 5;
        return true;
    }
    if (strncmp(item, "ranks:", 6) == 0) {
        t->ranks = item + 6;
        return true;
    }
    if (key) {
        const char *name = mv_arena_text(t->arena, item, key - 1), *conf;
        if (!name)
            return false;
        conf = mv_alloc_conf_change(t->arena, t->conf, name, item[key] ? item + key : NULL);
        if (!conf)
            return false;
        if (mv_alloc_conf_parse(conf, &parsed, why, sizeof why)) {
            t->conf = conf;
            return true;
        }
    } else if (t->count < MOST_CHANGES && is_change(item, &change, &is_apart) &&
               mv_code_change_is_fine(t->arena, &change, why)) {
        t->is_apart[t->count] = is_apart;
        t->changes[t->count++] = change;
        return true;
    }
    t->why = mv_arena_printf(t->arena, "'%s' cannot be replayed: %s", item, why);
    return t->why != NULL;
}

/* Combines the two items of ZeRO into one change. Returns false when out of memory. */
static bool take_zero(ticked_items *t)
{
    mv_code_change change = {.kind = MV_CODE_CHANGE_ZERO, .text = t->stage};
    char why[MV_FILTER_WHY];

    if (!t->stage && !t->ranks)
        return true;
    if (!t->stage || !t->ranks) {
        t->why = "ZeRO needs two ticks: a stage and a number of ranks";
        return true;
    }
    if (t->count < MOST_CHANGES && mv_number_read(t->ranks, &change.ranks) &&
        mv_code_change_is_fine(t->arena, &change, why)) {
        t->changes[t->count++] = change;
        return true;
    }
    t->why = mv_arena_printf(t->arena,
                             "ZeRO %s among %s ranks cannot be replayed: expected a "
                             "stage of 1, 2 or 3 and a number of ranks",
                             t->stage, t->ranks);
    return t->why != NULL;
}

static bool take_items(ticked_items *t, const char *items)
{
    mv_span one;

    t->why = "";
    while (next_item(&items, &one)) {
        const char *item = mv_arena_text(t->arena, (const char *)one.data, one.length);
        if (!item || !take_item(t, item))
            return false;
        if (*t->why)
            return true;
    }
    return take_zero(t);
}

/* Moves the rows to a separate pool instead of dropping them, except for blocks from before the
 * trace, which stay where they are. Returns false when out of memory. */
static bool set_apart(mv_arena *arena, const ticked_items *items, const mv_alloc_lives *allocs,
                      mv_code_changes *changes)
{
    for (uint32_t i = 0; i < items->count; i++) {
        uint8_t *rows = items->is_apart[i] ? mv_push_array(arena, uint8_t, allocs->count) : NULL;
        if (!items->is_apart[i])
            continue;
        if (!rows)
            return false;
        for (uint32_t k = allocs->preexisting; k < allocs->count; k++)
            rows[k] = changes->edits[i].rows[k];
        changes->edits[i].kind = MV_EDIT_APART;
        changes->edits[i].rows = rows;
        changes->changes[i] = mv_arena_printf(arena, "own pool for %s",
                                              changes->changes[i] + strlen(change_names[0]) + 1);
        changes->assumed[i] = "no other allocation uses their segments";
        if (!changes->changes[i])
            return false;
    }
    return true;
}

/* Returns a string such as "976 MiB, 239 MiB (19.7 %) less than recorded"; NULL when out of
 * memory. */
static const char *compared(mv_arena *arena, uint64_t now, uint64_t recorded)
{
    uint64_t change = now < recorded ? recorded - now : now - recorded;
    char size[MV_SIZE_TEXT], text[MV_SIZE_TEXT];

    mv_size_text(size, now);
    if (!change)
        return mv_arena_printf(arena, "%s, as recorded", size);
    return mv_arena_printf(arena, "%s, %s (%.1f %%) %s than recorded", size,
                           mv_size_text(text, change),
                           100 * (double)change / (double)(recorded ? recorded : now),
                           now < recorded ? "less" : "more");
}

static const char *verdict_of(mv_arena *arena, const mv_trials *t, const mv_trial *trial)
{
    const mv_replay_result *r = &trial->result;
    char limit[MV_SIZE_TEXT], within[MV_SIZE_TEXT + 16] = "";
    const char *reserved, *allocated;

    if (r->gave_up)
        return "the replay was stopped: it takes too many steps";
    if (t->limit != UINT64_MAX)
        mv_text_append(within, sizeof within, " within %s", mv_size_text(limit, t->limit));
    if (r->counts.ooms)
        return mv_arena_printf(arena, "%llu request%s%s, %u recorded",
                               (unsigned long long)r->counts.ooms,
                               r->counts.ooms == 1 ? " fails" : "s fail", within, t->recorded_ooms);
    reserved = compared(arena, r->peak.reserved, mv_trials_base(t));
    allocated = compared(arena, r->peak.allocated, t->recorded_allocated);
    if (!reserved || !allocated)
        return NULL;
    return mv_arena_printf(
        arena, "%sreserved at the peak: %s; allocated: %s; device calls: %llu, %llu recorded",
        trial->fits && mv_trials_record_failures(t) ? "no request fails; " : "", reserved,
        allocated, (unsigned long long)r->counts.segment_allocs,
        (unsigned long long)t->recorded_segment_allocs);
}

static const char *notes_of(const mv_trials *t, const char *conf)
{
    const char *doubts;

    if (!mv_trials_are_conclusive(t))
        return mv_arena_printf(t->arena, "the replay cannot be trusted: %s", t->trust_why);
    doubts = mv_trials_doubts(t, conf);
    return !doubts || !*doubts ? doubts : mv_arena_printf(t->arena, "figures are%s", doubts);
}

static bool make_curve(mv_arena *arena, uint32_t events, mv_replay_curve *out)
{
    uint32_t step = (events + MV_WHATIF_COLUMNS - 1) / MV_WHATIF_COLUMNS;

    out->step = step ? step : 1;
    out->count = (events + out->step - 1) / out->step;
    out->reserved = mv_push_array(arena, uint64_t, out->count);
    out->allocated = mv_push_array(arena, uint64_t, out->count);
    return out->reserved && out->allocated;
}

/* Replays the run. Returns false when out of memory. */
static bool replay(mv_arena *arena, mv_whatif_answer *a)
{
    ticked_items items = {.arena = arena, .conf = a->facts->trials.recorded_conf};
    const mv_trials *shared = &a->facts->trials;
    uint64_t left = mv_replay_most_work(shared->end);
    mv_trials trials = *shared;
    mv_err err;

    if (!take_items(&items, a->ask.items))
        return false;
    a->why = items.why;
    if (*a->why)
        return true;
    trials.arena = arena;
    trials.left = &left;
    trials.curve = &a->curve;
    if (!make_curve(arena, shared->end, &a->curve) ||
        mv_code_changes_find(arena, trials.trace, trials.lives, &a->facts->code, items.changes,
                             items.count, &a->changes, &err) != MV_OK ||
        !set_apart(arena, &items, &trials.lives->allocs, &a->changes) ||
        mv_trials_try_edits(&trials, items.conf, a->changes.edits, a->changes.count, &a->trial,
                            &err) != MV_OK)
        return false;
    a->has_run = true;
    a->verdict = verdict_of(arena, &trials, &a->trial);
    a->notes = notes_of(&trials, items.conf);
    return a->verdict && a->notes;
}

void *mv_whatif_replay(mv_arena *arena, void *shared, const void *ask)
{
    mv_whatif_answer *a = mv_push_struct(arena, mv_whatif_answer);
    const mv_whatif_question *q = ask;

    if (!a)
        return NULL;
    *a = (mv_whatif_answer){.ask = *q, .why = "", .verdict = "", .notes = ""};
    if (q->document->trace.origin.level || mv_trace_allocator(&q->document->trace)) {
        a->why = "only blocks of PyTorch's caching allocator can be replayed: no other level";
        return a;
    }
    if (!q->device->lives.events.count) {
        a->why = "the file has no events to replay";
        return a;
    }
    a->facts = facts_of(shared, q);
    if (!a->facts)
        return NULL;
    return !*q->items || replay(arena, a) ? a : NULL;
}

bool mv_whatif_most(const mv_whatif_answer *a, uint32_t first, uint32_t end, mv_levels *out)
{
    const mv_replay_curve *c = &a->curve;
    uint32_t from = first == MV_BEFORE ? 0 : first / c->step;
    uint32_t to = end / c->step + (end % c->step != 0);

    *out = (mv_levels){0};
    to = to > from ? to : from + 1;
    to = to < c->count ? to : c->count;
    for (uint32_t i = from; i < to; i++) {
        out->reserved = c->reserved[i] > out->reserved ? c->reserved[i] : out->reserved;
        out->allocated = c->allocated[i] > out->allocated ? c->allocated[i] : out->allocated;
    }
    return from < to;
}
