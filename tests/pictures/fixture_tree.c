#include "tests/pictures/fixture_tree.h"

#include "tests/fixture/fixture_test.h"

void mvt_check_tree(const mv_flame_tree *tree)
{
    uint32_t linked = 0;

    for (uint32_t i = 0; i < tree->count; i++) {
        const mv_flame_node *n = &tree->nodes[i];
        uint64_t bytes = 0, blocks = 0, last = UINT64_MAX;
        for (uint32_t c = n->child; c; c = tree->nodes[c].next) {
            cr_assert_eq(tree->nodes[c].parent, i);
            cr_assert_eq(tree->nodes[c].depth, n->depth + 1);
            cr_assert_leq(tree->nodes[c].bytes, last, "the heaviest is first");
            last = tree->nodes[c].bytes;
            bytes += tree->nodes[c].bytes;
            blocks += tree->nodes[c].blocks;
            linked++;
        }
        cr_assert(i == 0 ? bytes == n->bytes : bytes <= n->bytes);
        cr_assert(i == 0 ? blocks == n->blocks : blocks <= n->blocks);
    }
    cr_assert_eq(linked + 1, tree->count);
}
