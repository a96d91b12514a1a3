/* Whose process has the other end of a connection on this machine. */
#ifndef MV_PEER_H
#define MV_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The owner of the connection from 127.0.0.1:`from` to `to`, in a table as /proc/net/tcp and
 * /proc/net/tcp6 have it. False: it is not there. */
bool mv_peer_find(FILE *table, uint16_t from, uint16_t to, uint32_t *owner);

/* Whether the connection may be another user's: not this user's, not root's. A server of root, as
 * in a container, serves all; so does one that cannot tell. */
bool mv_peer_is_foreign(uint16_t from, uint16_t to);

#endif
