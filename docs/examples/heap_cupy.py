"""CuPy's blocks as a heap: memviz run -- python train.py, then --level cupy."""

import ctypes
from functools import partial

import cupy


class Memviz(cupy.cuda.MemoryHook):
    """with Memviz(): ... on each thread that uses CuPy."""

    name = "memviz"

    def __init__(self):
        lib = ctypes.PyDLL(None)
        if not hasattr(lib, "memviz_heap"):  # not under memviz run
            self.alloc = self.free = lambda *_: None
            return
        heap = lib.memviz_heap(b"cupy")
        lib.memviz_alloc.argtypes = (ctypes.c_uint, ctypes.c_void_p, ctypes.c_size_t)
        lib.memviz_free.argtypes = (ctypes.c_uint, ctypes.c_void_p)
        self.alloc, self.free = partial(lib.memviz_alloc, heap), partial(lib.memviz_free, heap)

    def malloc_postprocess(self, device_id, size, mem_size, mem_ptr, pmem_id):
        self.alloc(mem_ptr, mem_size)

    def free_preprocess(self, device_id, mem_size, mem_ptr, pmem_id):
        self.free(mem_ptr)
