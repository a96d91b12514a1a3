"""Numba's blocks as a heap: memviz run -- python train.py, then --level numba.

cuda.set_memory_manager(Memviz) before Numba uses the device."""

import weakref

import memviz
from numba.cuda.cudadrv.driver import NumbaCUDAMemoryManager  # or the plug-in that you use


class Memviz(NumbaCUDAMemoryManager):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.heap = memviz.heap("numba")

    def memalloc(self, size):
        memory = super().memalloc(size)
        address = memory.device_pointer_value
        self.heap.alloc(address, size)
        weakref.finalize(memory.owner, self.heap.free, address)
        return memory
