/* libFuzzer target: any bytes as a file, which is opened in the viewer, followed by random input.
 *
 *     input       the file, the script, and two bytes: the script's length (little endian)
 *     script      SETUP bytes (see `setup`), then steps: a byte that chooses one of `steps`, and
 *                 its arguments; missing bytes are 0
 *
 * Each step gives the viewer an input and paints a frame, as the window does: state, document,
 * frame, intents. There are no threads, and the only clock is the script's. The viewer runs in a
 * folder in memory.
 *
 * Checked: each frame's points and places are finite, and its texts are terminated. A session and a
 * link restore the same state, and files that the viewer writes pass the checks in written_files.h.
 * At rest, a frame without input equals the previous one, and drawing only the differences gives
 * the same picture as drawing everything. If memory is out, or a push to an arena fails, parts are
 * missing and nothing else changes. At the end all memory must be returned. */
#include <stdlib.h>

#include "tests/fixture/in_process.h"
#include "tests/fuzz/failing_push.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/written_files.h"
#include "view/intents/intents.h"
#include "view/script.h"
#include "viz/scene/raster.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    SETUP = 6,
    WORDS = 32,   /* in its first byte: the script is written in view/script.h's language */
    OUTLINE = 64, /* outlines are made, as for a long trace */
    MOST_STEPS = 64,
    MOST_TURNS = 100000,
    MOST_FRAMES = 64,       /* until nothing moves */
    MOST_PIXELS = 720 * 480 /* number of scenes drawn */
};
#define FILE_NAME "a<&\"'>\xff.pickle"
#define SESSION   "s.session"

typedef struct {
    const uint8_t *at, *end; /* of the script */
    mv_span file;
    mv_budget budget;
    mv_view *view;
    mv_raster *raster;
    float width, height;
    double ms;
    bool is_short;   /* memory is or was out, so parts may be missing */
    char pasted[64]; /* the clipboard's contents */
} world;

/* ---- the script -------------------------------------------------------------------------- */

static uint8_t take(world *w)
{
    return w->at < w->end ? *w->at++ : 0;
}

static uint32_t take_wide(world *w)
{
    uint32_t low = take(w);

    return low | (uint32_t)take(w) << 8;
}

#define PICK(w, list) (list)[take(w) % (sizeof(list) / sizeof *(list))]

/* Reads up to 30 bytes. A file name contains no '/' and is not standard input, so everything stays
 * in the folder. */
static void take_text(world *w, bool is_path, char text[32])
{
    uint32_t length = take(w) % 31;

    memset(text, 0, 32);
    for (uint32_t i = 0; i < length && w->at < w->end; i++)
        text[i] = (char)take(w);
    for (char *at = text; is_path && *at; at++)
        if (*at == '/' || *at == '-')
            *at = '_';
}

static bool is_naming_file(const world *w)
{
    return w->view->desk->focus == MV_FOCUS_OPEN || w->view->desk->focus == MV_FOCUS_EXPORT;
}

static float take_part(world *w, float of)
{
    return ((float)take(w) - 8) / 240 * of;
}

/* ---- frames ------------------------------------------------------------------------------ */

static uint64_t hash_of(const mv_scene *scene)
{
    XXH3_state_t state;

    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, scene->points, scene->point_count * sizeof *scene->points);
    for (uint32_t i = 0; i < scene->shape_count; i++) {
        const mv_shape *s = &scene->shapes[i];
        uint32_t numbers[] = {s->kind,     s->anchor, s->is_bold, s->is_dashed, s->is_hatched,
                              s->is_crisp, s->fill,   s->stroke,  s->first,     s->count};
        XXH3_64bits_update(&state, numbers, sizeof numbers);
        XXH3_64bits_update(&state, &s->width, sizeof s->width);
        XXH3_64bits_update(&state, s->text, s->text ? strlen(s->text) : 0);
        XXH3_64bits_update(&state, s->title, s->title ? strlen(s->title) : 0);
        if (s->image)
            XXH3_64bits_update(&state, s->image->pixels,
                               (size_t)s->image->width * s->image->height * 4);
    }
    return XXH3_64bits_digest(&state);
}

