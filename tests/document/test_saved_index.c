
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fixture/fixture_scene.h"
#include "tests/fixture/fixture_view.h"

typedef struct {
    const char *root;
    char folder[MV_SAVED_PATH], trace[128];
    mv_arena *arena;
} place;

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

/* Sets up a cache folder for this test, and a file whose index is in it. */
static void begin(place *p)
{
    *p = (place){.root = mvt_temp_folder(), .arena = mvt_arena_of(256 << 20)};
    setenv("XDG_CACHE_HOME", p->root, 1);
    unsetenv("MEMVIZ_CACHE");
    cr_assert(mv_saved_folder(p->folder));
    snprintf(p->trace, sizeof p->trace, "%s/trace", p->root);
    write_text(p->trace, "a trace");
}

static uint32_t count_files(const char *folder)
{
    DIR *at = opendir(folder);
    uint32_t count = 0;

    for (struct dirent *entry; at && (entry = readdir(at));)
        count += entry->d_name[0] != '.';
    if (at)
        closedir(at);
    return count;
}

static void end(place *p)
{
    mv_arena_release(p->arena);
    cr_assert_eq(p->arena->budget->used, 0);
}

static mv_saved_index some_index(place *p, uint32_t count)
{
    mv_saved_index index = {count, mv_push_array(p->arena, mv_saved_device, count)};

    for (uint32_t i = 0; i < count; i++) {
        mv_saved_device *d = &index.devices[i];
        *d = (mv_saved_device){.device = i, .events = 100 + i, .columns = 100 + i, .peak = 7 + i};
        for (uint32_t j = 0; j < d->columns; j++)
            d->most[j] = j * j;
    }
    return index;
}

static mv_saved_key key_of(place *p)
{
    mv_saved_key key;

    cr_assert(mv_saved_key_of(p->arena, p->trace, &key));
    return key;
}

static void path_of(const place *p, char path[MV_SAVED_PATH + 300])
{
    DIR *at = opendir(p->folder);

    cr_assert_not_null(at);
    for (struct dirent *entry; (entry = readdir(at));)
        if (entry->d_name[0] != '.')
            snprintf(path, MV_SAVED_PATH + 300, "%s/%s", p->folder, entry->d_name);
    closedir(at);
}

Test(saved_index, written_files_are_read)
{
    mv_saved_index index, read = {0};
    place p;

    begin(&p);
    index = some_index(&p, 3);
    cr_assert_not(mv_saved_index_read(p.arena, p.folder, key_of(&p), &read), "none so far");
    cr_assert(mv_saved_index_write(p.folder, key_of(&p), &index));
    cr_assert(mv_saved_index_read(p.arena, p.folder, key_of(&p), &read));
    cr_assert_eq(read.count, 3);
    cr_assert_eq(memcmp(read.devices, index.devices, 3 * sizeof *read.devices), 0);
    end(&p);
}

/* Changes every bit of the head and some bits of the remaining bytes, and tries every wrong
 * length. */
LongTest(saved_index, a_damaged_index_does_not_count)
{
    char path[MV_SAVED_PATH + 300];
    mv_saved_index read;
    struct stat s;
    place p;

    begin(&p);
    mv_saved_index index = some_index(&p, 1);
    cr_assert(mv_saved_index_write(p.folder, key_of(&p), &index));
    path_of(&p, path);
    int file = open(path, O_RDWR);
    cr_assert_eq(fstat(file, &s), 0);
    for (off_t at = 0; at < s.st_size; at += at < 80 ? 1 : 997)
        for (int bit = 0; bit < 8; bit++) {
            uint8_t is;
            cr_assert_eq(pread(file, &is, 1, at), 1);
            uint8_t wrong = is ^ (uint8_t)(1 << bit);
            cr_assert_eq(pwrite(file, &wrong, 1, at), 1);
            cr_assert_not(mv_saved_index_read(p.arena, p.folder, key_of(&p), &read));
            cr_assert_eq(pwrite(file, &is, 1, at), 1);
        }
    cr_assert(mv_saved_index_read(p.arena, p.folder, key_of(&p), &read));
    cr_assert_eq(ftruncate(file, s.st_size + 1), 0);
    cr_assert_not(mv_saved_index_read(p.arena, p.folder, key_of(&p), &read));
    for (off_t length = s.st_size - 1; length > 0; length /= 3) {
        cr_assert_eq(ftruncate(file, length), 0);
        cr_assert_not(mv_saved_index_read(p.arena, p.folder, key_of(&p), &read));
    }
    close(file);
    end(&p);
}

