"""write_snapshots.py FOLDER: each FOLDER/NAME.pickle, as if torch.cuda.memory._snapshot() had just
returned it, is written by memviz.snapshot to FOLDER/NAME.msgpack, and by pickle to
FOLDER/NAME.again.pickle. In both, settings come after all other texts."""

import glob
import os
import pickle
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "python")]

import memviz  # noqa: E402
import torch_stand_in  # noqa: E402

for path in sorted(glob.glob(os.path.join(glob.escape(sys.argv[1]), "*.pickle"))):
    with open(path, "rb") as file:
        snapshot = pickle.load(file)
    if isinstance(snapshot, dict) and "allocator_settings" in snapshot:
        snapshot["allocator_settings"] = snapshot.pop("allocator_settings")
    torch_stand_in.install(snapshot)
    stem = path[:-len(".pickle")]
    memviz.snapshot(stem + ".again.pickle")
    print(memviz.snapshot(stem + ".msgpack"))
