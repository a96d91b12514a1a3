/* Defines the names of an enum's values, using the list that also defines the enum:
 *
 *     #define MV_FINDING_LIST(X) X(OOM, "out of memory") X(LEAK, "leak")
 *     MV_NAMES(mv_finding_name, mv_finding_kind, MV_FINDING_LIST, MV_SECOND, "")
 *
 * defines const char *mv_finding_name(mv_finding_kind), which returns the last argument for values
 * outside the enum. */
#pragma once

/* These macros select a field of each row. One of them is passed as the parameter `field`. */
#define MV_FIRST_NAME(first, ...)           #first,
#define MV_SECOND(first, second, ...)       second,
#define MV_THIRD(first, second, third, ...) third,

#define MV_NAMES(function, type, list, field, other)                                  \
    const char *function(type value)                                                  \
    {                                                                                 \
        static const char *const names[] = {list(field)};                             \
        return (unsigned)value < sizeof names / sizeof *names ? names[value] : other; \
    }
