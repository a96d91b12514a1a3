#include "parse/pickle/page_text.h"

enum { LONGEST = 64, MOST_SPACE = 16 };

/* ---- finding the pickle ------------------------------------------------------------------ */

/* Words that identify a page. Each begins with a quote. */
typedef enum { SNAPSHOT, PICTURE_OF_2_0, PAGE_OF_OURS, WORDS } word;

static const char *const words[WORDS] = {
    [SNAPSHOT] = "\"base64\"",
    [PICTURE_OF_2_0] = "\"suffix_table\"",
    [PAGE_OF_OURS] = "\"generator\" content=\"memviz ",
};

static word word_at(const mv_source *page)
{
    uint64_t left = (uint64_t)(page->end - page->at);

    for (int i = 0; i < WORDS; i++)
        if (strlen(words[i]) <= left && memcmp(page->at, words[i], strlen(words[i])) == 0)
            return (word)i;
    return WORDS;
}

/* Finds the next word and moves page->at to it. Returns WORDS at the end. */
static word next_word(mv_source *page)
{
    mv_source_need(page, LONGEST);
    while (page->at < page->end) {
        const uint8_t *quote = memchr(page->at, '"', (size_t)(page->end - page->at));
        page->at = quote ? quote : page->end;
        mv_source_need(page, LONGEST);
        if (page->at == page->end)
            break;
        if (word_at(page) != WORDS)
            return word_at(page);
        page->at++;
    }
    return WORDS;
}

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Skips the key, a colon and the quote that opens the string. Returns false if the word is not a
 * key. */
static bool open_text(mv_source *page)
{
    uint64_t at = strlen(words[SNAPSHOT]), left;
    bool colon = false;

    mv_source_need(page, LONGEST);
    left = (uint64_t)(page->end - page->at);
    for (; at < left && at < LONGEST - 1; at++) {
        if (page->at[at] == ':' && !colon)
            colon = true;
        else if (!is_space(page->at[at]))
            break;
    }
    if (!colon || at >= left || page->at[at] != '"') {
        page->at++;
        return false;
    }
    page->at += at + 1;
    return true;
}

mv_code mv_page_find(mv_source *page, mv_page_text *text, mv_err *err)
{
    const char *why = "an HTML page without a snapshot in it; pass the page of _memory_viz, or "
                      "the pickle";
    word found;

    while ((found = next_word(page)) == SNAPSHOT)
        if (open_text(page)) {
            *text = (mv_page_text){.page = page, .first = mv_source_offset(page)};
            return MV_OK;
        }
    if (found == WORDS && mv_source_fail(page, err, "") != MV_TRUNCATED)
        return err->code;
    if (found == PICTURE_OF_2_0)
        why = "a page of PyTorch 2.0: it contains a picture, not the snapshot; pass the pickle "
              "that it was made from";
    else if (found == PAGE_OF_OURS)
        why = "a page that memviz wrote: open it in a browser, or pass the file that it was made "
              "from";
    return mv_fail(err, MV_FORMAT, found == WORDS ? 0 : mv_source_offset(page), "%s", why);
}

bool mv_page_has_more(mv_source *page)
{
    word found;

    while ((found = next_word(page)) != WORDS) {
        if (found == SNAPSHOT && open_text(page))
            return true;
        page->at += found != SNAPSHOT;
    }
    return false;
}

/* ---- decoding it ------------------------------------------------------------------------- */

enum { NO_DIGIT = 64, PAD_DIGIT = 65 };

static uint32_t digit_of(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26u;
    if (c >= '0' && c <= '9')
        return c - '0' + 52u;
    return c == '+' ? 62 : c == '/' ? 63 : c == '=' ? PAD_DIGIT : NO_DIGIT;
}

static bool bad_letter(mv_page_text *t, uint64_t at, mv_err *failure)
{
    mv_fail(failure, MV_CORRUPT, mv_source_offset(t->page) + at, "%s",
            "the snapshot's base64 has a character that is not base64");
    t->failed = true;
    return false;
}

/* Decodes four letters into t->rest. */
static bool decode_group(mv_page_text *t, mv_err *failure)
{
    const uint8_t *at = t->page->at;
    uint32_t bits = 0;
    uint8_t pads = 0;

    for (uint32_t i = 0; i < 4; i++) {
        uint32_t digit = digit_of(at[i]);
        if (digit == PAD_DIGIT && i >= 2)
            pads++;
        else if (digit > 63 || pads > 0)
            return bad_letter(t, i, failure);
        bits = bits << 6 | (digit & 63);
    }
    t->rest[0] = (uint8_t)(bits >> 16);
    t->rest[1] = (uint8_t)(bits >> 8);
    t->rest[2] = (uint8_t)bits;
    t->rest_at = 0;
    t->rest_end = 3 - pads;
    t->padded = pads > 0;
    t->page->at += 4;
    return true;
}

/* Decodes the next group of letters. Returns false at the end, and after a failure. */
static bool next_group(mv_page_text *t, mv_err *failure)
{
    if (t->ended || t->failed)
        return false;
    if (t->page->end - t->page->at < 4)
        mv_source_need(t->page, 4);
    if (t->page->at < t->page->end && *t->page->at == '"') {
        t->ended = true;
        return false;
    }
    if (t->page->end - t->page->at < 4) {
        mv_source_fail(t->page, failure, "the snapshot's base64 has no end");
        t->failed = true;
        return false;
    }
    return t->padded ? bad_letter(t, 0, failure) : decode_group(t, failure);
}

static uint64_t decode_some(void *user, uint8_t *to, uint64_t room, mv_err *failure)
{
    mv_page_text *t = user;
    uint64_t done = 0;

    while (done < room) {
        if (t->rest_at == t->rest_end && !next_group(t, failure))
            break;
        to[done++] = t->rest[t->rest_at++];
    }
    return done;
}

mv_code mv_page_open(mv_arena *arena, mv_page_text *text, mv_source *out, mv_err *err)
{
    return mv_source_from(arena, decode_some, text, out, err);
}

uint64_t mv_page_offset(const mv_page_text *text, uint64_t offset)
{
    return text->first + offset / 3 * 4 + offset % 3;
}