static const mv_scene *paint(world *w)
{
    const mv_scene *scene = mv_view_frame(w->view, w->width, w->height, w->ms);

    const mv_ui *ui = &w->view->ui;
    char title[MV_VIEW_TITLE];
    mvt_check_scene(scene);
    if (scene->failed && !w->is_short && !mvt_push_has_failed())
        mvt_finding("a frame short of memory", "");
    for (uint32_t i = 0; i < ui->zone_count; i++) {
        mv_box b = ui->zones[i].box;
        if (!isfinite(b.x + b.y + b.w + b.h) || ui->zones[i].command >= MV_DO_COUNT)
            mvt_finding("a zone that is nowhere", "");
    }
    mv_view_title(w->view, title);
    if (memchr(title, 0, sizeof title) == NULL || !memchr(w->view->message, 0, 256))
        mvt_finding("a text that does not end", "");
    if (w->budget.used > w->budget.limit && !w->is_short)
        mvt_finding("more memory than the budget", "");
    return scene;
}

static void turn(world *w, uint32_t most)
{
    uint32_t done = 0;

    while (done < most && mv_view_run_one_task(w->view))
        done++;
    if (done == MOST_TURNS)
        mvt_finding("never idle", "turns");
}

/* Paints frames until nothing is loading, computing or moving. */
static const mv_scene *settle(world *w)
{
    const mv_scene *scene = paint(w);

    for (int i = 0; i < MOST_FRAMES; i++) {
        turn(w, MOST_TURNS);
        w->ms += 500;
        scene = paint(w);
        if (mv_view_is_idle(w->view))
            return scene;
    }
    if (!w->is_short && !mvt_push_has_failed())
        mvt_finding("never idle", "frames");
    return scene;
}

static void give(world *w, mv_input input)
{
    mv_view_input(w->view, &input);
    paint(w);
}

/* ---- steps ------------------------------------------------------------------------------- */

static void do_key(world *w)
{
    static const uint32_t named[] = {MV_KEY_ESCAPE,    MV_KEY_ENTER, MV_KEY_TAB,   MV_KEY_BACKSPACE,
                                     MV_KEY_DELETE,    MV_KEY_LEFT,  MV_KEY_RIGHT, MV_KEY_UP,
                                     MV_KEY_DOWN,      MV_KEY_HOME,  MV_KEY_END,   MV_KEY_PAGE_UP,
                                     MV_KEY_PAGE_DOWN, MV_KEY_F1,    MV_KEY_F6,    'V'};
    uint8_t which = take(w), mods = take(w);

    give(w, (mv_input){.kind = MV_INPUT_KEY,
                       .key = which & 128 ? named[which % 16] : which,
                       .mods = mods & 7});
}

/* Returns a command's first key. */
static void do_shortcut(world *w)
{
    const char *keys = w->view->keymap.keys[take(w) % MV_DO_COUNT];
    mv_input input = {.kind = MV_INPUT_KEY};

    if (*keys && mv_key_read(keys, strcspn(keys, " "), &input.key, &input.mods))
        give(w, input);
}

static void do_command(world *w)
{
    mv_command_id id = take(w) % MV_DO_COUNT;
    uint64_t arg = take(w);

    if (arg == 255)
        arg = (uint64_t)take_wide(w) << 32 | take_wide(w);
    mv_view_do(w->view, id, arg);
    paint(w);
}

static void do_text(world *w)
{
    mv_input input = {.kind = MV_INPUT_TEXT};

    take_text(w, is_naming_file(w), input.text);
    give(w, input);
}

static void do_word(world *w)
{
    static const char *const words[] = {"size>1k",
                                        "stream:0",
                                        "leak",
                                        "cat:optimizer",
                                        "/[a-z]+/",
                                        "/a.*[b/",
                                        "pool:1,0",
                                        "nostack",
                                        "nopython",
                                        "stack:1",
                                        "life<10",
                                        "addr:0x7f",
                                        "site:a.py:1",
                                        "life:never",
                                        "-leak",
                                        "peak",
                                        "oom",
                                        "end",
                                        "1.5s",
                                        "@a#2",
                                        "0x7f0000000000",
                                        "12",
                                        "o.png",
                                        "o.svg",
                                        "o.html",
                                        "o.tsv",
                                        "o.session",
                                        "a",
                                        "theme",
                                        "train.py",
                                        "\xe2\x82\xac",
                                        "size>1 life:never -stream:7 x"};
    mv_input input = {.kind = MV_INPUT_TEXT};

    snprintf(input.text, sizeof input.text, "%s", PICK(w, words));
    give(w, input);
}

