#include "parse/msgpack/compact.h"

static const struct {
    const char *name;
    uint16_t table; /* mv_wire_kind */
} sections[MV_SECTION_COUNT] = {
#define SECTION(name, text, table) {text, table},
    MV_SECTION_LIST(SECTION)
#undef SECTION
};

const char *mv_compact_section_name(mv_compact_section section)
{
    return section < MV_SECTION_COUNT ? sections[section].name : "?";
}

const mv_model_table *mv_compact_table(mv_compact_section section)
{
    return section < MV_SECTION_COUNT ? mv_table_find(sections[section].table) : NULL;
}

const char *mv_compact_ref_name(mv_row_ref ref)
{
    if (ref == MV_REF_CALL)
        return mv_compact_section_name(MV_SECTION_CALLS);
    for (mv_compact_section i = 0; i < MV_SECTION_COUNT; i++)
        if (sections[i].table && sections[i].table == mv_ref_kind(ref))
            return sections[i].name;
    return "?";
}
