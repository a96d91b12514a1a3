#include "view/timeline/rank_lanes.h"

#include "base/sort.h"
#include "view/timeline/pane_ranks.h"

enum { KEY = MV_BOOKMARK_LEVEL + 24 };

static const char *key_of(const mv_device_row *row, char key[KEY])
{
    snprintf(key, KEY, "%u:%u%s%s", row->file, row->device, row->level ? ":" : "",
             row->level ? row->level : "");
    return key;
}

/* ---- which lanes exist ------------------------------------------------------------------- */

/* Lists the rows of a level, up to `room`. If `rows` is NULL, only counts them. */
static uint32_t list_level(mv_view *view, const char *level, mv_device_row *rows, uint32_t room)
{
    const mv_level_files *files = view->all_level_files;
    uint32_t count = 0;

    while (files && strcmp(files->level, level) != 0)
        files = files->next;
    for (uint32_t f = 0; files && f < files->count; f++) {
        const mv_document *d = files->documents[f];
        bool is_open = atomic_load_explicit(&d->stage, memory_order_acquire) == MV_DOCUMENT_OPENED;
        for (uint32_t i = 0; is_open && i < d->device_count && count < room; i++, count++) {
            if (!rows)
                continue;
            rows[count] = mv_device_row_of(d, f, i);
            rows[count].level = level;
            rows[count].name =
                view->document_count == 1 && d->device_count == 1
                    ? level
                    : mv_scene_format(
                          &view->ui.scene, "%s: %s", level,
                          view->document_count == 1
                              ? mv_scene_format(&view->ui.scene, "device %u", d->devices[i].device)
                              : d->name);
        }
    }
    return count;
}

mv_device_row *mv_lane_rows(mv_view *view, uint32_t *count)
{
    mv_device_row *rows = mv_device_rows(view, count), *all;
    const mv_level_list *levels = mv_view_levels(view);
    uint32_t shown = mv_view_level(view), room;

    if (!rows || !view->now->has_level_lanes)
        return rows;
    room = *count;
    for (uint32_t i = 0; i < levels->count; i++)
        if (i != shown)
            room += list_level(view, levels->name[i], NULL, MV_MOST_DEVICE_ROWS - room);
    all = mv_push_array(view->ui.frame, mv_device_row, room);
    if (!all)
        return NULL;
    memcpy(all, rows, *count * sizeof *rows);
    for (uint32_t i = 0; i < levels->count; i++)
        if (i != shown)
            *count += list_level(view, levels->name[i], all + *count, room - *count);
    return all;
}

/* ---- choices ------------------------------------------------------------------------------- */

static uint32_t find_row(const mv_device_row *rows, uint32_t count, const char *key, size_t length)
{
    char one[KEY];

    for (uint32_t i = 0; i < count; i++)
        if (strlen(key_of(&rows[i], one)) == length && memcmp(one, key, length) == 0)
            return i;
    return MV_NO_ROW;
}

mv_lane_choice *mv_lane_choices(mv_view *view, const mv_device_row *rows, uint32_t count)
{
    mv_lane_choice *choices = mv_push_array(view->ui.frame, mv_lane_choice, count);
    const char *at = view->now->lanes;

    for (uint32_t i = 0; choices && i < count; i++)
        choices[i].place = MV_NO_ROW;
    for (uint32_t place = 0; choices && *at; place++) {
        size_t signs = strspn(at, "+-"), length = strcspn(at, " ");
        uint32_t row = find_row(rows, count, at + signs, length - signs);
        if (row != MV_NO_ROW)
            choices[row] = (mv_lane_choice){.is_pinned = memchr(at, '+', signs) != NULL,
                                            .is_folded = memchr(at, '-', signs) != NULL,
                                            .place = place};
        at += length + (at[length] == ' ');
    }
    return choices;
}

void mv_lanes_write(char list[MV_SEARCH_TEXT], const mv_device_row *rows, const uint32_t *order,
                    uint32_t count, const mv_lane_choice *choices, bool all)
{
    size_t length = 0;
    char key[KEY];

    memset(list, 0, MV_SEARCH_TEXT);
    for (uint32_t i = 0; i < count; i++) {
        const mv_lane_choice *c = &choices[order[i]];
        if (!all && !c->is_pinned && !c->is_folded)
            continue;
        key_of(&rows[order[i]], key);
        if (length + strlen(key) + 4 > MV_SEARCH_TEXT)
            return;
        length +=
            (size_t)snprintf(list + length, MV_SEARCH_TEXT - length, "%s%s%s%s", length ? " " : "",
                             c->is_pinned ? "+" : "", c->is_folded ? "-" : "", key);
    }
}

/* ---- their order --------------------------------------------------------------------------- */

typedef struct {
    uint64_t height; /* peak of the lane, for sorting by peak */
    uint32_t row;
    uint32_t place; /* position in the user's order */
    uint8_t is_pinned;
} lane_key;

bool mv_lanes_sort(mv_view *view, const mv_device_row *rows, const mv_lane_choice *choices,
                   const uint32_t *outlier, uint32_t count, uint32_t *out)
{
    lane_key *keys = mv_push_array(view->ui.frame, lane_key, count);
    uint8_t order = view->now->lane_order;

    for (uint32_t i = 0; keys && i < count; i++)
        keys[i] = (lane_key){.height = order == MV_LANES_BY_PEAK     ? rows[i].peak
                                       : order == MV_LANES_DIFFERING ? outlier[i] != MV_NO_ROW
                                                                     : 0,
                             .row = i,
                             .place = order == MV_LANES_CHOSEN ? choices[i].place : 0,
                             .is_pinned = choices[i].is_pinned};
    if (keys)
        mv_sort_rows(view->ui.frame, keys, count, MV_FALLING(lane_key, is_pinned),
                     MV_RISING(lane_key, place), MV_FALLING(lane_key, height));
    for (uint32_t i = 0; keys && i < count; i++)
        out[i] = keys[i].row;
    return keys != NULL;
}

/* ---- the lanes of the last frame ---------------------------------------------------------- */

const mv_device_row *mv_rank_row(mv_view *view, uint64_t lane)
{
    const mv_ranks_pane *pane = view->timeline->ranks;
    uint32_t count;
    const mv_device_row *rows = mv_lane_rows(view, &count);

    return rows && lane < pane->ordered && pane->order[lane] < count ? &rows[pane->order[lane]]
                                                                     : NULL;
}

uint32_t mv_rank_lane_at(const mv_view *view, float x, float y)
{
    const mv_ranks_pane *pane = view->timeline->ranks;

    if (view->now->main != MV_MAIN_RANKS || !mv_box_has(view->main_box, x, y))
        return MV_NO_ROW;
    for (uint32_t i = 0; i < pane->placed; i++)
        if (y >= pane->placed_y[i] && y < pane->placed_y[i] + pane->placed_h[i])
            return pane->placed_lane[i];
    return MV_NO_ROW;
}