static void pointer(world *w, uint8_t kind)
{
    uint8_t how = take(w);
    float x = take_part(w, w->width), y = take_part(w, w->height);

    give(w, (mv_input){.kind = kind,
                       .button = (uint8_t)(1 + how % 3),
                       .clicks = how & 4 ? 2 : 1,
                       .mods = how >> 5,
                       .x = x,
                       .y = y});
}

static void do_move(world *w)
{
    pointer(w, MV_INPUT_MOVE);
}

static void do_press(world *w)
{
    pointer(w, MV_INPUT_PRESS);
}

static void do_release(world *w)
{
    pointer(w, MV_INPUT_RELEASE);
}

/* Presses, moves and releases the pointer. */
static void do_drag(world *w)
{
    uint8_t button = (uint8_t)(1 + take(w) % 3);
    mv_input input = {
        .button = button, .clicks = 1, .x = take_part(w, w->width), .y = take_part(w, w->height)};

    input.kind = MV_INPUT_MOVE;
    mv_view_input(w->view, &input);
    input.kind = MV_INPUT_PRESS;
    mv_view_input(w->view, &input);
    input.kind = MV_INPUT_MOVE;
    input.x = take_part(w, w->width);
    input.y = take_part(w, w->height);
    give(w, input);
    input.kind = MV_INPUT_RELEASE;
    give(w, input);
}

/* Does so on something that can be clicked. */
static void do_zone(world *w)
{
    const mv_ui *ui = &w->view->ui;
    uint32_t which = take_wide(w);
    mv_input input = {.button = MV_BUTTON_LEFT, .clicks = 1};
    mv_box box;

    if (ui->zone_count == 0)
        return;
    box = ui->zones[which % ui->zone_count].box;
    input.x = box.x + box.w / 2;
    input.y = box.y + box.h / 2;
    for (input.kind = MV_INPUT_MOVE; input.kind < MV_INPUT_RELEASE; input.kind++)
        mv_view_input(w->view, &input);
    give(w, input);
}

static void do_wheel(world *w)
{
    float notches = ((float)take(w) - 128) / 16, x = take_part(w, w->width);

    give(w, (mv_input){.kind = MV_INPUT_WHEEL,
                       .x = x,
                       .y = take_part(w, w->height),
                       .dx = take(w) & 1 ? notches : 0,
                       .dy = notches});
}

static void do_leave(world *w)
{
    give(w, (mv_input){.kind = take(w) & 1 ? MV_INPUT_LEAVE : MV_INPUT_KEY_UP});
}

static void choose_size(world *w)
{
    static const float sizes[][2] = {{720, 480}, {480, 300},  {200, 640},  {1, 1},
                                     {16, 900},  {320, 200},  {3000, 40},  {40, 3000},
                                     {0, 0},     {1280, 720}, {16384, 30}, {120, 90}};
    uint32_t which = take(w) % (sizeof sizes / sizeof *sizes);

    w->width = sizes[which][0];
    w->height = sizes[which][1];
}

static void do_size(world *w)
{
    choose_size(w);
    paint(w);
}

static void do_scale(world *w)
{
    static const double scales[] = {1, 2, 0.5, 4, 1.25};

    mv_view_look(w->view, take(w) & 1, PICK(w, scales));
    paint(w);
}

static void do_time(world *w)
{
    static const double pauses[] = {16, 400, 5000, 1e7};

    w->ms += PICK(w, pauses);
    paint(w);
}

static void do_turns(world *w)
{
    turn(w, 1 + take(w) % 16u);
    paint(w);
}

static void do_paste(world *w)
{
    char text[32];

    take_text(w, is_naming_file(w), text);
    snprintf(w->pasted, sizeof w->pasted, "%s", text);
    give(w, (mv_input){.kind = MV_INPUT_KEY, .key = 'V', .mods = MV_MOD_CTRL});
}

