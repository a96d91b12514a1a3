#include "view/state/session.h"

#include "base/numbers.h"
#include "base/utf8.h"

static const char first_line[] = MV_SESSION_BEGINS "1";

/* ---- writing ------------------------------------------------------------------------------ */

/* Counts the bytes that do not fit, so that a string can be made by writing it twice. */
typedef struct {
    char *text;
    uint64_t length, size;
} writer;

static void put(writer *w, const char *text, uint64_t length)
{
    for (uint64_t i = 0; i < length; i++, w->length++)
        if (w->length < w->size)
            w->text[w->length] = text[i];
}

static void put_word(writer *w, const char *text)
{
    put(w, text, strlen(text));
}

static void put_number(writer *w, uint64_t number)
{
    char digits[MV_DIGITS];

    put(w, digits, mv_digits(digits, number));
}

static void put_row(writer *w, uint32_t row)
{
    if (row == MV_NO_ROW)
        put_word(w, "none");
    else
        put_number(w, row);
}

static void put_real(writer *w, double real)
{
    char text[MV_REAL_TEXT];

    put_word(w, mv_real_text(text, real));
}

static void put_text(writer *w, const char *text)
{
    static const char hex[] = "0123456789abcdef";

    while (*text) {
        const char *from = text;
        uint32_t code = mv_utf8_next_at(&text);
        bool is_plain =
            code != MV_UTF8_BAD && !mv_utf8_is_hidden(code) && code != '\\' && code != ';';
        if (is_plain) {
            put(w, from, (uint64_t)(text - from));
            continue;
        }
        for (; from < text; from++) {
            char byte[4] = {'\\', 'x', hex[(uint8_t)*from >> 4], hex[*from & 15]};
            put(w, byte, sizeof byte);
        }
    }
}

/* Returns the nth word of a list and its length in *length, which is 0 if there is no such word. */
static const char *word_at(const char *words, uint32_t n, size_t *length)
{
    for (; n > 0 && *words; n--) {
        words += strcspn(words, " ");
        words += *words == ' ';
    }
    *length = strcspn(words, " ");
    return words;
}

static void put_value(writer *w, const mv_state_member *m, const char *value)
{
    const char *word;
    size_t length;

    switch ((mv_member_kind)m->kind) {
    case MV_MEMBER_FLAG:
        put_word(w, *(const bool *)value ? "yes" : "no");
        break;
    case MV_MEMBER_CHOICE:
        word = word_at(m->words, *(const uint8_t *)value, &length);
        put(w, word, length);
        break;
    case MV_MEMBER_COUNT:
        put_number(w, *(const uint32_t *)(const void *)value);
        break;
    case MV_MEMBER_ROW:
        put_row(w, *(const uint32_t *)(const void *)value);
        break;
    case MV_MEMBER_BYTES:
        put_number(w, *(const uint64_t *)(const void *)value);
        break;
    case MV_MEMBER_REAL:
        put_real(w, *(const double *)(const void *)value);
        break;
    case MV_MEMBER_TEXT:
        put_text(w, value);
        break;
    }
}

static const char *member_of(const mv_session *s, const mv_state_member *m)
{
    return (m->is_of_desk ? (const char *)&s->desk : (const char *)&s->now) + m->offset;
}

void mv_session_give(mv_session *session, const void *member)
{
    for (uint32_t i = 0; i < mv_state_member_count; i++)
        if (member_of(session, &mv_state_members[i]) == (const char *)member)
            session->is_given[i] = true;
}

static void put_member(writer *w, const mv_session *s, const mv_state_member *m)
{
    put_word(w, m->name);
    for (uint32_t i = 0; i < m->count; i++) {
        put(w, " ", 1);
        put_value(w, m, member_of(s, m) + i * m->size);
    }
}

