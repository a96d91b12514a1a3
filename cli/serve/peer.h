/* Finds out which user owns the other end of a connection on this machine. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct {
    uint16_t port; /* the server's port on 127.0.0.1 */
    int kernel;    /* netlink socket for looking up one connection; -1: use /proc */
    uint32_t asked;
} mv_peers;

typedef enum {
    MV_PEER_OWNED,
    MV_PEER_GONE,   /* the connection has already ended */
    MV_PEER_UNKNOWN /* the kernel was not queried, or did not answer */
} mv_peer_state;

/* Prepares queries for a server that listens on `port` of 127.0.0.1. Call this before the process
 * is confined, because a confined process cannot open a socket. */
void mv_peers_open(mv_peers *peers, uint16_t port);
void mv_peers_close(mv_peers *peers);

/* Asks the kernel which user owns the connection from 127.0.0.1:`from`. This takes one message, no
 * matter how many connections there are. */
mv_peer_state mv_peers_query(mv_peers *peers, uint16_t from, uint32_t *owner);

/* Finds the owner of the connection from 127.0.0.1:`from` to 127.0.0.1:`to` in a table that has the
 * format of /proc/net/tcp and /proc/net/tcp6. Returns false if the connection is not in the
 * table. */
bool mv_peer_find(FILE *table, uint16_t from, uint16_t to, uint32_t *owner);

/* Whether the connection must be refused because it may belong to another user: it does not come
 * from 127.0.0.1, or its owner is neither this user nor root, or it has already ended. A server
 * that runs as root, as in a container, accepts every local connection. So does a server that
 * cannot find out owners. */
bool mv_peer_is_foreign(mv_peers *peers, const struct sockaddr_in *from);
