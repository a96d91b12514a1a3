/* ThreadSanitizer observes only the shim's calls to libc. It would therefore report memory that is
 * passed between threads inside the shim as a race in the program. Suppressions in the program
 * itself take precedence. */
const char *__tsan_default_suppressions(void);

__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void)
{
    return "called_from_lib:libmemviz_capture.so\n";
}
