#include "view/script.h"

#include <stdlib.h>
#include <time.h>

#include "viz/scene/raster.h"

enum { WORDS = 6, LINE = 1024, MOST_FRAMES = 200000, MOST_TIMES = 10000 };
#define MOST_NUMBER 1e9

typedef struct {
    mv_view *view;
    const mv_script_opts *opts;
    mv_script_result *result;
    float width, height;
    double ms;
    const mv_scene *scene;
    uint32_t count; /* number of words on the line */
    char *word[WORDS];
    const char *rest;  /* the line after its first word */
    const char *rest2; /* the line after its second word */
} script;

__attribute__((format(printf, 2, 3))) static bool fail(script *s, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(s->result->why, sizeof s->result->why, format, args);
    va_end(args);
    return false;
}

/* ---- frames ------------------------------------------------------------------------------ */

static void paint(script *s)
{
    if (s->view->opts.is_threaded) /* gives animations time to finish */
        s->ms += 17;
    s->scene = mv_view_frame(s->view, s->width, s->height, s->ms);
}

/* Draws frames until nothing is loading, computing or moving. */
static bool wait(script *s)
{
    for (uint32_t i = 0; i < MOST_FRAMES; i++) {
        bool was_idle = mv_view_is_idle(s->view);
        paint(s);
        if (was_idle && mv_view_is_idle(s->view))
            return true;
        if (s->view->opts.is_threaded)
            nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    }
    return fail(s, "the viewer never became idle");
}

static void give(script *s, mv_input input)
{
    mv_view_input(s->view, &input);
    paint(s);
}

/* ---- numbers and positions --------------------------------------------------------------- */

static bool number(script *s, uint32_t word, double *out)
{
    const char *text = word < s->count ? s->word[word] : "";
    char *end;

    *out = strtod(text, &end);
    if (end == text || *end || !(fabs(*out) <= MOST_NUMBER))
        return fail(s, "word %u is not a number", word + 1);
    return true;
}

static const mv_shape *find_text(const script *s, const char *words, const mv_box *within)
{
    for (uint32_t i = s->scene->shape_count; i > 0; i--) {
        const mv_shape *shape = &s->scene->shapes[i - 1];
        mv_point at;
        if (shape->kind != MV_SHAPE_TEXT || !shape->text || !strstr(shape->text, words))
            continue;
        at = s->scene->points[shape->first];
        if (!within || mv_box_has(*within, at.x, at.y))
            return shape;
    }
    return NULL;
}

/* Reads a position: "x y", or visible text in quotes, whose middle is meant. */
static bool place(script *s, float *x, float *y)
{
    char words[LINE];
    const mv_shape *shape;
    double px = 0, py = 0;
    float width;

    if (*s->rest != '"')
        return number(s, 1, &px) && number(s, 2, &py) && (*x = (float)px, *y = (float)py, true);
    snprintf(words, sizeof words, "%s", s->rest + 1);
    words[strcspn(words, "\"")] = '\0';
    shape = find_text(s, words, NULL);
    if (!shape)
        return fail(s, "no text \"%s\" is visible", words);
    width = mv_text_width(shape->text, shape->width);
    *x = s->scene->points[shape->first].x;
    *x += shape->anchor == MV_ANCHOR_MIDDLE ? 0
          : shape->anchor == MV_ANCHOR_END  ? -width / 2
                                            : width / 2;
    *y = s->scene->points[shape->first].y - shape->width * 0.3f;
    return true;
}

/* ---- inputs ------------------------------------------------------------------------------ */

static void press(script *s, float x, float y, uint8_t button, uint8_t clicks)
{
    give(s, (mv_input){.kind = MV_INPUT_MOVE, .x = x, .y = y});
    give(s, (mv_input){.kind = MV_INPUT_PRESS, .button = button, .clicks = clicks, .x = x, .y = y});
}

static void release(script *s, float x, float y, uint8_t button, uint8_t clicks)
{
    give(s,
         (mv_input){.kind = MV_INPUT_RELEASE, .button = button, .clicks = clicks, .x = x, .y = y});
}

static bool click(script *s, uint8_t clicks)
{
    float x = 0, y = 0;

    if (!place(s, &x, &y))
        return false;
    s->result->inputs++;
    for (uint8_t i = 1; i <= clicks; i++) {
        press(s, x, y, MV_BUTTON_LEFT, i);
        release(s, x, y, MV_BUTTON_LEFT, i);
    }
    return true;
}

static bool do_click(script *s)
{
    return click(s, 1);
}

static bool do_double(script *s)
{
    return click(s, 2);
}

