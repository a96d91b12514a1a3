"""RMM's blocks as a heap: memviz run -- python train.py, then --level rmm.

rmm.mr.set_current_device_resource(memviz(rmm.mr.get_current_device_resource()))"""

import ctypes
from functools import partial

import rmm


def memviz(resource):
    """A resource that takes its memory from `resource` and tells memviz."""
    lib = ctypes.PyDLL(None)
    if not hasattr(lib, "memviz_heap"):  # not under memviz run
        return resource
    heap = lib.memviz_heap(b"rmm")
    lib.memviz_alloc.argtypes = (ctypes.c_uint, ctypes.c_void_p, ctypes.c_size_t)
    lib.memviz_free.argtypes = (ctypes.c_uint, ctypes.c_void_p)
    tell_alloc, tell_free = partial(lib.memviz_alloc, heap), partial(lib.memviz_free, heap)

    def allocate(size, *stream):  # older releases pass no stream
        address = resource.allocate(size, *stream)
        tell_alloc(int(address), size)
        return address

    def deallocate(address, size, *stream):
        tell_free(int(address))
        resource.deallocate(address, size, *stream)

    return rmm.mr.CallbackMemoryResource(allocate, deallocate)
