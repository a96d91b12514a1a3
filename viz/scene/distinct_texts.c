#include "viz/scene/distinct_texts.h"

#include <ctype.h>
#include <math.h>

#include "base/utf8.h"

#define ELLIPSIS "\xe2\x80\xa6"

enum { PLACE_WORDS = 3 };

/* ---- one label --------------------------------------------------------------------------- */

/* Returns the number of bytes that "train.py:62" takes in "train.py:62 forward", or "leak:
 * train.py:62" in "leak: train.py:62"; 0: the label does not begin with a file and a line. *colon
 * is where ":62" begins. */
static size_t place_of(const char *label, size_t *colon)
{
    const char *end = label;

    for (int words = 0; words < PLACE_WORDS && *end; words++)
        end += strcspn(end + 1, " ") + 1;
    for (const char *at = strchr(label, ':'); at && at < end; at = strchr(at + 1, ':')) {
        size_t digits = strspn(at + 1, "0123456789");
        if (at == label || digits == 0 || (at[1 + digits] && at[1 + digits] != ' '))
            continue;
        *colon = (size_t)(at - label);
        return *colon + 1 + digits;
    }
    return 0;
}

/* Returns the beginning of the text that fits together with `end`, without a trailing blank. */
static const char *head_with(mv_scene *scene, const char *text, size_t length, const char *end,
                             float size, float width)
{
    float left = width - mv_text_width(end, size);
    size_t keep = 0;

    if (left < 0)
        return "";
    while (keep < length) {
        uint32_t bytes = mv_utf8_length_at(text + keep);
        char one[8] = {0};
        memcpy(one, text + keep, bytes ? bytes : 1);
        left -= mv_text_width(one, size);
        if (left < 0)
            break;
        keep += bytes ? bytes : 1;
    }
    while (keep > 0 && text[keep - 1] == ' ')
        keep--;
    if (keep == 0 && strcmp(end, ELLIPSIS) == 0)
        return "";
    return mv_scene_format(scene, "%.*s%s", (int)keep, text, end);
}

/* Returns the end of text[0, length) that fits after an ellipsis and before `end`. */
static const char *tail_with(mv_scene *scene, const char *text, size_t length, const char *end,
                             float size, float width)
{
    float left = width - mv_text_width(ELLIPSIS, size) - mv_text_width(end, size);
    size_t from = length;

    while (from > 0) {
        size_t at = from - 1;
        char one[8] = {0};
        while (at > 0 && mv_utf8_is_tail(text[at]) && from - at < 4)
            at--;
        if (mv_utf8_length_at(text + at) != from - at)
            at = from - 1;
        memcpy(one, text + at, from - at);
        left -= mv_text_width(one, size);
        if (left < 0)
            break;
        from = at;
    }
    if (from == length && !*end)
        return "";
    return mv_scene_format(scene, ELLIPSIS "%.*s%s", (int)(length - from), text + from, end);
}

/* Whether names like this one differ at their ends. */
static bool differs_only_at_its_end(const char *text, size_t length)
{
    size_t plain = strcspn(text, " ");

    return plain >= length && (strncmp(text, "0x", 2) == 0 || strcspn(text, "./#\\") < length);
}

/* Returns the label up to `length`, which includes the file and line if the label begins with
 * them. */
static const char *cut_to(mv_scene *scene, const char *label, size_t length, float size,
                          float width)
{
    size_t colon = 0, place = place_of(label, &colon);
    const char *line;

    if (place == 0 && differs_only_at_its_end(label, length))
        return tail_with(scene, label, length, "", size, width);
    if (place == 0 || place > length ||
        mv_text_width(mv_scene_format(scene, "%.*s" ELLIPSIS, (int)place, label), size) <= width)
        return head_with(scene, label, length, ELLIPSIS, size, width);
    if (memchr(label, '/', colon))
        return tail_with(scene, label, place, "", size, width);
    line = mv_scene_format(scene, ELLIPSIS "%.*s", (int)(place - colon), label + colon);
    return head_with(scene, label, colon, line, size, width);
}

