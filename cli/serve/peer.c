#include "cli/serve/peer.h"

#include <unistd.h>

bool mv_peer_find(FILE *table, uint16_t from, uint16_t to, uint32_t *owner)
{
    enum { ESTABLISHED = 1 };
    unsigned local, remote, state;
    char line[512];

    while (fgets(line, sizeof line, table))
        if (sscanf(line, " %*u: %*32[0-9A-F]:%4x %*32[0-9A-F]:%4x %2x %*s %*s %*s %u", &local,
                   &remote, &state, owner) == 4 &&
            local == from && remote == to && state == ESTABLISHED)
            return true;
    return false;
}

bool mv_peer_is_foreign(uint16_t from, uint16_t to)
{
    static const char *const tables[] = {"/proc/net/tcp", "/proc/net/tcp6"};
    uint32_t own = geteuid(), owner = own;

    for (unsigned i = 0; own != 0 && i < sizeof tables / sizeof *tables; i++) {
        FILE *table = fopen(tables[i], "re");
        bool is_found = table && mv_peer_find(table, from, to, &owner);
        if (table)
            fclose(table);
        if (is_found)
            return owner != own && owner != 0;
    }
    return false;
}
