/* What every fuzz target includes: its entry point, and mvt_one_input, mvt_with_trace and mvt_finding. */
#pragma once

#include "tests/fixture/soundness.h"

/* Called with each input, by libFuzzer or by replay_corpus.c. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
