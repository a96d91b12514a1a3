/* ThreadSanitizer sees what the shim does only where it calls libc, and would take the shim's own
 * hand-over of memory between threads for a race of the program. A program's own suppressions come
 * first. */
const char *__tsan_default_suppressions(void);

__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void)
{
    return "called_from_lib:libmemviz_capture.so\n";
}
