# check_release.sh SOURCE COMPILER MEMVIZ HARDENED: the tools for releases. SOURCE is the project's folder,
# HARDENED the file of flags that cmake/Hardening.cmake wrote.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$1"
compiler=$2

# The check must find that a program built on this machine needs a newer C library, and libraries
# that should have been linked into it.
if python3 packaging/check.py "$3" >"$work/faults"; then exit 1; fi
grep -q 'needs GLIBC_2.3' "$work/faults"
grep -q 'needs the library libsqlite3.so.0' "$work/faults"

# A program linked with the folder of old symbols passes the check, and works.
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
/* Something for each way of protection. */
__attribute__((noinline)) static void fill(const char *text)
{
    char page[3 * 4096], few[16];
    snprintf(few, sizeof few, "%s", text);
    snprintf(page, sizeof page, "%s", few);
    __asm__ volatile("" : : "r"(page) : "memory");
}
static void *run(void *number) { *(int *)number += (int)gettid() != (int)getpid(); return NULL; }
int main(int argc, char **argv)
{
    struct stat st;
    pthread_t thread;
    int number = 0;

    fill(argv[0]);
    pthread_create(&thread, NULL, run, &number);
    pthread_join(thread, NULL);
    stat(argv[0], &st);
    printf("%d %d %d %d %g %s %d\n", constructed, number, dlsym(NULL, "printf") != NULL, S_ISREG(st.st_mode),
           pow(argc, 2.5), strerrordesc_np(2), fcntl(1, F_GETFD) >= 0);
    return 0;
}
END
python3 packaging/floor/make.py "$compiler" "$work/floor"
. "$4"
compile="-O2 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 $hard_compile -fPIE"
link="$hard_link -pie -lm"
"$compiler" $compile "$work/old.c" -o "$work/plain" $link
"$compiler" $compile "$work/old.c" -o "$work/old" $link -L"$work/floor"
if python3 packaging/check.py "$work/plain" >"$work/faults"; then exit 1; fi
python3 packaging/check.py "$work/old"
test "$("$work/old")" = "1 1 1 1 1 No such file or directory 1"

# refused WORDS FILE: the file has this fault and no other.
refused() {
    if python3 packaging/check.py "$2" >"$work/faults"; then
        echo "not refused: $1" >&2
        exit 1
    fi
    grep -q "$1" "$work/faults" && [ "$(grep -cv "$1" "$work/faults")" = 0 ] || {
        echo "expected: $1; found:" >&2
        cat "$work/faults" >&2
        exit 1
    }
}
# without WORDS FLAGS...: a program without one protection.
without() {
    words=$1
    shift
    "$compiler" $compile "$work/old.c" -o "$work/lacks" $link -L"$work/floor" "$@"
    refused "$words" "$work/lacks"
}
without 'no stack protector' -fno-stack-protector
without 'no FORTIFY_SOURCE' -U_FORTIFY_SOURCE
without 'fixed address (PIE)' -fno-pie -no-pie
without 'RELRO, BIND_NOW' -Wl,-z,lazy
without 'RELRO, BIND_NOW' -Wl,-z,norelro
without 'executable stack' -Wl,-z,execstack
without 'executable headers' -Wl,-z,noseparate-code
without 'looks for libraries in /tmp' -Wl,-rpath,/tmp
echo '__asm__(".section .mixed, \"awx\", %progbits; .zero 9; .text");' >"$work/mixed.c"
without 'both writable and executable' "$work/mixed.c"

# without_object WORDS FLAGS...: an object file, and an archive of two, without one protection.
without_object() {
    words=$1
    shift
    "$compiler" $compile -c "$work/old.c" -o "$work/lacks.o" "$@"
    refused "$words" "$work/lacks.o"
    rm -f "$work/lacks.a"
    ar rc "$work/lacks.a" "$work/old.o" "$work/lacks.o"
}
"$compiler" $compile -c "$work/old.c" -o "$work/old.o"
python3 packaging/check.py "$work/old.o"
without_object 'no stack protector' -fno-stack-protector
without_object 'no FORTIFY_SOURCE' -U_FORTIFY_SOURCE
case $("$compiler" -dumpmachine) in
x86_64*)
    without_object 'compiled for' -fcf-protection=none
    refused 'lacks.o is not compiled for' "$work/lacks.a"
    without_object 'frame that is not probed' -fno-stack-clash-protection
    refused 'frame that is not probed: fill' "$work/lacks.a"
    link=$(echo "$link" | sed 's/-Wl,-z,shstk//')
    without 'shadow stack'
    echo '__asm__(".quad main");' >"$work/moved.c"
    link="$hard_link -pie -lm"
    without 'TEXTREL' -Wl,-z,notext "$work/moved.c"
    ;;
aarch64*)
    without_object 'compiled for' -mbranch-protection=none
    refused 'lacks.o is not compiled for' "$work/lacks.a"
    ;;
esac

# Functions that are missing from an old library cannot be linked.
echo 'int close_range(unsigned, unsigned, int); int main(void) { return close_range(9, 9, 0); }' >"$work/new.c"
"$compiler" "$work/new.c" -o "$work/new"
if "$compiler" "$work/new.c" -o "$work/new" -L"$work/floor" 2>"$work/faults"; then exit 1; fi
grep -q close_range "$work/faults"

# The same tree must always be packed into the same bytes.
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