/* maximum number of bytes of a text that are examined if it is too wide */
enum { TEXT_MOST = 4096 };

const char *mv_text_fit(mv_scene *scene, const char *text, float size, float width)
{
    size_t length = strlen(text);

    if (length < TEXT_MOST && mv_text_width(text, size) <= width)
        return mv_scene_format(scene, "%s", text);
    return cut_to(scene, text, length, size, width);
}

/* ---- several ----------------------------------------------------------------------------- */

/* Returns the beginning of the first word in which the texts differ. */
static size_t difference(const char *a, const char *b)
{
    size_t at = 0;

    while (a[at] && a[at] == b[at])
        at++;
    while (at > 0 && (mv_utf8_is_tail(a[at]) || isalnum((unsigned char)a[at - 1]) ||
                      strchr("._:", a[at - 1])))
        at--;
    return at;
}

/* Returns "train.py:62 …norm.py:229 forw…" or "…:62 …norm.py:229": the file and line, or only the
 * line, followed by the label starting at the difference. */
static const char *from_difference(mv_scene *scene, const char *label, size_t from, float size,
                                   float width)
{
    size_t colon = 0, place = place_of(label, &colon);
    const char *head = ELLIPSIS;

    if (place && place <= from) {
        head = mv_scene_format(scene, "%.*s " ELLIPSIS, (int)place, label);
        if (mv_text_width(head, size) > width / 2)
            head = mv_scene_format(scene, ELLIPSIS "%.*s " ELLIPSIS, (int)(place - colon),
                                   label + colon);
    } else if (place) {
        from = colon;
    }
    return mv_scene_format(
        scene, "%s%s", head,
        mv_text_fit(scene, label + from, size, width - mv_text_width(head, size)));
}

static bool is_among(const char *const *texts, uint32_t count, const char *text)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(texts[i], text) == 0)
            return true;
    return false;
}

static const char *numbered(mv_scene *scene, const char *const *texts, uint32_t count,
                            const char *label, float size, float width)
{
    for (uint32_t n = 2;; n++) {
        const char *end = mv_scene_format(scene, " (%u)", n);
        const char *text = mv_scene_format(
            scene, "%s%s", mv_text_fit(scene, label, size, width - mv_text_width(end, size)), end);
        if (!is_among(texts, count, text) || n > count + 1)
            return text;
    }
}

void mv_labels_fit(mv_scene *scene, const char **labels, uint32_t count, float size, float width)
{
    const char **whole = mv_push_array(scene->arena, const char *, (uint64_t)count + 1);

    if (!whole) {
        scene->failed = true;
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        whole[i] = labels[i];
        labels[i] = mv_text_fit(scene, whole[i], size, width);
    }
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(labels[i], labels[k]) != 0 || strcmp(whole[i], whole[k]) == 0)
                continue;
            labels[i] =
                from_difference(scene, whole[i], difference(whole[i], whole[k]), size, width);
            if (is_among(labels, i, labels[i]))
                labels[i] = numbered(scene, labels, i, whole[i], size, width);
            break;
        }
}

/* ---- names ------------------------------------------------------------------------------- */

/* Maximum number of words of a name that are compared, and how many names count as few. */
enum { NAME_WORDS = 24, FEW_NAMES = 32 };

static bool is_between_words(char c)
{
    return c && strchr("._-/+#: \\", c) != NULL;
}

/* Returns the length in bytes of the words that all names begin with. */
static size_t shared_head(const char *const *names, uint32_t count)
{
    size_t head = strlen(names[0]);

    for (uint32_t i = 1; i < count; i++) {
        size_t at = 0;
        while (at < head && names[i][at] == names[0][at])
            at++;
        head = at;
    }
    while (head > 0 && !is_between_words(names[0][head - 1]))
        head--;
    return head;
}

