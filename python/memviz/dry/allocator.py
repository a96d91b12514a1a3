"""PyTorch's caching allocator, as arithmetic: which segments a program would have reserved.

The rules are those of c10/cuda/CUDACachingAllocator.cpp with default settings: sizes are rounded to 512
bytes; up to 1 MiB comes from 2 MiB segments, less than 10 MiB from 20 MiB segments, more from a segment of
its own, rounded to 2 MiB; the smallest free block of the stream that is large enough is taken, and split if
the rest is worth it; free neighbours merge."""

import bisect
import time
from typing import Any, Dict, List, Optional, Tuple

ROUND, SMALL, SMALL_SEGMENT = 512, 1 << 20, 2 << 20
LARGE, LARGE_SEGMENT, ROUND_LARGE = 10 << 20, 20 << 20, 2 << 20
FIRST_ADDRESS = 0x7F0000000000

Stack = List[Dict[str, Any]]
Key = Tuple[bool, int]  # small?, stream


class Block:
    __slots__ = ("address", "size", "requested", "key", "before", "after", "is_free", "stack", "segment")

    def __init__(self, address: int, size: int, key: Key) -> None:
        self.address, self.size, self.key = address, size, key
        self.requested = 0
        self.before: Optional[Block] = None
        self.after: Optional[Block] = None
        self.is_free = True
        self.stack: Stack = []
        self.segment: Stack = []  # where it was reserved


class OutOfMemory(Exception):
    """The limit does not allow the segment."""


class Allocator:
    """One device. `limit` is what may be reserved; without it nothing ever fails."""

    def __init__(self, device: int = 0, limit: Optional[int] = None, records: bool = True) -> None:
        self.device, self.limit, self.records = device, limit, records
        self.free_blocks: Dict[Key, List[Tuple[int, int, Block]]] = {}
        self.first: List[Block] = []  # of each segment
        self.events: List[Dict[str, Any]] = []
        self.next_address = FIRST_ADDRESS + (device << 42)
        self.allocated = self.reserved = self.peak_allocated = self.peak_reserved = 0

    def note(self, action: str, address: int, size: int, stream: int, stack: Optional[Stack]) -> None:
        if self.records:
            event = {"action": action, "addr": address, "size": size, "stream": stream,
                     "time_us": time.time_ns() // 1000, "compile_context": "N/A", "user_metadata": ""}
            if stack is not None:
                event["frames"] = stack
            self.events.append(event)

    def take(self, key: Key, size: int) -> Optional[Block]:
        blocks = self.free_blocks.setdefault(key, [])
        at = bisect.bisect_left(blocks, (size, 0))
        return blocks.pop(at)[2] if at < len(blocks) else None

    def put(self, block: Block) -> None:
        bisect.insort(self.free_blocks.setdefault(block.key, []), (block.size, block.address, block))

    def drop(self, block: Block) -> None:
        blocks = self.free_blocks[block.key]
        del blocks[bisect.bisect_left(blocks, (block.size, block.address))]

    def reserve(self, key: Key, size: int, stack: Stack) -> Block:
        total = SMALL_SEGMENT if size <= SMALL else LARGE_SEGMENT if size < LARGE else -(-size // ROUND_LARGE) * ROUND_LARGE
        if self.limit is not None and self.reserved + total > self.limit:
            self.release()
            if self.reserved + total > self.limit:
                raise OutOfMemory(total)
        block = Block(self.next_address, total, key)
        block.segment = stack
        self.next_address += -(-total // ROUND_LARGE) * ROUND_LARGE
        self.first.append(block)
        self.reserved += total
        self.peak_reserved = max(self.peak_reserved, self.reserved)
        self.note("segment_alloc", block.address, total, key[1], stack)
        return block

    def alloc(self, requested: int, stream: int, stack: Stack) -> Optional[Block]:
        """None for no bytes, as PyTorch's: that is a null pointer and no event."""
        if not requested:
            return None
        size = -(-requested // ROUND) * ROUND
        key = (size <= SMALL, stream)
        block = self.take(key, size) or self.reserve(key, size, stack)
        rest = block.size - size
        if rest >= ROUND if key[0] else rest > SMALL:
            tail = Block(block.address + size, rest, key)
            tail.before, tail.after, block.after = block, block.after, tail
            if tail.after:
                tail.after.before = tail
            block.size = size
            self.put(tail)
        block.is_free, block.requested, block.stack = False, requested, stack
        self.allocated += block.size
        self.peak_allocated = max(self.peak_allocated, self.allocated)
        self.note("alloc", block.address, requested, stream, stack)
        return block

    def free(self, block: Block) -> None:
        stream = block.key[1]
        self.allocated -= block.size
        self.note("free_requested", block.address, block.requested, stream, None)
        self.note("free_completed", block.address, block.requested, stream, None)
        block.is_free, block.stack = True, []
        before, after = block.before, block.after
        if before and before.is_free:
            self.drop(before)
            before.size += block.size
            before.after = after
            if after:
                after.before = before
            block = before
        if after and after.is_free:
            self.drop(after)
            block.size += after.size
            block.after = after.after
            if block.after:
                block.after.before = block
        self.put(block)

    def release(self) -> None:
        """empty_cache(): segments without a live block go back, large ones first."""
        for key in sorted(self.free_blocks):
            for _, _, block in list(self.free_blocks[key]):
                if not block.before and not block.after:
                    self.drop(block)
                    self.first.remove(block)
                    self.reserved -= block.size
                    self.note("segment_free", block.address, block.size, key[1], None)

    def segments(self) -> List[Dict[str, Any]]:
        """As torch.cuda.memory_snapshot() has them."""
        found = []
        for first in sorted(self.first, key=lambda block: block.address):
            blocks: List[Dict[str, Any]] = []
            block: Optional[Block] = first
            while block:
                blocks.append({"address": block.address, "size": block.size, "requested_size": block.requested,
                               "state": "inactive" if block.is_free else "active_allocated", "frames": block.stack})
                block = block.after
            active = [b for b in blocks if b["state"] != "inactive"]
            held = sum(b["size"] for b in active)
            found.append({"device": self.device, "address": first.address, "total_size": sum(b["size"] for b in blocks),
                          "allocated_size": held, "active_size": held,
                          "requested_size": sum(b["requested_size"] for b in active), "stream": first.key[1],
                          "segment_type": "small" if first.key[0] else "large", "segment_pool_id": (0, 0),
                          "is_expandable": False, "frames": first.segment, "blocks": blocks})
        return found


def fits(events: List[Dict[str, Any]], limit: int) -> bool:
    """Whether what was recorded succeeds when no more than `limit` bytes may be reserved: PyTorch gives its
    cache back before it fails, so a higher reserved peak alone decides nothing."""
    allocator, live = Allocator(limit=limit, records=False), {}
    try:
        for event in events:
            if event["action"] == "alloc":
                live[event["addr"]] = allocator.alloc(event["size"], event["stream"], [])
            elif event["action"] == "free_completed":
                block = live.pop(event["addr"])
                assert block
                allocator.free(block)
    except OutOfMemory:
        return False
    return True
