#!/bin/sh
# Tests of captures that need a GPU: JAX's profiler, a ledger during a large call, memory that PyTorch does not
# cache. Needs python3 with torch and jax, and an unpacked release.
#
#     capture/tests/gpu_capture.sh FOLDER_OF_A_RELEASE
set -u
memviz=$(cd "$1" && pwd)/bin/memviz
[ -x "$memviz" ] || { echo "no memviz in $1" >&2; exit 2; }
folder=$(mktemp -d) && cd "$folder" || exit 2
failed=0
expect() { # NAME WANTED GOT
    if [ "$2" = "$3" ]; then echo "PASS $1: $3"; else echo "FAIL $1: $3 instead of $2"; failed=1; fi
}

cat >jax_profile.py <<'PY'
import glob, gzip, sys, tempfile
import jax, jax.numpy as jnp
folder = tempfile.mkdtemp()
work = jax.jit(lambda x: (x @ x).sum())
x = jnp.ones((512, 512))
work(x).block_until_ready()
with jax.profiler.trace(folder):
    for _ in range(3):
        work(x).block_until_ready()
spaces = glob.glob(folder + "/**/*.xplane.pb", recursive=True)
fdo = jax._src.lib._profiler.get_fdo_profile(open(spaces[0], "rb").read()) if hasattr(jax._src.lib, "_profiler") else b""
text = open(spaces[0], "rb").read()
print("hlo_op" if b"hlo_op" in text and b"hlo_module" in text else "none", len(fdo) > 0)
PY
export XLA_PYTHON_CLIENT_PREALLOCATE=false
plain=$(python3 jax_profile.py 2>/dev/null)
expect "JAX's profile as without the shim" "$plain" "$("$memviz" run -q -o jax.bin -- python3 jax_profile.py 2>/dev/null)"
echo "     with --nvtx-all: $("$memviz" run -q --nvtx-all -o jax_all.bin -- python3 jax_profile.py 2>/dev/null) (may differ)"

cat >big.py <<'PY'
import time, torch
x = torch.ones(1 << 20, device="cuda"); torch.cuda.synchronize(); time.sleep(0.3)
free = torch.cuda.mem_get_info()[0]
for _ in range(20):
    y = torch.empty(free * 8 // 10, dtype=torch.uint8, device="cuda")
    del y
    torch.cuda.empty_cache()
PY
"$memviz" run -q -o big.bin -- python3 big.py
expect "no sample has a large call's memory as context or unexplained" none "$("$memviz" ledger --json big.bin | python3 -c '
import json, sys
bad = [s for s in json.load(sys.stdin)["devices"][0]["samples"]
       if s["context_estimate"] > 3 << 30 or abs(s["unexplained"]) > 1 << 30]
print("none" if not bad else bad[:3])')"

cat >uncached.py <<'PY'
import torch
kept = [torch.ones(1 << 20, device="cuda") for _ in range(8)]
torch.cuda.synchronize()
print(torch.cuda.memory_reserved())
PY
PYTORCH_NO_CUDA_MEMORY_CACHING=1 "$memviz" run -q -o uncached.bin -- python3 uncached.py >/dev/null
expect "without PyTorch's cache each cudaMalloc is a block" 33554432 "$("$memviz" stats --json uncached.bin | python3 -c '
import json, sys
print(json.load(sys.stdin)["devices"][0]["peak"]["allocated"])')"
"$memviz" info uncached.bin | grep -A1 caching
"$memviz" peak uncached.bin | head -3
rm -rf "$folder"
exit $failed
