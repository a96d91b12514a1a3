/* The interposed dlsym answers as the real one does. Each program runs with it (on its own, and in
 * the library that ships) and without it, and must print the same. */
#include "tests/fixture/fixture_program.h"

static void expect_same(const char *program, const char *arguments)
{
    static const char *const preloads[] = {MV_HOOKED "/libhooks_alone.so", MV_CAPTURE};
    mvt_run plain = mvt_sh("LD_LIBRARY_PATH=" MV_HOOKED " " MV_HOOKED "/%s %s", program, arguments);

    cr_assert_eq(plain.status, 0, "%s%s", plain.out, plain.err);
    for (size_t i = 0; i < 2; i++) {
        mvt_run run = mvt_sh("LD_LIBRARY_PATH=" MV_HOOKED " LD_PRELOAD=%s " MV_HOOKED "/%s %s",
                             preloads[i], program, arguments);
        cr_assert_eq(run.status, 0, "%s: %d: %s%s", preloads[i], run.status, run.out, run.err);
        cr_assert_str_eq(run.out, plain.out);
        cr_assert_str_eq(run.err, plain.err);
    }
}

/* Looks up names that exist and names that do not with RTLD_NEXT, from the program itself, again
 * and again, and prints the texts of dlerror. There is no CUDA here, so every CUDA name must be
 * missing, even where our own function is found. */
Test(dlsym, answers_are_unchanged_without_cuda)
{
    expect_same("hooked", "lookups");
    expect_same("hooked_orphan", "lookups");
}

Test(dlsym, answers_are_unchanged_with_cuda)
{
    expect_same("hooked_linked", "lookups");
}

Test(dlsym, the_message_of_dlerror_survives_our_hooks)
{
    expect_same("hooked", "dlerror " MV_HOOKED "/plugin12.so");
}

Test(dlsym, eight_threads_look_up_at_once)
{
    expect_same("hooked", "threads");
}

Test(dlsym, other_tools_get_the_next_function)
{
    mvt_run plain = mvt_sh("LD_PRELOAD=" MV_HOOKED "/other_hook.so LD_LIBRARY_PATH=" MV_HOOKED
                           " " MV_HOOKED "/hooked local " MV_HOOKED "/plugin13.so");
    mvt_run run = mvt_sh("LD_PRELOAD='" MV_HOOKED "/other_hook.so " MV_HOOKED "/libhooks_alone.so' "
                         "LD_LIBRARY_PATH=" MV_HOOKED " " MV_HOOKED "/hooked local " MV_HOOKED
                         "/plugin13.so");

    cr_assert_str_eq(plain.out, "(nil)\n0\n", "nothing is in the scope of RTLD_NEXT");
    cr_assert_str_eq(run.out, plain.out);
}

/* A sanitizer defines functions of libc and looks up the real ones as it starts, so finding the
 * real dlsym must not need any of these functions. The sanitizer is first loaded after the shim,
 * then before it, as its runtime requires. If the runtime does not start on this kernel, or is not
 * installed, the test is skipped. */
static void expect_sanitized(const char *sanitizer)
{
    static const char *const preloads[] = {MV_CAPTURE, "$RUNTIME:" MV_CAPTURE};
    mvt_run plain =
        mvt_sh("LD_LIBRARY_PATH=" MV_HOOKED " " MV_HOOKED "/hooked_%s every dlsym", sanitizer);

    for (size_t i = 0; i < 2 && plain.status == 0; i++) {
        mvt_run run =
            mvt_sh("program=" MV_HOOKED "/hooked_%s; export LD_LIBRARY_PATH=" MV_HOOKED "; "
                   "RUNTIME=$(ldd $program | sed -n 's/.*=> \\(.*san.so[^ ]*\\) .*/\\1/p'); "
                   "env MEMVIZ_OUT=$PWD/out ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=%s "
                   "$program every dlsym && unset LD_LIBRARY_PATH && $MEMVIZ info out.*.live",
                   sanitizer, preloads[i]);
        cr_assert_eq(run.status, 0, "%s, %s: %d: %s%s", sanitizer, preloads[i], run.status, run.out,
                     run.err);
        cr_assert_eq(strncmp(run.out, plain.out, strlen(plain.out)), 0, "%s", run.out);
        cr_assert_str_eq(run.err, plain.err);
    }
}

LongTest(dlsym, sanitizers_find_their_symbols)
{
    expect_sanitized("address");
    expect_sanitized("thread");
}

/* glibc finds the caller from the return address, so a forwarded look-up must be a jump. */
Test(dlsym, forwarding_is_a_jump)
{
    mvt_run run = mvt_sh("for name in dlsym dlvsym; do objdump -d --no-show-raw-insn " MV_CAPTURE
                         " | sed -n \"/<$name>:/,/^$/p\" >$name; done; "
                         "cat dlsym dlvsym; grep -c 'jmp  *\\*%%r11' dlsym dlvsym; "
                         "grep -c 'call.*\\*' dlsym dlvsym");

#if defined(__x86_64__)
    cr_assert_not_null(strstr(run.out, "dlsym:1\ndlvsym:1\ndlsym:0\ndlvsym:0\n"), "%s", run.out);
#endif
    cr_assert_not_null(strstr(run.out, "<dlsym>:"), "%s%s", run.out, run.err);
}
