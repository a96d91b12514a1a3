"""Simulates PyTorch's caching allocator. Computes the segments that a program would reserve, following the rules in
c10/cuda/CUDACachingAllocator.cpp (docs/dry-run.md)."""

import bisect, math, random, re, time
from typing import Any, Dict, List, Optional, Tuple

ROUND, SMALL, SMALL_SEGMENT, LARGE, ROUND_LARGE = 512, 1 << 20, 2 << 20, 10 << 20, 2 << 20
LAST_ADDRESS, SLOT = 0x7F0000000000, 32 << 20  # end of the driver's address space, and size of its slots
SPACE = 13107 * (20 << 20)  # address space of an expandable segment, 256 GiB, which as in PyTorch is more than the GPU's memory
TRIES = 8  # number of simulations with random addresses
FREE, USED, UNMAPPED = "inactive", "active_allocated", "unmapped"
IGNORED = re.compile("pin|graph_capture|garbage_collection_threshold|release_lock_on|throw_on|backend$")  # effective only with a memory limit
Stack = List[Dict[str, Any]]
Key = Tuple[bool, int]  # is small, stream

def up(n: int, to: int) -> int:
    return -(-n // to) * to

class Settings:
    """PYTORCH_CUDA_ALLOC_CONF, parsed as in CUDAAllocatorConfig.cpp and AcceleratorAllocatorConfig.h."""
    def __init__(self, text: str = "") -> None:
        self.text, self.divisions = text, [0] * 16  # divisions for sizes of at least 1 MiB, 2 MiB, 4 MiB ...
        found: Dict[str, str] = dict(re.findall(r"(\w+):(\[[^]]*\]|[^,]*)", re.sub(r"\s", "", text)))
        self.large = int(found.pop("large_segment_size_mb", "20")) << 20
        self.slack = int(found.pop("max_non_split_rounding_mb", str(self.large >> 20))) << 20
        self.expandable = found.pop("expandable_segments", "False").lower() == "true"
        self.split_limit = int(found.pop("max_split_size_mb", "0")) << 20 or math.inf
        divisions, at = found.pop("roundup_power2_divisions", ""), 0
        if divisions and divisions[0] != "[":
            self.divisions = [int(divisions)] * 16
        for n, (size, value) in enumerate(re.findall(r"(\d+|>):(\d+)", divisions)):
            at = at if size == ">" else min(15, int(size).bit_length() - 1)
            start, end = 0 if n == 0 else at, 16 if size == ">" else at + 1
            self.divisions[start:end] = [int(value)] * (end - start)
        self.unknown = [f"{key}:{value}" for key, value in found.items()
                        if not IGNORED.match(key) or key == "backend" and value != "native"]
    def rounded(self, size: int) -> int:  # round_size()
        parts = self.divisions[min(15, max(0, size.bit_length() - 21))]
        return up(size, max(1, (1 << (size.bit_length() - 1)) // parts) if parts > 1 and size > ROUND * parts else ROUND)
    def snapshot(self) -> Dict[str, Any]:  # in the form of torch.cuda.memory._snapshot()
        return {"PYTORCH_CUDA_ALLOC_CONF": self.text, "garbage_collection_threshold": 0.0, "expandable_segments": self.expandable,
                "max_split_size": -1 if self.split_limit == math.inf else self.split_limit,
                "roundup_power2_divisions": {str(1 << n): value for n, value in enumerate(self.divisions)}}

class Block:
    """`segment` is the stack that reserved the block; `origin` is the first address of its expandable segment, or 0."""
    __slots__ = ("address", "size", "requested", "key", "before", "after", "state", "stack", "segment", "origin")
    def __init__(self, address: int, size: int, key: Key, segment: Stack, origin: int, state: str = FREE) -> None:
        self.address, self.size, self.key, self.state, self.requested = address, size, key, state, 0
        self.segment, self.origin, self.stack = segment, origin, []  # type: Stack, int, Stack
        self.before = self.after = None  # type: Optional[Block]
    def reach(self) -> int:  # size to which the block could grow
        return self.size + (self.after.size if self.after and self.after.state == UNMAPPED else 0)
    def room(self, size: int) -> bool:  # whether the block and the free and unmapped blocks after it have `size` bytes
        block: Optional[Block] = self
        while block and block.state != USED and size > 0:
            size, block = size - block.size, block.after
        return size <= 0

class OutOfMemory(Exception):
    """Raised if a segment would exceed the limit."""
class Allocator:
    """The allocator of one device. `limit` is the largest number of bytes that may be reserved; without a limit,
    nothing fails."""
    def __init__(self, device: int = 0, limit: Optional[int] = None, records: bool = True, settings: Optional[Settings] = None,
                 seed: Optional[int] = None) -> None:
        self.chance = None if seed is None else random.Random(seed)
        self.device, self.limit, self.records, self.settings = device, limit, records, settings or Settings()
        self.lists: Dict[Tuple[Key, str], List[Tuple[int, int, Block]]] = {}  # free blocks by size, unmapped ones by address
        self.first: List[Block] = []  # first block of each segment
        self.events: List[Dict[str, Any]] = []
        self.lowest = LAST_ADDRESS + (device << 44)
        self.rests: List[Tuple[int, int]] = []  # addresses and sizes of free parts of slots
        self.allocated = self.reserved = self.peak_allocated = self.peak_reserved = 0
        self.late: Dict[int, float] = {}  # for each event that frees a block: the event at which the block becomes free if the GPU is slow
        self.pending: List[int] = []  # events whose blocks the GPU may still use
    def note(self, action: str, address: int, size: int, stream: int, stack: Optional[Stack]) -> None:
        if action not in ("alloc", "free_requested", "free_completed"):
            self.reserved += size if action in ("segment_alloc", "segment_map") else -size
            self.peak_reserved = max(self.peak_reserved, self.reserved)
        if self.records:
            self.events.append({"action": action, "addr": address, "size": size, "stream": stream, "compile_context": "N/A",
                                "time_us": time.time_ns() // 1000, "user_metadata": "",
                                **({} if stack is None else {"frames": stack})})
    def put(self, block: Block) -> None:
        by = block.size if block.state == FREE else 0
        bisect.insort(self.lists.setdefault((block.key, block.state), []), (by, block.address, block))
    def drop(self, block: Block) -> None:
        blocks = self.lists[block.key, block.state]
        del blocks[bisect.bisect_left(blocks, (block.size if block.state == FREE else 0, block.address))]
    def split(self, block: Block, size: int) -> None:  # cuts a block to `size`; the remainder, if any, becomes another block
        if size < block.size:
            tail = Block(block.address + size, block.size - size, block.key, block.segment, block.origin, block.state)
            tail.before, tail.after, block.after, block.size = block, block.after, tail, size
            if tail.after:
                tail.after.before = tail
            self.put(tail)
    def settle(self, block: Block) -> Block:  # merges a block with neighbours in the same state, and puts it into its list
        for other in (block.before, block.after):
            if other and other.state == block.state:
                self.drop(other)
                low, high = (other, block) if other.address < block.address else (block, other)
                low.size, low.after, block = low.size + high.size, high.after, low
                if low.after:
                    low.after.before = low
        self.put(block)
        return block
    def take(self, key: Key, size: int) -> Optional[Block]:  # get_free_block()
        blocks, limit = self.lists.setdefault((key, FREE), []), self.settings.split_limit
        at = bisect.bisect_left(blocks, (size, 0))
        while at + 1 < len(blocks) and blocks[at][2].origin and blocks[at + 1][2].reach() < blocks[at][2].reach():
            at += 1
        if at == len(blocks) or size < limit <= blocks[at][0] or size >= limit and blocks[at][0] - size >= self.settings.slack:
            return None
        return blocks.pop(at)[2]
    def allows(self, more: int) -> bool:
        return self.limit is None or self.reserved + more <= self.limit
    def reserve(self, key: Key, size: int, stack: Stack) -> Block:
        total = SMALL_SEGMENT if size <= SMALL else self.settings.large if size < LARGE else up(size, ROUND_LARGE)
        if not self.allows(total):
            self.release()
        if not self.allows(total):
            raise OutOfMemory(total)
        return self.segment(key, total, stack, FREE)
    def address(self, size: int) -> int:
        """Chooses an address as the driver does: cudaMalloc() takes the lowest free part of a slot that is large
        enough, or else a new slot below all other slots. Recordings on an H200 show this rule once the free memory of
        the context has been used."""
        if self.chance:
            self.lowest += 1
            return self.chance.randrange(1 << 25) << 48 | self.lowest
        rest = next((rest for rest in self.rests if rest[1] >= size), None)
        if rest:
            self.rests.remove(rest)
        else:
            self.lowest -= up(size, SLOT)
            rest = self.lowest, up(size, SLOT)
        if rest[1] > size:
            bisect.insort(self.rests, (rest[0] + size, rest[1] - size))
        return rest[0]
    def segment(self, key: Key, size: int, stack: Stack, state: str) -> Block:
        address = self.address(up(size, ROUND_LARGE))
        block = Block(address, size, key, stack, address if state == UNMAPPED else 0, state)
        self.first.append(block)
        if state == FREE:
            self.note("segment_alloc", block.address, size, key[1], stack)
        return block
    # Expandable segments: try_allocate_expandable_block(), find_expandable_block(), map_block()
    def page(self, key: Key) -> int:
        return SMALL_SEGMENT if key[0] else self.settings.large
    def place(self, key: Key, size: int, stack: Stack) -> Block:
        for _, _, space in self.lists.setdefault((key, UNMAPPED), []):
            start = space.before if space.before and space.before.state == FREE else space
            if start.room(size):
                return start
        block = self.segment(key, SPACE, stack, UNMAPPED)
        self.put(block)
        return block
    def expand(self, key: Key, size: int, stack: Stack) -> Block:
        for again in (True, False):
            block = self.place(key, size, stack)
            more = up(size - (block.size if block.state == FREE else 0), self.page(key))
            if self.allows(more):
                break
            if not again:
                raise OutOfMemory(more)
            self.release()
        while block.state == UNMAPPED or block.size < size:
            held = block.size if block.state == FREE else 0
            block = self.map(block.after if held and block.after else block, size - held, stack)
        self.drop(block)
        return block
    def map(self, block: Block, size: int, stack: Stack) -> Block:
        size = min(up(size, self.page(block.key)), block.size)
        self.drop(block)
        self.split(block, size)
        block.state, block.segment = FREE, stack
        self.note("segment_map", block.address, size, block.key[1], stack)
        return self.settle(block)
    def unmap(self, block: Block) -> None:  # releases the whole pages of a free block
        page = self.page(block.key)
        low = block.origin + up(block.address - block.origin, page)
        high = block.origin + (block.address + block.size - block.origin) // page * page
        if low >= high:
            return
        self.drop(block)
        if low > block.address:
            self.split(block, low - block.address)
            self.put(block)
            block = block.after or block
            self.drop(block)
        self.split(block, high - low)
        block.state = UNMAPPED
        self.note("segment_unmap", low, high - low, block.key[1], None)
        self.settle(block)
    def alloc(self, requested: int, stream: int, stack: Stack) -> Optional[Block]:  # None for 0 bytes, for which there is a null pointer and no event
        if not requested:
            return None
        size = self.settings.rounded(requested)
        key = (size <= SMALL, stream)
        block = self.take(key, size) or (self.expand if self.settings.expandable else self.reserve)(key, size, stack)
        rest = block.size - size
        if rest >= ROUND if key[0] or self.settings.expandable else size < self.settings.split_limit and rest > SMALL:
            self.split(block, size)
        block.state, block.requested, block.stack = USED, requested, stack
        self.allocated += block.size
        self.peak_allocated = max(self.peak_allocated, self.allocated)
        self.note("alloc", block.address, requested, stream, stack)
        return block
    def free(self, block: Block, is_late: bool = False) -> None:
        if is_late:
            self.pending.append(len(self.events) + 1)
        self.allocated -= block.size
        self.note("free_requested", block.address, block.requested, block.key[1], None)
        self.note("free_completed", block.address, block.requested, block.key[1], None)
        block.state, block.stack, block.requested = FREE, [], 0
        self.settle(block)
    def waited(self, until: float = math.inf) -> None:  # the program has waited for all work that it gave the GPU before an event
        self.late.update((at, len(self.events)) for at in self.pending if at < until)
        self.pending = [at for at in self.pending if at >= until]
    def release(self) -> None:  # empty_cache(): releases segments without live blocks, large segments first
        for key, state in sorted(self.lists):
            for _, _, block in self.lists[key, state][:] if state == FREE else ():
                if block.origin:
                    self.unmap(block)
                elif not block.before and not block.after:
                    self.drop(block)
                    self.first.remove(block)
                    bisect.insort(self.rests, (block.address, up(block.size, ROUND_LARGE)))
                    self.note("segment_free", block.address, block.size, key[1], None)
    def segments(self) -> List[Dict[str, Any]]:  # in the form of torch.cuda.memory_snapshot()
        found: List[Dict[str, Any]] = []
        for first in sorted(self.first, key=lambda block: block.address):
            block: Optional[Block] = first
            while block:
                if block.state != UNMAPPED and (block is first or block.before and block.before.state == UNMAPPED):
                    found.append({"device": self.device, "address": block.address, "stream": first.key[1], "frames": block.segment,
                                  "segment_type": "small" if first.key[0] else "large", "is_expandable": bool(first.origin),
                                  "segment_pool_id": (0, 0), "blocks": []})
                if block.state != UNMAPPED:
                    found[-1]["blocks"].append({"address": block.address, "size": block.size, "requested_size": block.requested,
                                                "state": block.state, "frames": block.stack})
                block = block.after
        for segment in found:
            held = sum(block["size"] for block in segment["blocks"] if block["state"] == USED)
            segment.update(total_size=sum(block["size"] for block in segment["blocks"]), allocated_size=held, active_size=held,
                           requested_size=sum(block["requested_size"] for block in segment["blocks"]))
        return found

def replayed(source: Allocator, limit: Optional[int] = None, is_late: bool = False, seed: Optional[int] = None) -> Allocator:
    """Repeats the requests of a program under a limit, with blocks that become free as late as possible, or with random
    addresses."""
    found = Allocator(limit=limit, records=False, settings=source.settings, seed=seed)
    live, due = {}, {}  # type: Dict[int, Any], Dict[float, List[Block]]
    for at, event in enumerate(source.events):
        for block in due.pop(at, ()):
            found.free(block)
        if event["action"] == "alloc":
            live[event["addr"]] = found.alloc(event["size"], event["stream"], [])
        elif event["action"] == "free_completed":
            freed = live.pop(event["addr"])
            if is_late and (at in source.late or at in source.pending):
                due.setdefault(source.late.get(at, math.inf), []).append(freed)
            else:
                found.free(freed)
    return found

def fits(source: Allocator, limit: int) -> bool:  # whether the program would run if at most `limit` bytes could be reserved
    try:
        return bool(replayed(source, limit))
    except OutOfMemory:
        return False

def side(source: Allocator, room: int, least: int, most: int, off: float) -> str:  # "probably" if an error of `off` would change the answer
    if most * (1 + off) <= room or not least <= room < most and fits(source, int(room / (1 + off))):
        return "fits" if room >= most else "fits without its cache"
    return ("does not fit" if least > room * (1 + off) and not fits(source, int(room * (1 + off))) else
            "may not fit" if least <= room < most else "probably fits" if fits(source, room) else "probably does not fit")

def others(source: Allocator) -> List[Allocator]:  # other possible results, which depend on the GPU's speed and the driver's addresses
    return ([replayed(source, is_late=True)] if source.late or source.pending else []) + \
        [replayed(source, seed=seed) for seed in (() if source.settings.expandable else range(TRIES))]