Test(saved_index, a_file_that_changed_has_another_key)
{
    struct timespec at[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    mv_saved_key pipe;
    place p;

    begin(&p);
    utimensat(AT_FDCWD, p.trace, at, 0);
    mv_saved_key first = key_of(&p);
    mv_saved_key again = key_of(&p);
    cr_assert_eq(memcmp(&first, &again, sizeof first), 0);
    write_text(p.trace, "A trace");
    utimensat(AT_FDCWD, p.trace, at, 0);
    mv_saved_key other = key_of(&p);
    cr_assert_neq(memcmp(&first, &other, sizeof first), 0, "content");
    at[1].tv_nsec = 1;
    utimensat(AT_FDCWD, p.trace, at, 0);
    mv_saved_key later = key_of(&p);
    cr_assert_neq(memcmp(&other, &later, sizeof other), 0, "time");
    cr_assert_not(mv_saved_key_of(p.arena, "/dev/null", &pipe));
    cr_assert_not(mv_saved_key_of(p.arena, "/nonexistent", &pipe));
    end(&p);
}

Test(saved_index, folders_that_cannot_be_written_do_no_harm)
{
    char folder[MV_SAVED_PATH];
    place p;

    begin(&p);
    mv_saved_index index = some_index(&p, 1);
    write_text(p.folder, "a file, where the folder should be");
    cr_assert_not(mv_saved_index_write(p.folder, key_of(&p), &index));
    cr_assert_not(mv_saved_index_write("/proc/memviz", key_of(&p), &index));
    setenv("MEMVIZ_CACHE", "off", 1);
    cr_assert_not(mv_saved_folder(folder));
    unsetenv("MEMVIZ_CACHE");
    setenv("XDG_CACHE_HOME", "relative", 1);
    setenv("HOME", p.root, 1);
    cr_assert(mv_saved_folder(folder));
    cr_assert_eq(strncmp(folder, p.root, strlen(p.root)), 0);
    cr_assert(mv_saved_index_write(folder, key_of(&p), &index), "both folders are made");
    unsetenv("HOME");
    cr_assert_not(mv_saved_folder(folder));
    end(&p);
}

Test(saved_index, only_the_latest_indexes_are_kept)
{
    mv_saved_index read;
    char other[MV_SAVED_PATH + 16];
    place p;

    begin(&p);
    mv_saved_index index = some_index(&p, 1);
    cr_assert(mv_saved_index_write(p.folder, (mv_saved_key){1, 0}, &index));
    snprintf(other, sizeof other, "%s/notes", p.folder);
    write_text(other, "not ours: it stays");
    for (uint64_t i = 2; i <= MV_SAVED_FILES + 3; i++) {
        /* Sets the files' times back by an hour. */
        DIR *at = opendir(p.folder);
        struct stat st;
        cr_assert_not_null(at);
        for (struct dirent *entry; (entry = readdir(at));) {
            struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
            cr_assert_eq(fstatat(dirfd(at), entry->d_name, &st, 0), 0);
            times[1] = (struct timespec){st.st_mtim.tv_sec - 3600, st.st_mtim.tv_nsec};
            cr_assert_eq(utimensat(dirfd(at), entry->d_name, times, 0), 0);
        }
        closedir(at);
        cr_assert(mv_saved_index_read(p.arena, p.folder, (mv_saved_key){1, 0}, &read), "in use");
        cr_assert(mv_saved_index_write(p.folder, (mv_saved_key){i, 0}, &index));
    }
    cr_assert_eq(count_files(p.folder), MV_SAVED_FILES + 1);
    cr_assert_not(mv_saved_index_read(p.arena, p.folder, (mv_saved_key){2, 0}, &read));
    cr_assert(mv_saved_index_read(p.arena, p.folder, (mv_saved_key){MV_SAVED_FILES + 3, 0}, &read));
    cr_assert_eq(access(other, F_OK), 0);
    end(&p);
}

/* Each column is the extent of its events. */
static void compare(const mv_document_device *d)
{
    static mv_saved_device s;
    mv_pyramid_reader reader;

    mv_saved_device_fill(d->device, &d->pyramid, &s);
    mv_pyramid_reader_init(&reader, &d->pyramid);
    cr_assert_eq(s.peak, d->peak);
    cr_assert_eq(s.events, d->lives.events.count);
    for (uint32_t i = 0; i < s.columns; i++) {
        uint32_t first = (uint32_t)((uint64_t)i * s.events / s.columns);
        uint32_t end = (uint32_t)((i + 1ull) * s.events / s.columns);
        uint64_t most = i ? 0 : mv_pyramid_at(&reader, MV_BEFORE).allocated;
        for (uint32_t e = first; e < end; e++)
            most = mv_pyramid_at(&reader, e).allocated > most ? mv_pyramid_at(&reader, e).allocated
                                                              : most;
        cr_assert_eq(s.most[i], most, "column %u", i);
        cr_assert_leq(s.least[i], most);
    }
}

Test(saved_index, the_saved_outline_is_shown_while_the_trace_is_read)
{
    place p;
    int stage;

    begin(&p);
    mv_view *view = mvt_view("gpt_train");
    mv_document *d = view->documents[0];
    compare(&d->devices[0]);
    cr_assert_not(mv_view_outline(view) || d->has_saved);
    mv_document_save_outline(d, MV_LONG_EVENTS);
    cr_assert_eq(count_files(p.folder), 0, "short traces are read as quickly");
    mv_document_save_outline(d, 1);
    cr_assert_eq(count_files(p.folder), 1);
    mv_document again = (mv_document){.path = d->path, .level = d->level};
    mv_document_load_outline(&again, view->budget);
    cr_assert(again.has_saved);
    cr_assert_eq(again.saved.count, d->device_count);
    d->saved = again.saved;
    d->has_saved = true;
    cr_assert_null(mv_view_outline(view), "the device itself is there");
    stage = d->devices[0].stage;
    d->devices[0].stage = MV_DEVICE_BUILDING_LIFETIMES; /* as if it were still loading */
    cr_assert_not_null(mv_view_outline(view));
    cr_assert(mvt_scene_says(mvt_view_frame(view), "from the last run: peak"));
    mvt_scene_check(mvt_view_frame(view), "outline");
    d->devices[0].stage = stage;
    mv_arena_release(&again.saved_arena);
    end(&p);
}

/* A sketch made only from the events is close to the real outline, and exact for segments. */
Test(saved_index, a_sketch_is_close_to_the_real_outline)
{
    static const char *const names[] = {"gpt_train",  "leak_in_training", "frag_pinned_by_small",
                                        "late_start", "expandable_empty", "oom"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        static mv_saved_device sketch, real;
        mv_arena *arena = mvt_memory();
        mv_pyramid pyramid;
        mv_trace trace = mvt_load(arena, names[i]);
        mv_lives lives = mvt_lives(arena, &trace, 0);

        mvt_ok(mv_pyramid_find(arena, &lives, &pyramid, mvt_err()));
        mv_saved_device_sketch(0, &trace, &sketch);
        mv_saved_device_fill(0, &pyramid, &real);
        cr_assert_eq(sketch.events, real.events);
        cr_assert_eq(sketch.columns, real.columns);
        cr_assert_eq(sketch.most_reserved, real.most_reserved, "%s", names[i]);
        cr_assert_leq(sketch.peak, real.peak, "%s", names[i]);
        cr_assert_geq(sketch.peak, real.peak / 2, "%s", names[i]);
        for (uint32_t c = 0; c < real.columns; c++) {
            cr_assert_eq(sketch.reserved[c], real.reserved[c], "%s: column %u", names[i], c);
            cr_assert_leq(sketch.least[c], real.most[c], "%s: column %u", names[i], c);
            cr_assert_leq(sketch.least[c], sketch.most[c]);
        }
    }
}
