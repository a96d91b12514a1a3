/* Replaces libFuzzer. Gives every file in the folders on the command line to the fuzz target that
 * it is linked with. */
#include "tests/fuzz/target.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The input is in a block of exactly its size, so that a sanitizer notices reads past its end. */
static int replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    long size = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    uint8_t *data = size < 0 ? NULL : malloc((size_t)size + (size == 0));

    if (!data || fseek(file, 0, SEEK_SET) != 0 ||
        fread(data, 1, (size_t)size, file) != (size_t)size) {
        fprintf(stderr, "cannot read %s\n", path);
        return 1;
    }
    LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    fclose(file);
    return 0;
}

int main(int argc, char **argv)
{
    unsigned files = 0, failures = 0;

    for (int i = 1; i < argc; i++) {
        struct dirent *entry;
        DIR *dir = opendir(argv[i]);
        if (!dir) {
            fprintf(stderr, "cannot open %s\n", argv[i]);
            return 1;
        }
        while ((entry = readdir(dir))) {
            char path[4096];
            if (entry->d_name[0] == '.')
                continue;
            snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
            failures += (unsigned)replay(path);
            files++;
        }
        closedir(dir);
    }
    printf("%u files replayed, %u could not be read\n", files, failures);
    return files == 0 || failures > 0;
}
