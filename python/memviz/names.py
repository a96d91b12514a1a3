"""Adds the names of tensors to snapshots: tensors in modules and optimizers, and any other tensors that the program
names.

Nothing is hooked, and nothing happens while the program runs. When a snapshot is written, the tensors of modules and
optimizers are listed with their address, bytes, shape and type. Modules, optimizers and named tensors are not kept
alive."""

import gc
import sys
import weakref
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

KEY = "memviz_tensors"  # key in the snapshot's dict; PyTorch's own tools ignore unknown keys

BRIEF = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32",
         "int16": "i16", "int8": "i8", "uint8": "u8", "complex64": "c64", "complex128": "c128"}

Row = Dict[str, Any]

sources: List["Names"] = []  # the names= of active recordings
given: List["Named"] = []  # tensors named by name()
prune_at = 1024  # number of names at which names of freed memory are dropped


def name(tensor: Any, text: str) -> Any:
    """Names a tensor in the snapshots that are written while its memory exists, and returns it:

        logits = memviz.name(model(x), "logits")

    The name belongs to the memory, so it stays as long as a view or the backward pass needs the memory. Tensors that
    are not on a CUDA device are not named."""
    global prune_at
    torch = sys.modules["torch"]
    given.extend(Named(text + inner, part) for inner, part in parts_of(tensor) if is_on_device(torch, part))
    if len(given) >= prune_at:
        given[:] = [known for known in given if known.storage() is not None]
        prune_at = max(1024, 2 * len(given))
    return tensor


class Named:
    """A named part of a storage. The storage is not kept alive, because PyTorch's own kind of weak reference is
    used."""

    def __init__(self, text: str, tensor: Any) -> None:
        storage = tensor.untyped_storage()
        reductions = sys.modules["torch"].multiprocessing.reductions
        self.reference = reductions.StorageWeakRef(storage)
        self.offset = tensor.data_ptr() - storage.data_ptr()
        self.row = row_of(text, "tensor", tensor)

    def storage(self) -> Any:
        """Returns the storage; None if its memory was freed."""
        if self.reference.expired():
            return None
        return sys.modules["torch"].UntypedStorage._new_with_weak_ptr(self.reference.cdata)

    def now(self) -> Optional[Row]:
        storage = self.storage()
        if self.row is None or storage is None or storage.nbytes() < self.offset + self.row["bytes"]:
            return None
        return {**self.row, "address": storage.data_ptr() + self.offset}


class Names:
    """The value of names=, which is a module, an optimizer, a tensor, or a list or dict of these. In a dict, names begin
    with the key. In a list, names of tensors begin with the position, and so do names of modules if there are several.
    If the model does not exist yet, the value can be a function without arguments. The function is called when a
    snapshot is written, and returns one of the above."""

    def __init__(self, value: Any) -> None:
        self.things: List[Tuple[str, Any]] = []  # prefix of the names, and a weak reference to the thing
        self.tensors: List[Named] = []
        self.later = value if callable(value) and not is_module(value) and not is_optimizer(value) else None
        if isinstance(value, Mapping):
            for key, thing in value.items():
                self.add(str(key), thing)
        elif isinstance(value, (list, tuple)):
            many = sum(map(is_module, value)) > 1
            for number, thing in enumerate(value):
                is_numbered = many if is_module(thing) else not is_optimizer(thing)
                self.add(str(number) if is_numbered else "", thing)
        elif value is not None and self.later is None:
            self.add("", value)

    def add(self, key: str, thing: Any) -> None:
        torch = sys.modules["torch"]
        if isinstance(thing, torch.Tensor):
            self.tensors += [Named(key + inner, part) for inner, part in parts_of(thing) if is_on_device(torch, part)]
        elif is_module(thing) or is_optimizer(thing):
            self.things.append((key + "." if key else "", weakref.ref(thing)))
        else:
            raise TypeError(f"memviz.record: names= takes a module, an optimizer, a tensor, a list or dict of them, "
                            f"or a function that returns them, not {type(thing).__name__}")

    def now(self) -> "Names":
        """Returns the current names. A function may fail because there is no model yet, in which case there are no
        names."""
        try:
            return Names(self.later()) if self.later else self
        except Exception:
            return Names(None)

    def alive(self) -> Iterator[Tuple[str, Any]]:
        for key, reference in self.things:
            thing = reference()
            if thing is not None:
                yield key, thing


def is_module(thing: Any) -> bool:
    return hasattr(thing, "named_parameters") and hasattr(thing, "named_buffers")


def is_optimizer(thing: Any) -> bool:
    return hasattr(thing, "param_groups") and hasattr(thing, "state")


# ---- the memory of a tensor -----------------------------------------------------------------------


def parts_of(tensor: Any, inner: str = "", depth: int = 4) -> Iterator[Tuple[str, Any]]:
    """Yields the plain tensors of which a tensor consists, with their names: the local tensor of a DTensor, or the
    components of a quantized tensor."""
    local = getattr(tensor, "_local_tensor", None)
    if local is not None and depth:
        yield from parts_of(local, inner, depth - 1)
    elif hasattr(tensor, "__tensor_flatten__") and depth:
        for attribute in tensor.__tensor_flatten__()[0]:
            yield from parts_of(getattr(tensor, attribute), f"{inner}.{attribute}", depth - 1)
    else:
        yield inner, tensor


