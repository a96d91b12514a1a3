"""CuPy's blocks as a heap: memviz run -- python train.py, then --level cupy."""

import cupy
import memviz


class Memviz(cupy.cuda.MemoryHook):
    """with Memviz(): ... on each thread that uses CuPy."""

    name = "memviz"

    def __init__(self):
        self.heap = memviz.heap("cupy")

    def malloc_postprocess(self, device_id, size, mem_size, mem_ptr, pmem_id):
        self.heap.alloc(mem_ptr, mem_size)

    def free_preprocess(self, device_id, mem_size, mem_ptr, pmem_id):
        self.heap.free(mem_ptr)