static bool do_move(script *s)
{
    float x, y;

    if (!place(s, &x, &y))
        return false;
    give(s, (mv_input){.kind = MV_INPUT_MOVE, .x = x, .y = y});
    return true;
}

static bool drag(script *s, uint8_t button)
{
    double v[4];

    for (uint32_t i = 0; i < 4; i++)
        if (!number(s, i + 1, &v[i]))
            return false;
    s->result->inputs++;
    press(s, (float)v[0], (float)v[1], button, 1);
    for (int i = 1; i <= 4; i++)
        give(s, (mv_input){.kind = MV_INPUT_MOVE,
                           .x = (float)(v[0] + (v[2] - v[0]) * i / 4),
                           .y = (float)(v[1] + (v[3] - v[1]) * i / 4)});
    release(s, (float)v[2], (float)v[3], button, 1);
    return true;
}

static bool do_drag(script *s)
{
    return drag(s, MV_BUTTON_LEFT);
}

static bool do_pan(script *s)
{
    return drag(s, MV_BUTTON_MIDDLE);
}

static bool do_wheel(script *s)
{
    double x = 0, y = 0, notches = 0;

    if (!number(s, 1, &x) || !number(s, 2, &y) || !number(s, 3, &notches))
        return false;
    s->result->inputs++;
    give(s, (mv_input){.kind = MV_INPUT_MOVE, .x = (float)x, .y = (float)y});
    give(s, (mv_input){.kind = MV_INPUT_WHEEL, .x = (float)x, .y = (float)y, .dy = (float)notches});
    return true;
}

static bool do_key(script *s)
{
    mv_input input = {.kind = MV_INPUT_KEY};
    double times = 1;

    if (s->count < 2 || !mv_key_read(s->word[1], strlen(s->word[1]), &input.key, &input.mods))
        return fail(s, "unknown key");
    if (s->count > 2 && !number(s, 2, &times))
        return false;
    if (times > MOST_TIMES)
        return fail(s, "a key can repeat at most %d times", MOST_TIMES);
    for (; times >= 1; times--) {
        s->result->inputs++;
        give(s, input);
    }
    return true;
}

static bool do_text(script *s)
{
    mv_input input = {.kind = MV_INPUT_TEXT};

    s->result->inputs++;
    for (const char *at = s->rest; *at; at++) {
        input.text[0] = *at;
        give(s, input);
    }
    return true;
}

static bool do_do(script *s)
{
    mv_command_id id = s->count > 1 ? mv_view_command_find(s->word[1]) : MV_DO_NOTHING;
    uint64_t arg = s->count > 2 ? strtoull(s->word[2], NULL, 0) : 0;

    if (id == MV_DO_NOTHING)
        return fail(s, "unknown command");
    s->result->inputs++;
    if (!mv_view_do(s->view, id, arg))
        return fail(s, "%.200s", s->view->message);
    paint(s);
    return true;
}

static const char *path_of(const script *s, char path[LINE])
{
    if (s->opts->folder && *s->rest != '/')
        snprintf(path, LINE, "%s/%s", s->opts->folder, s->rest);
    else
        snprintf(path, LINE, "%s", s->rest);
    return path;
}

static bool do_open(script *s)
{
    char path[LINE];

    mv_view_add(s->view, path_of(s, path));
    paint(s);
    return true;
}

static bool do_drop(script *s)
{
    char path[LINE];

    s->result->inputs++;
    give(s, (mv_input){.kind = MV_INPUT_DROP, .path = path_of(s, path)});
    return true;
}

static bool do_size(script *s)
{
    double w = 0, h = 0;

    if (!number(s, 1, &w) || !number(s, 2, &h))
        return false;
    if (!(w >= 1 && w <= MV_IMAGE_MOST && h >= 1 && h <= MV_IMAGE_MOST))
        return fail(s, "a size is between 1 and %d", MV_IMAGE_MOST);
    s->width = (float)w;
    s->height = (float)h;
    paint(s);
    return true;
}

static bool do_shot(script *s)
{
    char why[MV_SCRIPT_WHY] = "";

    if (!s->opts->shot)
        return true;
    if (!wait(s))
        return false;
    return s->opts->shot(s->opts->user, s->rest, s->scene, why, sizeof why) || fail(s, "%s", why);
}

static bool do_dump(script *s)
{
    if (s->opts->dump)
        mv_scene_print(s->scene, s->opts->dump);
    return true;
}

/* ---- expectations ----------------------------------------------------------------------- */