def is_on_device(torch: Any, tensor: Any) -> bool:
    return bool(tensor.device.type == "cuda" and tensor.layout == torch.strided)


def row_of(text: str, role: str, tensor: Any, slot: Optional[str] = None) -> Optional[Row]:
    """Returns a row for the snapshot; None for a tensor without memory, such as a parameter that FSDP has freed."""
    if not tensor.numel() or not tensor.untyped_storage().nbytes():
        return None
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    kind = str(tensor.dtype).replace("torch.", "")
    row = {"name": text, "role": role, "shape": "[%s]" % ",".join(map(str, tensor.shape)),
           "dtype": BRIEF.get(kind, kind), "device": tensor.device.index, "address": tensor.data_ptr(),
           "bytes": (last + 1) * tensor.element_size()}
    if slot:
        row["slot"] = slot
    return row


# ---- all tensors ----------------------------------------------------------------------------------


class Collection:
    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.rows: Dict[Tuple[Any, ...], Row] = {}  # by bytes and role, so that each row appears once
        self.names: Dict[int, str] = {}  # parameter names, by identity

    def add(self, text: str, role: str, tensor: Any, slot: Optional[str] = None) -> None:
        """Adds a tensor. A tensor that cannot be inspected is left out, so that the snapshot is written in any
        case."""
        try:
            for inner, part in parts_of(tensor):
                if is_on_device(self.torch, part):
                    self.keep(row_of(text + inner, role, part, slot))
        except Exception:
            pass

    def keep(self, row: Optional[Row]) -> None:
        if row:
            self.rows.setdefault((row["device"], row["address"], row["bytes"], row["role"]), row)

    def parameter(self, text: str, tensor: Any, role: str = "parameter", slot: Optional[str] = None) -> None:
        self.names.setdefault(id(tensor), text)
        self.add(text, role, tensor, slot)
        if tensor.grad is not None:
            self.add(text, "gradient", tensor.grad)

    def module(self, key: str, module: Any) -> None:
        for text, tensor in module.named_parameters():
            self.parameter(key + text, tensor)
        for text, tensor in module.named_buffers():
            self.add(key + text, "buffer", tensor)

    def optimizer(self, key: str, optimizer: Any, has_modules: bool) -> None:
        """Adds the tensors of an optimizer. If there are modules, parameters that no module contains are copies made
        by the optimizer."""
        kind = type(optimizer).__name__
        for number, group in enumerate(optimizer.param_groups):
            texts = group.get("param_names") or []
            for place, tensor in enumerate(group["params"]):
                text = texts[place] if place < len(texts) else f"group {number} parameter {place}"
                if id(tensor) in self.names:
                    continue
                self.parameter(key + text, tensor, *(("optimizer_state", f"{kind} copy") if has_modules else ()))
        for tensor, state in list(optimizer.state.items()):
            self.state(self.names.get(id(tensor), key + "state"), kind, state)

    def state(self, text: str, slot: str, state: Any, depth: int = 4) -> None:
        if isinstance(state, self.torch.Tensor):
            self.add(text, "optimizer_state", state, slot)
        elif depth and isinstance(state, Mapping):
            for key, value in list(state.items()):
                self.state(text, f"{slot} {key}", value, depth - 1)
        elif depth and isinstance(state, (list, tuple)):
            for place, value in enumerate(state):
                self.state(text, f"{slot} {place}", value, depth - 1)


def unwrapped(optimizer: Any) -> Any:
    """Returns PyTorch's optimizer, which Accelerate and other libraries wrap."""
    for _ in range(4):
        inner = getattr(optimizer, "optimizer", None)
        if inner is None or not is_optimizer(inner):
            break
        optimizer = inner
    return optimizer


def optimizers_of(torch: Any, names: Mapping[int, str]) -> Iterator[Any]:
    """Yields the program's optimizers that have one of these parameters, so that the state of a module's optimizer is
    named even if users pass only the module."""
    for thing in gc.get_objects():
        if issubclass(type(thing), torch.optim.Optimizer) and hasattr(thing, "param_groups"):
            if any(id(tensor) in names for group in thing.param_groups for tensor in group["params"]):
                yield thing


def rows_of(torch: Any, more: Any = None) -> List[Row]:
    """Returns the current rows of everything that active recordings, `more` and name() have named."""
    watched = [names.now() for names in [*sources, Names(more)]]
    found = Collection(torch)
    things = [pair for names in watched for pair in names.alive()]
    modules = [pair for pair in things if is_module(pair[1])]
    for key, module in modules:
        found.module(key, module)
    optimizers = [(key, unwrapped(thing)) for key, thing in things if not is_module(thing)]
    if modules:
        optimizers += [("", unwrapped(thing)) for thing in optimizers_of(torch, found.names)]
    seen: List[int] = []
    for key, optimizer in optimizers:
        if id(optimizer) not in seen:
            found.optimizer(key, optimizer, bool(modules))
            seen.append(id(optimizer))
    for known in [*given, *(known for names in watched for known in names.tensors)]:
        try:
            found.keep(known.now())
        except Exception:
            pass
    return list(found.rows.values())
