"""Numba's blocks as a heap: memviz run -- python train.py, then --level numba.

cuda.set_memory_manager(Memviz) before Numba uses the device."""

import ctypes
import weakref
from functools import partial

from numba.cuda.cudadrv.driver import NumbaCUDAMemoryManager  # or the plug-in that you use


class Memviz(NumbaCUDAMemoryManager):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        lib = ctypes.PyDLL(None)
        if not hasattr(lib, "memviz_heap"):  # not under memviz run
            self.tell_alloc = self.tell_free = lambda *_: None
            return
        heap = lib.memviz_heap(b"numba")
        lib.memviz_alloc.argtypes = (ctypes.c_uint, ctypes.c_void_p, ctypes.c_size_t)
        lib.memviz_free.argtypes = (ctypes.c_uint, ctypes.c_void_p)
        self.tell_alloc = partial(lib.memviz_alloc, heap)
        self.tell_free = partial(lib.memviz_free, heap)

    def memalloc(self, size):
        memory = super().memalloc(size)
        address = memory.device_pointer_value
        self.tell_alloc(address, size)
        weakref.finalize(memory.owner, self.tell_free, address)
        return memory