static bool expect_selection(script *s)
{
    const mv_document_device *d = mv_view_device(s->view);
    const mv_document *document = mv_view_document(s->view);
    uint32_t row = s->view->now->pinned;
    char label[300];

    if (!d || row >= d->lives.allocs.count)
        return strcmp(s->rest2, "none") == 0 || fail(s, "nothing is pinned");
    mv_culprit_label(&document->trace, document->sites.kinds, d->lives.allocs.stack[row], label,
                     sizeof label);
    return strstr(label, s->rest2) || fail(s, "pinned is %s", label);
}

static bool expect_number(script *s, uint64_t is)
{
    double wanted = 0;

    return number(s, 2, &wanted) &&
           (wanted == (double)is || fail(s, "it is %llu", (unsigned long long)is));
}

/* Checks that at most this many inputs were needed. */
static bool expect_inputs(script *s)
{
    double most = 0;

    return number(s, 2, &most) && (s->result->inputs <= (uint32_t)most ||
                                   fail(s, "%u inputs were needed", s->result->inputs));
}

static bool do_expect(script *s)
{
    const mv_box status = {0, s->height - 22 * s->view->ui.scale, s->width, 22 * s->view->ui.scale};
    const char *what = s->count > 2 ? s->word[1] : "";

    if (!wait(s))
        return false;
    if (strcmp(what, "text") == 0)
        return find_text(s, s->rest2, NULL) || fail(s, "no text contains \"%s\"", s->rest2);
    if (strcmp(what, "no") == 0)
        return !find_text(s, s->rest2, NULL) || fail(s, "a text contains \"%s\"", s->rest2);
    if (strcmp(what, "status") == 0)
        return find_text(s, s->rest2, &status) ||
               fail(s, "the status bar does not contain \"%s\"", s->rest2);
    if (strcmp(what, "selection") == 0)
        return expect_selection(s);
    if (strcmp(what, "hits") == 0)
        return expect_number(s, s->view->matches ? s->view->matches->matches : 0);
    if (strcmp(what, "cursor") == 0)
        return expect_number(s, s->view->now->cursor);
    if (strcmp(what, "inputs") == 0)
        return expect_inputs(s);
    return fail(s, "'expect' needs text, status, hits, selection, cursor or inputs");
}

/* ---- lines ------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    bool (*run)(script *s);
} verbs[] = {
    {"open", do_open}, {"drop", do_drop}, {"size", do_size},   {"key", do_key},
    {"text", do_text}, {"move", do_move}, {"click", do_click}, {"double", do_double},
    {"drag", do_drag}, {"pan", do_pan},   {"wheel", do_wheel}, {"do", do_do},
    {"wait", wait},    {"shot", do_shot}, {"dump", do_dump},   {"expect", do_expect},
};
enum { VERBS = sizeof verbs / sizeof *verbs };

/* Splits `words` at blanks. `line` is not split, because some commands take text. */
static void split(script *s, const char *line, char *words)
{
    char *save = NULL;

    s->count = 0;
    s->rest = line + strcspn(line, " ");
    s->rest += strspn(s->rest, " ");
    s->rest2 = s->rest + strcspn(s->rest, " ");
    s->rest2 += strspn(s->rest2, " ");
    for (char *w = strtok_r(words, " ", &save); w && s->count < WORDS;
         w = strtok_r(NULL, " ", &save))
        s->word[s->count++] = w;
}

static bool run_line(script *s, const char *line)
{
    char words[LINE];

    snprintf(words, sizeof words, "%s", line);
    split(s, line, words);
    if (s->count == 0 || *s->word[0] == '#')
        return true;
    for (int i = 0; i < VERBS; i++)
        if (strcmp(verbs[i].name, s->word[0]) == 0)
            return verbs[i].run(s);
    return fail(s, "unknown script command: %s", s->word[0]);
}

bool mv_script_run(mv_view *view, const char *text, const mv_script_opts *opts,
                   mv_script_result *result)
{
    script s = {.view = view,
                .opts = opts,
                .result = result,
                .width = opts->width > 0 ? opts->width : 1280,
                .height = opts->height > 0 ? opts->height : 720,
                .ms = view->ms};
    char line[LINE];

    *result = (mv_script_result){0};
    paint(&s);
    for (uint32_t at = 1; *text; at++) {
        size_t length = strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)(length < LINE ? length : LINE - 1), text);
        while (*line && line[strlen(line) - 1] == ' ')
            line[strlen(line) - 1] = '\0';
        if (!run_line(&s, line)) {
            result->line = at;
            return false;
        }
        text += length + (text[length] == '\n');
    }
    return true;
}
