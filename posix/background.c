/* Priorities apply to the whole process, or there is only one thread. */
#include "viz/core/background.h"

void mv_background_begin(void)
{
}