static void put_bookmark(writer *w, const mv_bookmark *b)
{
    put_word(w, "bookmark ");
    put_number(w, b->file);
    put(w, " ", 1);
    put_row(w, b->device);
    put(w, " ", 1);
    put_row(w, b->cursor);
    put(w, " ", 1);
    put_real(w, b->from);
    put(w, " ", 1);
    put_real(w, b->to);
    put(w, " ", 1);
    if (b->has_interval) {
        put_number(w, b->a);
        put(w, "-", 1);
        put_number(w, b->b);
    } else {
        put_word(w, "none");
    }
    put(w, " ", 1);
    put_text(w, b->name);
}

/* Writes the line that follows a bookmark at another level. */
static void put_bookmark_level(writer *w, const mv_bookmark *b, const char *end)
{
    if (!*b->level)
        return;
    put_word(w, "bookmark_level ");
    put_text(w, b->level);
    put(w, end, 1);
}

static void put_all(writer *w, const mv_session *s, bool is_line)
{
    const char *end = is_line ? ";" : "\n";

    if (!is_line) {
        put_word(w, first_line);
        put(w, end, 1);
    }
    for (uint32_t i = 0; !is_line && i < s->file_count; i++) {
        put_word(w, "path ");
        put_text(w, s->files[i]);
        put(w, end, 1);
    }
    for (uint32_t i = 0; i < mv_state_member_count; i++)
        if (mv_state_members[i].is_kept && (!is_line || s->is_given[i])) {
            put_member(w, s, &mv_state_members[i]);
            put(w, end, 1);
        }
    for (uint32_t i = 0; i < s->bookmarks.count; i++) {
        put_bookmark(w, &s->bookmarks.rows[i]);
        put(w, end, 1);
        put_bookmark_level(w, &s->bookmarks.rows[i], end);
    }
    if (!is_line)
        put_word(w, "end\n");
    else if (w->length > 0)
        w->length--; /* removes the last ';' */
}

static const char *text_of(mv_arena *arena, const mv_session *s, bool is_line)
{
    writer w = {0};

    put_all(&w, s, is_line);
    w = (writer){.text = mv_push_array(arena, char, w.length + 2), .size = w.length + 1};
    if (!w.text)
        return NULL;
    put_all(&w, s, is_line);
    w.text[w.length] = '\0';
    return w.text;
}

const char *mv_session_text(mv_arena *arena, const mv_session *session)
{
    return text_of(arena, session, false);
}

const char *mv_session_line(mv_arena *arena, const mv_session *session)
{
    return text_of(arena, session, true);
}

/* ---- reading ------------------------------------------------------------------------------ */

typedef struct {
    mv_arena *arena;
    mv_session *out;
    const char *start, *at, *end;    /* positions in the text, and end of the current line */
    uint64_t offsets[MV_STATE_MOST]; /* offsets of the values read so far */
    mv_err *err;
} reader;

static bool fail(reader *r, const char *at, const char *what, const char *which)
{
    mv_fail(r->err, MV_FORMAT, (uint64_t)(at - r->start), "%s%s", what, which);
    return false;
}

/* Takes the next word of the line, cut to fit; "" at the end of the line. */
static const char *take_word(reader *r, char *word, size_t size)
{
    const char *at = r->at;
    size_t length = 0;

    while (r->at < r->end && *r->at != ' ') {
        if (length + 1 < size)
            word[length++] = *r->at;
        r->at++;
    }
    word[length] = '\0';
    if (r->at < r->end)
        r->at++;
    return at;
}

static int hex_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Takes the rest of the line as a string of less than `size` bytes. The rest of the buffer is
 * filled with zeros. */
