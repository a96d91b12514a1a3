# check_release.sh SOURCE COMPILER MEMVIZ: what releases are made with. SOURCE is the project's folder.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$1"
compiler=$2

# A program of this machine's is found to need newer libraries, and those that it does not bring.
if python3 packaging/check.py "$3" >"$work/faults"; then exit 1; fi
grep -q 'needs GLIBC_2.3' "$work/faults"
grep -q 'needs the library libsqlite3.so.0' "$work/faults"

# One that is linked with the folder of old symbols is not, and works.
cat >"$work/old.c" <<'END'
#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static int constructed;
__attribute__((constructor)) static void construct(void) { constructed++; }
static void *run(void *number) { *(int *)number += (int)gettid() != (int)getpid(); return NULL; }
int main(int argc, char **argv)
{
    struct stat st;
    pthread_t thread;
    int number = 0;

    pthread_create(&thread, NULL, run, &number);
    pthread_join(thread, NULL);
    stat(argv[0], &st);
    printf("%d %d %d %d %g %s %d\n", constructed, number, dlsym(NULL, "printf") != NULL, S_ISREG(st.st_mode),
           pow(argc, 2.5), strerrordesc_np(2), fcntl(1, F_GETFD) >= 0);
    return 0;
}
END
python3 packaging/floor/make.py "$compiler" "$work/floor"
"$compiler" -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 "$work/old.c" -o "$work/plain" -lm
"$compiler" -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 "$work/old.c" -o "$work/old" -L"$work/floor" -lm
if python3 packaging/check.py "$work/plain" >"$work/faults"; then exit 1; fi
python3 packaging/check.py "$work/old"
test "$("$work/old")" = "1 1 1 1 1 No such file or directory 1"

# What an old library lacks cannot be linked.
echo 'int close_range(unsigned, unsigned, int); int main(void) { return close_range(9, 9, 0); }' >"$work/new.c"
"$compiler" "$work/new.c" -o "$work/new"
if "$compiler" "$work/new.c" -o "$work/new" -L"$work/floor" 2>"$work/faults"; then exit 1; fi
grep -q close_range "$work/faults"

# The same tree is packed into the same bytes.
mkdir -p "$work/tree/bin" "$work/tree/share"
cp "$work/old" "$work/tree/bin/memviz"
date >"$work/tree/share/text"
export SOURCE_DATE_EPOCH=1700000000
for turn in 1 2; do
    mkdir "$work/$turn"
    python3 packaging/pack.py tar "$work/tree" "$work/$turn/memviz.tar.gz"
    touch "$work/tree/share/text"
done
cmp "$work/1/memviz.tar.gz" "$work/2/memviz.tar.gz"
tar -xzf "$work/1/memviz.tar.gz" -C "$work"
test "$("$work/memviz/bin/memviz")" = "1 1 1 1 1 No such file or directory 1"
