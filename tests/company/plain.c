/* A program that uses another C library and no CUDA. */
#include <stdio.h>

int main(void)
{
    puts("no calls");
    return 0;
}
