#include "analyze/flame/module_tree.h"

#define NO_NAME "(no name)"
#define BESIDE  "rest of blocks with several tensors"

/* Maximum number of parts of a name. More parts occur only by mistake, and are then combined into
 * the last part. */
enum { MOST_PARTS = 64 };

typedef struct {
    mv_arena *scratch;
    const mv_trace *trace;
    const mv_lives *lives;
    const mv_categories *categories;
    mv_flame_path *paths;
    uint32_t count;
    bool failed;
} listing;

static void add(listing *l, const char *const *labels, uint32_t count, uint64_t bytes,
                uint32_t blocks)
{
    const char **kept = mv_push_array(l->scratch, const char *, count);

    if (!kept) {
        l->failed = true;
        return;
    }
    memcpy(kept, labels, count * sizeof *kept);
    l->paths[l->count++] = (mv_flame_path){kept, count, blocks, bytes};
}

/* Adds a level for each part of the tensor's name, or only one level for a name that the program
 * gave. The last part also contains the shape and the type. */
static void add_tensor(listing *l, uint32_t tensor, uint64_t bytes, uint32_t blocks)
{
    bool is_whole = l->trace->tensors.role[tensor] == MV_TENSOR_NAMED;
    size_t named = strlen(mv_string_text(l->trace, l->trace->tensors.name[tensor]));
    char text[MV_TENSOR_TEXT], *rest;
    const char *labels[MOST_PARTS];
    uint32_t count = 0;

    mv_tensor_text(l->trace, tensor, text);
    rest = mv_arena_text(l->scratch, text, strlen(text));
    if (!rest) {
        l->failed = true;
        return;
    }
    for (size_t left = named; !is_whole && count + 1 < MOST_PARTS;) {
        char *dot = memchr(rest, '.', left < strlen(rest) ? left : strlen(rest));
        if (!dot || dot == rest)
            break;
        *dot = '\0';
        labels[count++] = rest;
        left -= (size_t)(dot + 1 - rest);
        rest = dot + 1;
    }
    labels[count++] = rest;
    add(l, labels, count, bytes, blocks);
}

static void add_block(listing *l, uint32_t alloc)
{
    const mv_tensor_blocks *t = &l->categories->tensors;
    uint32_t first, count = mv_tensors_in(t, alloc, &first);
    uint32_t largest = mv_tensor_largest(t, alloc);
    const char *category = l->categories->name[l->categories->of_alloc[alloc]];
    uint64_t left = l->lives->allocs.block[alloc];

    if (count == 1) {
        add_tensor(l, t->row[first], left, 1);
        return;
    }
    for (uint32_t i = first; i < first + count; i++) {
        if (t->bytes[i] > 0)
            add_tensor(l, t->row[i], t->bytes[i], i == largest);
        left -= t->bytes[i];
    }
    if (left > 0)
        add(l, (const char *[]){NO_NAME, count ? BESIDE : category}, 2, left, count == 0);
}

mv_code mv_module_tree_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                            const mv_categories *categories, uint32_t event, mv_flame_tree *out,
                            mv_err *err)
{
    mv_arena scratch;
    listing l = {.scratch = &scratch, .trace = trace, .lives = lives, .categories = categories};
    mv_alive alive = {0};
    mv_code code;

    mv_arena_init(&scratch, arena->budget);
    code = mv_alive_allocs(&scratch, lives, event, &alive, err);
    l.paths =
        mv_push_array(&scratch, mv_flame_path, (uint64_t)alive.count + categories->tensors.count);
    l.failed = !l.paths;
    for (uint32_t i = 0; code == MV_OK && !l.failed && i < alive.count; i++)
        add_block(&l, alive.row[i]);
    if (code == MV_OK && l.failed)
        code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "tree of modules");
    if (code == MV_OK)
        code = mv_flame_tree_of_paths(arena, l.paths, l.count, out, err);
    mv_arena_release(&scratch);
    return code;
}
