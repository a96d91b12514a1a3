/* Since 2.34 the C library calls a program's constructors itself; before, the program's start code
 * passed a function that did. The current start code passes no such function, so this one is passed
 * to the old entry point, which still exists in newer C libraries and calls the function if it is
 * given one. */
typedef int program_main(int, char **, char **);
typedef void constructor(int, char **, char **);

int old_start(program_main *, int, char **, constructor *, void (*)(void), void (*)(void), void *);
#ifdef __x86_64__
__asm__(".symver old_start, __libc_start_main@GLIBC_2.2.5");
#else
__asm__(".symver old_start, __libc_start_main@GLIBC_2.17");
#endif

extern constructor *__init_array_start[], *__init_array_end[];
void _init(void);

static void construct(int argc, char **argv, char **environment)
{
    _init();
    for (constructor **at = __init_array_start; at < __init_array_end; at++)
        (*at)(argc, argv, environment);
}

int __libc_start_main(program_main *, int, char **, constructor *, void (*)(void), void (*)(void),
                      void *);
int __libc_start_main(program_main *program, int argc, char **argv, constructor *init,
                      void (*fini)(void), void (*loader_fini)(void), void *stack)
{
    return old_start(program, argc, argv, init ? init : construct, fini, loader_fini, stack);
}
