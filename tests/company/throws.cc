// Exceptions that pass through a call of CUDA, and out of destructors' ways.
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>

extern "C" {
int cudaMalloc(void **out, size_t size);
int cudaMallocManaged(void **out, size_t size, unsigned flags);
extern void (*small_cuda_calls)(void);
}

static int destroyed;

struct watched {
    ~watched()
    {
        void *memory;
        cudaMalloc(&memory, 100);
        destroyed++;
    }
};

static void fail()
{
    throw std::runtime_error("from a callback");
}

static void call()
{
    watched w;
    void *memory;
    cudaMallocManaged(&memory, 512, 1);
}

int main()
{
    int caught = 0;

    for (int i = 0; i < 50; i++) {
        small_cuda_calls = fail;
        try {
            call();
        } catch (const std::exception &e) {
            caught += std::string(e.what()) == "from a callback";
        }
        small_cuda_calls = nullptr;
        call();
    }
    std::printf("caught %d, destroyed %d\n", caught, destroyed);
    return 0;
}