/* Returns the length in bytes of the words that all names end with, after their heads. */
static size_t shared_tail(const char *const *names, uint32_t count, size_t head)
{
    size_t length = strlen(names[0]), tail = length - head;

    for (uint32_t i = 1; i < count; i++) {
        size_t other = strlen(names[i]), at = 0;
        while (at < tail && at < other - head &&
               names[i][other - 1 - at] == names[0][length - 1 - at])
            at++;
        tail = at;
    }
    while (tail > 0 && !is_between_words(names[0][length - tail]))
        tail--;
    return tail;
}

/* Returns text[from, to), with an ellipsis where something is cut. */
static const char *part_of(mv_scene *scene, const char *text, size_t from, size_t to)
{
    return mv_scene_format(scene, "%s%.*s%s", from ? ELLIPSIS : "", (int)(to - from), text + from,
                           text[to] ? ELLIPSIS : "");
}

/* Returns the name with text[from, to) in it, and with as much of its surroundings as fits. The
 * text that follows has priority over the text before it. */
static const char *grown(mv_scene *scene, const char *text, size_t from, size_t to, float size,
                         float width)
{
    const char *best = part_of(scene, text, from, to);

    while (text[to]) {
        const char *more;
        size_t next = to + 1;
        while (mv_utf8_is_tail(text[next]))
            next++;
        more = part_of(scene, text, from, next);
        if (mv_text_width(more, size) > width)
            break;
        to = next;
        best = more;
    }
    while (from > 0) {
        const char *more;
        size_t next = from - 1;
        while (next > 0 && mv_utf8_is_tail(text[next]))
            next--;
        more = part_of(scene, text, next, to);
        if (mv_text_width(more, size) > width)
            break;
        from = next;
        best = more;
    }
    return best;
}

typedef struct {
    size_t from, to;
    uint32_t others; /* number of names that contain the word */
    bool is_kept, is_tried;
} name_word;

/* Finds the words of text[from, to). Returns their number. */
static uint32_t split_words(const char *text, size_t from, size_t to, name_word out[NAME_WORDS])
{
    uint32_t count = 0;

    while (from < to && count < NAME_WORDS) {
        size_t end = from;
        while (end < to && !is_between_words(text[end]))
            end++;
        if (end > from)
            out[count++] = (name_word){.from = from, .to = end};
        from = end + 1;
    }
    return count;
}

/* Returns the kept words, together with the characters between adjacent words, such as
 * "…1024…8a1f…". */
static const char *with_words(mv_scene *scene, const char *text, const name_word *words,
                              uint32_t count)
{
    const char *out = "";
    size_t end = 0;

    for (uint32_t i = 0; i < count; i++) {
        bool is_next = i > 0 && words[i - 1].is_kept;
        size_t from = is_next ? end : words[i].from;
        if (!words[i].is_kept)
            continue;
        out = mv_scene_format(scene, "%s%s%.*s", out, from > end ? ELLIPSIS : "",
                              (int)(words[i].to - from), text + from);
        end = words[i].to;
    }
    return mv_scene_format(scene, "%s%s", out, text[end] ? ELLIPSIS : "");
}

/* Whether another name contains all kept words of the text. */
static bool are_elsewhere(mv_scene *scene, const char *const *names, uint32_t count,
                          const char *text, const name_word *words, uint32_t word_count)
{
    for (uint32_t k = 0; k < count; k++) {
        bool has_all = strcmp(names[k], text) != 0;
        for (uint32_t i = 0; i < word_count && has_all; i++)
            has_all =
                !words[i].is_kept ||
                strstr(names[k], mv_scene_format(scene, "%.*s", (int)(words[i].to - words[i].from),
                                                 text + words[i].from));
        if (has_all)
            return true;
    }
    return false;
}