/* Opens again: a part of the file, a missing file, or the current session. */
static void do_open(world *w)
{
    uint8_t which = take(w);
    mv_span part = w->file;
    char name[32] = "b";

    part.length = part.length * take(w) / 255;
    if (which % 4 == 1)
        mvt_folder_put(name, part);
    else if (which % 4 == 2)
        take_text(w, true, name);
    else if (which % 4 == 3 && mv_export_write(w->view, SESSION))
        snprintf(name, sizeof name, "%s", SESSION);
    else
        snprintf(name, sizeof name, "%s", FILE_NAME);
    if (which & 4)
        give(w, (mv_input){.kind = MV_INPUT_DROP, .path = name});
    else
        mv_view_add(w->view, name);
    paint(w);
}

static void do_export(world *w)
{
    static const char *const names[] = {"e.png", "e.svg", "e.html", "e.tsv", "e.session"};
    const char *name = PICK(w, names);
    bool is_small = w->width * w->height <= MOST_PIXELS && w->width >= 1;

    if (!is_small || !mv_view_device(w->view))
        return;
    turn(w, MOST_TURNS);
    mvt_check_written(name, mv_export_write(w->view, name));
    paint(w);
}

/* Drawing only the differences must give the same picture as drawing everything. */
static void check_pixels(world *w, const mv_scene *scene)
{
    mv_budget budget = {.limit = 64 << 20};
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_raster_frame frame;
    mv_image whole;
    mv_arena arena;

    if (w->width * w->height > MOST_PIXELS || scene->failed || mvt_push_has_failed())
        return;
    mv_arena_init(&arena, &budget);
    if (mv_raster_next(w->raster, scene, &frame, &err) == MV_OK &&
        mv_raster_draw(&arena, scene, &(mv_raster_opts){0}, &whole, &err) == MV_OK)
        for (uint32_t i = 0; i < whole.width * whole.height * 4; i++)
            if (abs(whole.pixels[i] - frame.image.pixels[i]) > 2)
                mvt_finding("pixels that differ", "raster");
    mv_arena_release(&arena);
}

/* At rest, a frame must equal the previous one. */
static void do_rest(world *w)
{
    const mv_scene *scene = settle(w);
    uint64_t before = hash_of(scene);

    /* Saves and restores the state, as a session and as a link. */
    mv_budget budget = {.limit = 64 << 20};
    mv_session now;
    mv_arena arena;
    mv_arena_init(&arena, &budget);
    if (mv_view_session(w->view, &arena, &now)) {
        mvt_check_session(&arena, &now, mv_session_read, mv_session_text);
        memset(now.is_given, 1, sizeof now.is_given);
        mvt_check_session(&arena, &now, mv_session_read_line, mv_session_line);
    }
    mv_command_line(w->view, &arena);
    mv_arena_release(&arena);
    check_pixels(w, scene);
    scene = paint(w);
    if (hash_of(scene) != before && !w->is_short && !mvt_push_has_failed())
        mvt_finding("a frame without input is another", "");
}

/* Makes memory run out, or makes it available again. */
static void do_squeeze(world *w)
{
    uint32_t pages = take(w);

    w->is_short = true;
    w->budget.limit = pages & 1 ? 256u << 20 : w->budget.used + (pages << 10);
    paint(w);
}

static void do_fail(world *w)
{
    w->is_short |= mvt_push_has_failed();
    mvt_fail_push(1 + take_wide(w) % 2048);
}

static void (*const steps[])(world *) = {
    do_key,   do_shortcut, do_shortcut, do_command, do_command, do_command, do_text,  do_word,
    do_move,  do_press,    do_release,  do_drag,    do_zone,    do_zone,    do_zone,  do_wheel,
    do_leave, do_size,     do_scale,    do_time,    do_turns,   do_paste,   do_open,  do_export,
    do_rest,  do_rest,     do_squeeze,  do_fail,    do_key,     do_drag,    do_wheel, do_zone};
enum { STEPS = sizeof steps / sizeof *steps };

/* ---- a session of the viewer ------------------------------------------------------------- */

static void copy(void *user, const char *text)
{
    world *w = user;

    snprintf(w->pasted, sizeof w->pasted, "%s", text);
    for (char *at = w->pasted; *at; at++)
        if (*at == '/')
            *at = '_';
}

