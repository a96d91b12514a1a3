/* A program with another C library and without CUDA. */
#include <stdio.h>

int main(void)
{
    puts("no calls");
    return 0;
}
