/* ThreadSanitizer sees only the shim's calls to libc, and would report the shim's own transfer of
 * memory between threads as a race of the program. A program's own suppressions come first. */
const char *__tsan_default_suppressions(void);

__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void)
{
    return "called_from_lib:libmemviz_capture.so\n";
}
