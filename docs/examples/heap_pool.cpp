// A pool of a C++ program as a heap: memviz run -- ./program, then --level pool.
//
//     c++ -g heap_pool.cpp            or nvcc -g -x cu heap_pool.cpp, with memory of the device
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "memviz.h"

#ifdef __CUDACC__
static void *slab(std::size_t bytes)
{
    void *memory = nullptr;
    return cudaMalloc(&memory, bytes) == cudaSuccess ? memory : nullptr;
}
#else
static void *slab(std::size_t bytes)
{
    return std::malloc(bytes);
}
#endif

// Blocks of one size from one slab, with its own free list.
class Pool {
  public:
    Pool(const char *name, std::size_t block_bytes, std::size_t blocks)
        : bytes(block_bytes), heap(memviz_heap(name))
    {
        char *memory = static_cast<char *>(slab(bytes * blocks));
        for (std::size_t i = blocks; memory && i-- > 0;)
            unused.push_back(memory + i * bytes);
    }

    void *take()
    {
        if (unused.empty())
            return nullptr;
        void *block = unused.back();
        unused.pop_back();
        memviz_alloc(heap, block, bytes); // after the block was taken
        return block;
    }

    void give(void *block)
    {
        memviz_free(heap, block); // before it may be taken again
        unused.push_back(block);
    }

    std::size_t free_blocks() const
    {
        return unused.size();
    }

  private:
    std::size_t bytes;
    unsigned heap;
    std::vector<void *> unused;
};

static void *keep_block(Pool &pool)
{
    return pool.take();
}

int main()
{
    Pool pool("pool", 1 << 20, 64);
    std::vector<void *> kept;

    for (int step = 0; step < 12; step++) {
        void *work[] = {pool.take(), pool.take()};
        kept.push_back(keep_block(pool)); // a leak
        for (void *block : work)
            pool.give(block);
    }
    std::printf("%zu blocks are out, %zu are unused\n", kept.size(), pool.free_blocks());
}
