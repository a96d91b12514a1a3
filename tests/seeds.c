/* Writes the fuzz corpora's first files: fixture traces in every format, into the folder on the
 * command line, one folder below it for each fuzz target. */
#include "tests/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static void save(const char *root, const char *target, const char *name, mv_span bytes)
{
    char path[4096];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", root, target);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/%s", root, target, name);
    file = fopen(path, "wb");
    if (!file || fwrite(bytes.data, 1, bytes.length, file) != bytes.length || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

static void save_all(const char *root, const char *name, mvt_trace *t)
{
    char file[64];

    snprintf(file, sizeof file, "%s_cpython", name);
    save(root, "pickle", file, mvt_pickle_bytes(t, false));
    snprintf(file, sizeof file, "%s_cpp", name);
    save(root, "pickle", file, mvt_pickle_bytes(t, true));
    save(root, "snapshot", name, mvt_snapshot_bytes(t));
    snprintf(file, sizeof file, "%s_plain", name);
    save(root, "msgpack", file, mvt_plain_bytes(t));
    snprintf(file, sizeof file, "%s_compact", name);
    save(root, "msgpack", file, mvt_compact_bytes(t));
    mvt_drop(t);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: seeds FOLDER\n");
        return 2;
    }
    save_all(argv[1], "nothing", mvt_new());
    save_all(argv[1], "small", mvt_small());
    save_all(argv[1], "two_devices", mvt_two_devices());
    return 0;
}