static const char *paste(void *user)
{
    return ((world *)user)->pasted;
}

static bool is_folder(const char *path)
{
    return !strstr(path, "..") && mv_disk_files.is_folder(path);
}

static bool list(mv_arena *arena, const char *folder, mv_file_listing *out)
{
    return mv_disk_files.list(arena, strstr(folder, "..") ? "" : folder, out);
}

/* Reads the part of the script before the steps: themes, memory, size, keys. */
static bool begin(world *w, uint8_t *flags)
{
    static const char keys[] = "zoom_in Up Ctrl+PageUp\nquit\npan_left H\nfly X\n";
    mv_file_system files = mv_disk_files;
    static mv_file_system kept;
    mv_view_opts opts = {.copy = copy, .paste = paste, .user = w, .files = &kept};

    files.list = list;
    files.is_folder = is_folder;
    kept = files;
    *flags = take(w);
    opts.is_dark = *flags & 1;
    opts.is_threaded = opts.is_cooperative = (*flags & (2 | WORDS)) == 2;
    opts.scale = *flags & 4 ? 2 : 0;
    opts.keys = *flags & 8 ? keys : NULL;
    opts.tile_bytes = *flags & 16 ? 1 << 20 : 0;
    uint32_t memory = take(w);
    w->is_short = memory != 0;
    w->budget.limit = memory ? memory << 14 : 256u << 20;
    mvt_fail_push(take_wide(w));
    choose_size(w);
    take(w);
    w->raster = mv_raster_open(&w->budget, &(mv_raster_opts){0});
    w->view = mv_view_open(&w->budget, &opts);
    return w->view && w->raster;
}

/* Reads the remaining bytes of the script as words in view/script.h's language. */
static void run_words(world *w)
{
    size_t length = (size_t)(w->end - w->at);
    mv_script_opts opts = {.width = w->width, .height = w->height};
    mv_script_result result;
    char *text = malloc(length + 1);

    if (!text)
        return;
    for (size_t i = 0; i < length; i++)
        text[i] = w->at[i] == '/' ? '_' : (char)w->at[i];
    text[length] = 0;
    mv_script_run(w->view, text, &opts, &result);
    free(text);
}

static void run(world *w)
{
    uint8_t flags;

    if (begin(w, &flags)) {
        paint(w);
        mv_view_add(w->view, FILE_NAME);
        for (int i = 0; i < 4 && flags & OUTLINE; i++) {
            mv_document *d = w->view->documents[w->view->document_count - 1];
            paint(w);
            turn(w, 1);
            if (d->stage == MV_DOCUMENT_OPENED && !d->outlines)
                mv_document_sketch(d, 0); /* as if the trace were long */
        }
        if (flags & WORDS)
            run_words(w);
        else {
            settle(w);
            for (int j = 0; j < MOST_STEPS && w->at < w->end; j++)
                steps[take(w) % STEPS](w);
        }
        do_rest(w);
    }
    mv_view_close(w->view);
    mv_raster_close(w->raster);
    mvt_fail_push(0);
    if (w->budget.used != 0)
        mvt_finding("memory that was not released", "");
}

/* The file may be a session, but then it names only files in the folder. */
static void put_file(mv_span file)
{
    uint8_t *copy = malloc(file.length + 1);

    if (!copy)
        return;
    memcpy(copy, file.data, file.length);
    if (file.length > 14 && memcmp(copy, MV_SESSION_BEGINS, 14) == 0)
        for (uint64_t i = 0; i < file.length; i++)
            if (copy[i] == '/' || copy[i] == '-')
                copy[i] = '_';
    mvt_folder_put(FILE_NAME, (mv_span){copy, file.length});
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    world w = {0};

    if (size < 2)
        return 0;
    size_t length = data[size - 2] | (size_t)data[size - 1] << 8;
    size -= 2;
    length = length < size ? length : size;
    w.file = (mv_span){data, size - length};
    w.at = data + w.file.length;
    w.end = data + size;
    mvt_folder_enter();
    mvt_put_page();
    put_file(w.file);
    run(&w);
    mvt_folder_empty();
    mvt_folder_leave();
    return 0;
}
