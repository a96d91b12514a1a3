/* Priorities belong to the whole process, or there is but one thread. */
#include "viz/core/background.h"

void mv_background_begin(void)
{
}