static bool take_text(reader *r, char *out, size_t size)
{
    size_t length = 0;

    memset(out, 0, size);
    for (; r->at < r->end; r->at++, length++) {
        const char *at = r->at;
        char c = *at;
        if (c == '\\') {
            int high = r->end - at > 3 && at[1] == 'x' ? hex_of(at[2]) : -1;
            int low = high < 0 ? -1 : hex_of(at[3]);
            if (low < 0)
                return fail(r, at, "a backslash is not followed by x and two digits", "");
            c = (char)(high << 4 | low);
            r->at += 3;
        }
        if ((uint8_t)c < 0x20 && *at != '\\')
            return fail(r, at, "a control character in a text", "");
        if (c == '\0')
            return fail(r, at, "a NUL in a text", "");
        if (length + 1 >= size)
            return fail(r, at, "the text is too long", "");
        out[length] = c;
    }
    return true;
}

static bool read_count(const char *word, uint64_t most, uint64_t *out)
{
    return mv_number_read(word, out) && *out <= most;
}

static bool read_row(const char *word, uint32_t *out)
{
    uint64_t number = MV_NO_ROW;

    if (strcmp(word, "none") != 0 && !read_count(word, MV_NO_ROW - 1u, &number))
        return false;
    *out = (uint32_t)number;
    return true;
}

static bool read_choice(const char *word, const char *words, uint8_t *out)
{
    size_t length;

    for (uint32_t i = 0;; i++) {
        const char *one = word_at(words, i, &length);
        if (length == 0)
            return false;
        if (strlen(word) == length && memcmp(word, one, length) == 0) {
            *out = (uint8_t)i;
            return true;
        }
    }
}

static bool read_flag(const char *word, bool *out)
{
    *out = strcmp(word, "yes") == 0;
    return *out || strcmp(word, "no") == 0;
}

static bool read_value(const mv_state_member *m, const char *word, char *value)
{
    uint64_t number;

    switch ((mv_member_kind)m->kind) {
    case MV_MEMBER_FLAG:
        return read_flag(word, (bool *)value);
    case MV_MEMBER_CHOICE:
        return read_choice(word, m->words, (uint8_t *)value);
    case MV_MEMBER_COUNT:
        if (!read_count(word, UINT32_MAX, &number))
            return false;
        *(uint32_t *)(void *)value = (uint32_t)number;
        return true;
    case MV_MEMBER_ROW:
        return read_row(word, (uint32_t *)(void *)value);
    case MV_MEMBER_BYTES:
        return mv_number_read(word, (uint64_t *)(void *)value);
    case MV_MEMBER_REAL:
        return mv_number_read_double(word, (double *)(void *)value);
    default:
        return false;
    }
}

static bool take_member(reader *r, uint32_t row)
{
    const mv_state_member *m = &mv_state_members[row];
    char *base = m->is_of_desk ? (char *)&r->out->desk : (char *)&r->out->now;
    char word[64];

    if (r->out->is_given[row])
        return fail(r, r->at, m->name, " appears twice");
    r->out->is_given[row] = true;
    r->offsets[row] = (uint64_t)(r->at - r->start);
    if (m->kind == MV_MEMBER_TEXT)
        return take_text(r, base + m->offset, m->size);
    for (uint32_t i = 0; i < m->count; i++) {
        const char *at = take_word(r, word, sizeof word);
        if (read_value(m, word, base + m->offset + i * m->size))
            continue;
        if (m->kind == MV_MEMBER_CHOICE)
            mv_fail(r->err, MV_FORMAT, (uint64_t)(at - r->start), "%s must be one of: %s", m->name,
                    m->words);
        else
            fail(r, at, "missing value of ", m->name);
        return false;
    }
    return r->at == r->end || fail(r, r->at, "too many values of ", m->name);
}

