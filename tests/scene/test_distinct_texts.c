/* Names that are truncated must still differ. */
#include "tests/fixture/fixture_scene.h"
#include "viz/scene/distinct_texts.h"

enum { MOST = 8 };

static const char **fit_width(const char *const *names, uint32_t count, float width)
{
    static const char *out[MOST];
    mv_scene *scene = mv_push_struct(mvt_memory(), mv_scene);

    mv_scene_init(scene, mvt_memory(), 100, 100, 0xffffffff);
    memcpy(out, names, count * sizeof *out);
    mv_names_fit(scene, out, count, 11, width);
    return out;
}

static const char **fit(const char *const *names, uint32_t count, const char *as_wide_as)
{
    return fit_width(names, count, mv_text_width(as_wide_as, 11) + 0.5f);
}

Test(names, shared_words_are_cut)
{
    static const char *const all[] = {"/run7/gpt_rank0_2026-03-05.pickle",
                                      "/run7/gpt_rank1_2026-03-05.pickle",
                                      "/run7/gpt_rank12_2026-03-05.pickle"};
    const char **got = fit(all, 3, "\xe2\x80\xa6rank12_2026\xe2\x80\xa6");

    cr_expect_str_eq(got[0], "\xe2\x80\xa6rank0_2026-\xe2\x80\xa6");
    cr_expect_str_eq(got[2], "\xe2\x80\xa6rank12_2026\xe2\x80\xa6");
    got = fit(all, 3, "\xe2\x80\xa6gpt_rank12_2026-03-05.pickle");
    cr_expect_str_eq(got[2], "\xe2\x80\xa6gpt_rank12_2026-03-05.pickle");
    cr_expect_str_eq(fit(all, 3, all[2])[0], all[0], "what fits is whole");
    cr_expect_str_eq(fit(all, 1, "\xe2\x80\xa6-05.pickle")[0], "\xe2\x80\xa6-05.pickle");
}

Test(names, words_of_other_names_are_cut)
{
    static const char *const all[] = {"medium_1024_training_memory_snapshot__8a1f.pickle",
                                      "medium_128_training_memory_snapshot__77da.pickle",
                                      "large_1024_inference_memory_snapshot__61dc.pickle"};
    const char **got = fit(all, 3,
                           "\xe2\x80\xa6"
                           "128_training\xe2\x80\xa6");

    cr_expect(strstr(got[0], "8a1f"), "%s", got[0]);
    cr_expect_str_eq(got[1], "\xe2\x80\xa6"
                             "128\xe2\x80\xa6"
                             "77da\xe2\x80\xa6");
    cr_expect_str_eq(got[2], "large\xe2\x80\xa6"
                             "61dc\xe2\x80\xa6");
}

Test(names, the_middle_of_a_long_rest_is_cut)
{
    static const char *const all[] = {"llama_run_of_tuesday_night_a",
                                      "llama_run_of_tuesday_night_b",
                                      "mixtral_run_of_tuesday_night_a"};
    const char **got = fit(all, 3, "llama_\xe2\x80\xa6ight_a");

    cr_expect_str_neq(got[0], got[1]);
    cr_expect_str_neq(got[0], got[2]);
    cr_expect(strncmp(got[0], "lla", 3) == 0 && got[0][strlen(got[0]) - 1] == 'a', "%s", got[0]);
}

/* They must differ at every width that shows anything, wherever the names differ. */
Test(names, cut_names_differ)
{
    static const char *const sets[][4] = {
        {"a/x_1.pickle#0", "a/x_1.pickle#1", "a/x_2.pickle#0", "a/x_2.pickle#1"},
        {"rank0_of_a_long_run.pickle", "rank1_of_a_long_run.pickle", "rank10_of_a_long_run.pickle",
         "rank11_of_a_long_run.pickle"},
        {"x_1", "x_1_x_1_and_so_on_x_1", "x_1_x_1_x_1_and_so_on_x_1", "y_x_1_x_1_x_1"},
        {"run1_step_a_end", "run1_step_b_end", "run2_step_a_end", "run2_step_b_end"},
        {"\xc3\xa9t\xc3\xa9_0_\xc3\xa9", "\xc3\xa9t\xc3\xa9_1_\xc3\xa9", "0", "1"}};

    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        for (float width = 40; width < 250; width += 3) {
            const char **out = fit_width(sets[i], 4, width);
            for (int a = 0; a < 4; a++) {
                cr_expect_leq(mv_text_width(out[a], 11), width, "%s", out[a]);
                for (int b = 0; b < a; b++)
                    cr_expect(strcmp(out[a], out[b]) != 0, "%zu at %g: %s", i, (double)width,
                              out[a]);
            }
        }
}
