"""RMM's blocks as a heap: memviz run -- python train.py, then --level rmm.

rmm.mr.set_current_device_resource(registered(rmm.mr.get_current_device_resource()))"""

import memviz
import rmm


def registered(resource):
    """A resource that takes its memory from `resource` and registers its blocks with memviz."""
    heap = memviz.heap("rmm")
    if not heap.is_recorded:  # not under memviz run
        return resource

    def allocate(size, *stream):  # older releases pass no stream
        address = resource.allocate(size, *stream)
        heap.alloc(int(address), size)
        return address

    def deallocate(address, size, *stream):
        heap.free(int(address))
        resource.deallocate(address, size, *stream)

    return rmm.mr.CallbackMemoryResource(allocate, deallocate)
