/* Finds the rank and the time in a log line. */
#include "parse/error_text/error_window.h"

#include "base/numbers.h"

/* Recognizes "[rank3]:", "rank=3", "Rank 3", "local_rank: 3", and torchrun's "[default3]:". */
int64_t mv_error_rank(const char *line)
{
    static const char *const words[] = {"rank", "Rank", "RANK", "[default"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (const char *at = line; (at = strstr(at, words[i])) != NULL;) {
            uint64_t number;
            at += strlen(words[i]);
            at += strspn(at, " =:_-");
            if (mv_number_take(&at, 10, &number) && number < (1u << 24))
                return (int64_t)number;
        }
    return -1;
}

/* Returns the number made of the two digits at `at`; -1 if they are not digits. */
static int64_t two(const char *at)
{
    return mv_error_digit(at[0]) && mv_error_digit(at[1]) ? (at[0] - '0') * 10 + at[1] - '0' : -1;
}

/* Returns the number of days between a fixed day and a date such as "2026-11-28" or "11-28" that
 * ends before `end`; -1 if there is no date. Only the order of days matters. */
static int64_t day_before(const char *text, const char *end)
{
    int64_t month, day, year = 0;

    if (end - text < 5 || (end[-3] != '-' && end[-3] != '/') || (month = two(end - 5)) < 0 ||
        (day = two(end - 2)) < 0)
        return -1;
    if (end - text >= 10 && end[-6] == end[-3] && two(end - 10) >= 0 && two(end - 8) >= 0)
        year = two(end - 10) * 100 + two(end - 8);
    return (year * 13 + month) * 32 + day;
}

int64_t mv_error_time(const char *text, uint64_t length)
{
    for (uint64_t i = length < 8 ? 0 : length - 7; i-- > 0;) {
        const char *at = text + i;
        int64_t hour = two(at), minute = two(at + 3), second = two(at + 6), day = -1, part = 0;

        if (at[2] != ':' || at[5] != ':' || hour < 0 || minute < 0 || second < 0 ||
            (i > 0 && mv_error_digit(at[-1])) || (i + 8 < length && mv_error_digit(at[8])))
            continue;
        if (i > 0 && strchr(" T_", at[-1]))
            day = day_before(text, at - 1);
        if (i + 12 <= length && strchr(".,", at[8]))
            for (uint64_t k = 9; k < 12; k++)
                part = mv_error_digit(at[k]) ? part * 10 + at[k] - '0' : part * 10;
        return (((day + 1) * 24 + hour) * 3600 + minute * 60 + second) * 1000 + part;
    }
    return MV_NO_TIME;
}
