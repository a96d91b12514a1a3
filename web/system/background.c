/* A page has one thread for its work, and the browser another one for input. */
#include "viz/core/background.h"

void mv_background_begin(void)
{
}
