/* Tells the launcher what became of this process's recording (capture/wire_status.h). */
#ifndef MV_STATUS_H
#define MV_STATUS_H

/* Maps the launcher's page, if it is there and was not mapped before. `where` is $MEMVIZ_STATUS,
 * and may be NULL. */
void mv_status_begin(const char *where);

/* The first event has come: 0 when the recording was begun, else an errno number or
 * MV_STATUS_FILTERED. */
void mv_status_opened(int error);

#endif