/* Returns the words of text[from, to) that the fewest names contain. After the first word, a word
 * is taken only if at most half of the names contain it. Returns "" if another name contains all
 * words that fit. */
static const char *rare_words(mv_scene *scene, const char *const *names, uint32_t count,
                              const char *text, size_t from, size_t to, float size, float width)
{
    name_word words[NAME_WORDS];
    uint32_t word_count = split_words(text, from, to, words), kept = 0;
    const name_word *last = NULL;

    for (uint32_t i = 0; i < word_count; i++) {
        const char *word = mv_scene_format(scene, "%.*s", (int)(words[i].to - words[i].from),
                                           text + words[i].from);
        for (uint32_t k = 0; k < count; k++)
            words[i].others += strstr(names[k], word) != NULL;
    }
    for (uint32_t tries = 0; tries < word_count; tries++) {
        name_word *best = NULL;
        for (uint32_t i = 0; i < word_count; i++)
            if (!words[i].is_tried && (!best || words[i].others < best->others))
                best = &words[i];
        if (!best || (kept && best->others > count / 2))
            break;
        best->is_tried = true;
        best->is_kept = true;
        best->is_kept = mv_text_width(with_words(scene, text, words, word_count), size) <= width;
        kept += best->is_kept;
        last = best->is_kept ? best : last;
    }
    if (are_elsewhere(scene, names, count, text, words, word_count))
        return "";
    if (kept == 1)
        return grown(scene, text, last->from, last->to, size, width);
    return with_words(scene, text, words, word_count);
}

/* Returns both ends of text[from, to): "…gpt…8a1f…". */
static const char *without_middle(mv_scene *scene, const char *text, size_t from, size_t to,
                                  float size, float width)
{
    const char *before = from ? ELLIPSIS : "", *after = text[to] ? ELLIPSIS : "", *head;
    float half = (width + mv_text_width(ELLIPSIS, size)) / 2; /* this ellipsis is in the second
                                                                 half */

    head = head_with(scene, text + from, to - from, "", size,
                     fmaxf(0, width - half - mv_text_width(before, size)));
    head = mv_scene_format(scene, "%s%s", before, head);
    return mv_scene_format(
        scene, "%s%s", head,
        tail_with(scene, text + from, to - from, after, size, width - mv_text_width(head, size)));
}

static const char *name_fit(mv_scene *scene, const char *const *names, uint32_t count,
                            const char *name, size_t head, size_t tail, float size, float width)
{
    size_t length = strlen(name), to = length - tail;
    const char *text;

    if (length < TEXT_MOST && mv_text_width(name, size) <= width)
        return mv_scene_format(scene, "%s", name);
    if (head >= to || length >= TEXT_MOST)
        return mv_text_fit(scene, name, size, width);
    if (mv_text_width(part_of(scene, name, head, to), size) <= width)
        return grown(scene, name, head, to, size, width);
    text = count <= FEW_NAMES ? rare_words(scene, names, count, name, head, to, size, width) : "";
    return *text ? text : without_middle(scene, name, head, to, size, width);
}

void mv_names_fit(mv_scene *scene, const char **names, uint32_t count, float size, float width)
{
    const char **whole = mv_push_array(scene->arena, const char *, (uint64_t)count + 1);
    size_t head = count ? shared_head(names, count) : 0;
    size_t tail = count ? shared_tail(names, count, head) : 0;

    if (!whole) {
        scene->failed = true;
        return;
    }
    memcpy(whole, names, count * sizeof *names);
    for (uint32_t i = 0; i < count; i++) {
        names[i] = name_fit(scene, whole, count, whole[i], head, tail, size, width);
        if (is_among(names, i, names[i]) && *names[i] && head + tail < strlen(whole[i]))
            names[i] = without_middle(scene, whole[i], head, strlen(whole[i]) - tail, size, width);
        if (is_among(names, i, names[i]) && *names[i])
            names[i] = numbered(scene, names, i, whole[i], size, width);
    }
}
