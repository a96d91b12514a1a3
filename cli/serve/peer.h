/* The owner of a connection's other end on this machine. */
#ifndef MV_PEER_H
#define MV_PEER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct {
    uint16_t port; /* the server's, on 127.0.0.1 */
    int kernel;    /* a netlink socket that looks up one connection; -1: use /proc */
    uint32_t asked;
} mv_peers;

typedef enum {
    MV_PEER_OWNED,
    MV_PEER_GONE,   /* it has already ended */
    MV_PEER_UNKNOWN /* the kernel was not queried, or did not answer */
} mv_peer_state;

/* Prepares queries for a server that listens on `port` of 127.0.0.1. Must be called before the
 * process is confined, because after that it cannot open a socket. */
void mv_peers_open(mv_peers *peers, uint16_t port);
void mv_peers_close(mv_peers *peers);

/* Asks the kernel for the owner of the connection from 127.0.0.1:`from`, with one message, however
 * many connections there are. */
mv_peer_state mv_peers_query(mv_peers *peers, uint16_t from, uint32_t *owner);

/* The owner of the connection from 127.0.0.1:`from` to 127.0.0.1:`to`, in a table in the format of
 * /proc/net/tcp and /proc/net/tcp6. False: not found. */
bool mv_peer_find(FILE *table, uint16_t from, uint16_t to, uint32_t *owner);

/* Whether the connection may belong to another user: not from 127.0.0.1, or neither this user's nor
 * root's. A connection that has already ended is refused too. A server run by root, as in a
 * container, serves all; so does one that cannot find owners. */
bool mv_peer_is_foreign(mv_peers *peers, const struct sockaddr_in *from);

#endif