static bool take_file(reader *r)
{
    char path[4096];
    const char *at = r->at;
    char *copy;

    if (!take_text(r, path, sizeof path))
        return false;
    if (!*path)
        return fail(r, at, "a path is empty", "");
    if (r->out->file_count == MV_SESSION_FILES)
        return fail(r, at, "too many files", "");
    copy = mv_arena_text(r->arena, path, strlen(path));
    if (!r->out->files)
        r->out->files = mv_push_array(r->arena, char *, MV_SESSION_FILES);
    if (!copy || !r->out->files) {
        mv_fail(r->err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
        return false;
    }
    r->out->files[r->out->file_count++] = copy;
    return true;
}

/* Reads an interval: "none", or "120-480". */
static bool read_interval(char *word, mv_bookmark *b)
{
    uint64_t from, to;
    char *line = strchr(word, '-');

    if (strcmp(word, "none") == 0)
        return true;
    if (!line)
        return false;
    *line = '\0';
    if (!read_count(word, UINT32_MAX, &from) || !read_count(line + 1, UINT32_MAX, &to) ||
        from >= to)
        return false;
    b->has_interval = true;
    b->a = (uint32_t)from;
    b->b = (uint32_t)to;
    return true;
}

static bool take_bookmark(reader *r)
{
    mv_bookmarks *all = &r->out->bookmarks;
    mv_bookmark *b = &all->rows[all->count];
    const char *begin = r->at;
    char words[6][64];
    uint64_t file;

    if (all->count == MV_MOST_BOOKMARKS)
        return fail(r, begin, "too many bookmarks", "");
    for (uint32_t i = 0; i < 6; i++)
        take_word(r, words[i], sizeof words[i]);
    *b = (mv_bookmark){0};
    if (!read_count(words[0], MV_SESSION_FILES - 1, &file) || !read_row(words[1], &b->device) ||
        !read_row(words[2], &b->cursor) || !mv_number_read_double(words[3], &b->from) ||
        !mv_number_read_double(words[4], &b->to) || b->from < 0 || b->to <= b->from ||
        !read_interval(words[5], b))
        return fail(r, begin, "a bookmark must be: file device cursor from to interval name", "");
    b->file = (uint32_t)file;
    if (!take_text(r, b->name, sizeof b->name))
        return false;
    if (!*b->name)
        return fail(r, begin, "a bookmark has no name", "");
    all->count++;
    return true;
}

static bool take_bookmark_level(reader *r)
{
    mv_bookmarks *all = &r->out->bookmarks;

    if (all->count == 0 || *all->rows[all->count - 1].level)
        return fail(r, r->at, "bookmark_level must follow a bookmark", "");
    return take_text(r, all->rows[all->count - 1].level, MV_BOOKMARK_LEVEL);
}

static bool take_line(reader *r, bool has_files)
{
    char name[64];
    const char *at = take_word(r, name, sizeof name);

    if (has_files && strcmp(name, "path") == 0)
        return take_file(r);
    if (strcmp(name, "bookmark") == 0)
        return take_bookmark(r);
    if (strcmp(name, "bookmark_level") == 0)
        return take_bookmark_level(r);
    for (uint32_t i = 0; i < mv_state_member_count; i++)
        if (mv_state_members[i].is_kept && strcmp(mv_state_members[i].name, name) == 0)
            return take_member(r, i);
    return fail(r, at, "unknown name ", name);
}

/* ---- ranges ------------------------------------------------------------------------------- */

static bool is_within(double value, double least, double most)
{
    return value >= least && value <= most;
}

/* Returns the name of a member whose value is out of range; NULL: there is none. */
static const char *out_of_range(const mv_session *s)
{
    const mv_view_state *now = &s->now;
    const mv_view_desk *desk = &s->desk;

    for (uint32_t i = 0; i < MV_MOST_TABLES; i++)
        if (now->table_sort[i] >= MV_MOST_COLUMNS)
            return "table_sort";
    return s->file_count && now->file >= s->file_count                    ? "file"
           : !is_within(now->from, 0, UINT32_MAX)                         ? "from"
           : !is_within(now->to, now->from, UINT32_MAX)                   ? "to"
           : !now->fits_height && now->y_from >= now->y_to                ? "y_to"
           : now->y_to > (uint64_t)1 << 63                                ? "y_to"
           : now->has_interval && now->a >= now->b                        ? "b"
           : !is_within(now->heap_zoom, 0, 1e18)                          ? "heap_zoom"
           : !is_within(now->heap_left, 0, 1)                             ? "heap_left"
           : !is_within(now->heap_top, 0, 1e12)                           ? "heap_top"
           : !is_within(desk->scale, MV_LEAST_SCALE, MV_MOST_SCALE)       ? "scale"
           : !is_within(desk->legend_width, 0, 1e5)                       ? "legend_width"
           : !is_within(desk->lower_share, MV_LEAST_LOWER, MV_MOST_LOWER) ? "lower_share"
                                                                          : NULL;
}

static bool check_ranges(reader *r)
{
    const char *name = out_of_range(r->out);

    for (uint32_t i = 0; name && i < mv_state_member_count; i++)
        if (strcmp(mv_state_members[i].name, name) == 0) {
            mv_fail(r->err, MV_RANGE, r->offsets[i], "%s is out of range", name);
            return false;
        }
    return true;
}

/* ---- all ---------------------------------------------------------------------------------- */

static mv_session first_session(void)
{
    return (mv_session){.now = mv_view_state_first, .desk = mv_view_desk_first};
}

/* Reads the lines. *is_ended is set if there was a line "end" with nothing after it. */
static bool take_lines(reader *r, const char *text_end, char separator, bool *is_ended)
{
    const char *at = r->at;

    *is_ended = false;
    while (at < text_end) {
        const char *next = memchr(at, separator, (size_t)(text_end - at));
        r->at = at;
        r->end = next ? next : text_end;
        while (r->at < r->end && *r->at == ' ')
            r->at++;
        if (*is_ended)
            return fail(r, at, "text after the line \"end\"", "");
        if (separator == '\n' && r->end - r->at == 3 && memcmp(r->at, "end", 3) == 0)
            *is_ended = next != NULL;
        else if (r->at < r->end && *r->at != '#' && !take_line(r, separator == '\n'))
            return false;
        at = next ? next + 1 : text_end;
    }
    return true;
}

mv_code mv_session_read(mv_arena *arena, mv_span text, mv_session *out, mv_err *err)
{
    const char *start = (const char *)text.data;
    size_t first = strlen(first_line);
    mv_session session = first_session();
    reader r = {.arena = arena, .out = &session, .start = start, .at = start, .err = err};
    bool is_ended;

    if (text.length > MV_SESSION_MOST)
        return mv_fail(err, MV_LIMIT, MV_NO_OFFSET, "a session has at most %d bytes",
                       MV_SESSION_MOST);
    if (text.length <= first || memcmp(start, first_line, first) != 0 || start[first] != '\n')
        return mv_fail(err, MV_FORMAT, 0, "the first line must be \"%s\"", first_line);
    r.at += first + 1;
    if (!take_lines(&r, start + text.length, '\n', &is_ended))
        return err->code;
    if (!is_ended)
        return mv_fail(err, MV_TRUNCATED, text.length, "the line \"end\" is missing");
    if (!check_ranges(&r))
        return err->code;
    *out = session;
    return MV_OK;
}

mv_code mv_session_read_line(mv_arena *arena, mv_span line, mv_session *out, mv_err *err)
{
    const char *start = (const char *)line.data;
    mv_session session = first_session();
    reader r = {.arena = arena, .out = &session, .start = start, .at = start, .err = err};
    bool is_ended;

    if (line.length > MV_SESSION_MOST)
        return mv_fail(err, MV_LIMIT, MV_NO_OFFSET, "a session has at most %d bytes",
                       MV_SESSION_MOST);
    session.now.to = UINT32_MAX; /* if the end of the window is not given, the window extends to the
                                  * last event */
    if (!take_lines(&r, start + line.length, ';', &is_ended) || !check_ranges(&r))
        return err->code;
    *out = session;
    return MV_OK;
}
