#!/bin/sh
# Test for a machine with a GPU: runs programs under the shim and compares the captures with
# PyTorch's own data about the same processes. Prints one line for each check, PASS or FAIL, with
# figures; the last line counts them. Needs python3 with PyTorch, and nvcc for the plain program.
# Takes at most six minutes, with two GPUs eight. If OUT is set, the report is also written to $OUT/gpu.txt, and the
# captures next to it (captures.tgz).
#
#     capture/tests/gpu.sh RELEASE               an unpacked release: scripts/release --tree x86_64
#     capture/tests/gpu.sh MEMVIZ SHIM
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

case $# in
1) memviz=$(cd "$1" && pwd)/bin/memviz || exit 2 ;;
*)
    memviz=$1
    export MEMVIZ_SHIM="$2"
    ;;
esac
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
report=$work/report
started=$(date +%s)

say() {
    echo "$*"
    echo "$*" >>"$report"
}

# check NAME CHECK ARGUMENT...: runs a check of gpu_check.py, which prints one line.
check() {
    name=$1
    kind=$2
    shift 2
    say "$("$python" "$here/gpu_check.py" "$name" "$kind" "$memviz" "$@" 2>&1 | tail -n 1)"
}

# verdict NAME STATUS FIGURES
verdict() {
    if [ "$2" = 0 ]; then say "PASS $1: $3"; else say "FAIL $1: $3"; fi
}

# scene NAME WANTED-STATUS [OPTION...] -- CMD...: runs CMD under the shim into $work/NAME.bin and
# prints its last line.
scene() {
    name=$1
    wanted=$2
    shift 2
    begun=$(date +%s)
    timeout 120 "$memviz" run -o "$work/$name.bin" "$@" >"$work/$name.out" 2>"$work/$name.err"
    status=$?
    line=$(grep '^memviz: ' "$work/$name.err" | head -n 2 | tr '\n' ' ')
    took="$(($(date +%s) - begun)) s"
    if [ "$status" = "$wanted" ]; then
        verdict "$name: runs" 0 "$line($took)"
    else
        verdict "$name: runs" 1 "status $status: $(tail -n 3 "$work/$name.err" | tr '\n' ' ')($took)"
    fi
}

torch_scene() {
    name=$1
    wanted=$2
    what=$3
    shift 3
    scene "$name" "$wanted" "$@" -- "$python" "$here/gpu_scenes.py" "$what" "$work/$name"
}

# ---- the machine
say "$(date -u +%Y-%m-%d) $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1)," \
    "$("$python" -c 'import sys, torch; print("PyTorch", torch.__version__, "Python", sys.version.split()[0])')," \
    "$("$memviz" version)"

# ---- training
torch_scene training 0 train
check "training: events" same "$work/training.bin" "$work/training"
check "training: steps" steps "$work/training.bin" "$work/training"
check "training: nothing lost" lost "$work/training.bin"
check "training: ledger" ledger "$work/training.bin" c10_cuda
check "training: explained" explained "$work/training.bin" PyTorch

export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
torch_scene expandable 0 train
unset PYTORCH_CUDA_ALLOC_CONF
check "expandable: events" same "$work/expandable.bin" "$work/expandable"

torch_scene stacks_all 0 train --stacks all
check "stacks all: events" same "$work/stacks_all.bin" "$work/stacks_all"

# ---- NCCL
gpus=$("$python" -c 'import torch; print(torch.cuda.device_count())')
if [ "${gpus:-0}" -ge 2 ]; then
    begun=$(date +%s)
    timeout 120 "$memviz" run -o "$work/nccl.%r.bin" -- "$python" -m torch.distributed.run \
        --standalone --nproc-per-node 2 "$here/gpu_scenes.py" nccl "$work/nccl" \
        >"$work/nccl.out" 2>"$work/nccl.err"
    verdict "nccl, two ranks: runs" $? "$(grep '^memviz: ' "$work/nccl.err" | tr '\n' ' ')($(($(date +%s) - begun)) s)"
    check "nccl, rank 0: ledger" ledger "$work/nccl.0.bin" nccl
    check "nccl, rank 1: ledger" ledger "$work/nccl.1.bin" nccl
    check "nccl: ranks" ranks "$work/nccl" "$work/nccl.0.bin" "$work/nccl.1.bin"
    for scene in fsdp nccl_leak; do
        begun=$(date +%s)
        timeout 120 "$memviz" run -o "$work/$scene.%r.bin" --stacks all -- "$python" -m torch.distributed.run \
            --standalone --nproc-per-node 2 "$here/gpu_levels.py" $scene "$work/$scene" \
            >"$work/$scene.out" 2>"$work/$scene.err"
        verdict "$scene, two ranks: runs" $? "$(grep '^memviz: ' "$work/$scene.err" | tr '\n' ' ')($(($(date +%s) - begun)) s)"
    done
    for rank in 0 1; do
        check "fsdp, rank $rank: explained" explained "$work/fsdp.$rank.bin" NCCL
        check "fsdp, rank $rank: no leak" clean "$work/fsdp.$rank.bin"
        check "a communicator each step, rank $rank" leak "$work/nccl_leak.$rank.bin" all keep_communicator NCCL
    done
    # Both devices in one process: in the machine's order, in reverse order, and by name.
    two() {
        torch_scene "$1" 0 two
        for device in 0 1; do check "$1, device $device: events" same "$work/$1.bin" "$work/$1" $device; done
        check "$1: samples are of the right device" placed "$work/$1.bin" "$work/$1"
    }
    two two_devices
    export CUDA_VISIBLE_DEVICES=1,0
    two two_devices_turned
    export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
    CUDA_VISIBLE_DEVICES=$(nvidia-smi --query-gpu=uuid --format=csv,noheader | tac | tr '\n' ',' | sed 's/,$//')
    two two_devices_by_name
    unset CUDA_VISIBLE_DEVICES PYTORCH_CUDA_ALLOC_CONF
else
    torch_scene nccl 0 nccl
    check "nccl, a communicator of one rank (one GPU here): ledger" ledger "$work/nccl.bin" nccl
fi

# ---- other things that programs do
torch_scene graphs 0 graphs
check "graphs: events" same "$work/graphs.bin" "$work/graphs"
check "graphs: captures" captures "$work/graphs.bin" "$work/graphs"
torch_scene oom 0 oom
check "oom: events" same "$work/oom.bin" "$work/oom"
check "oom: seen" oom "$work/oom.bin" "$work/oom"
torch_scene kill 137 kill
check "kill -9 in a step" kill "$work/kill.bin" "$work/kill"
torch_scene profiler 0 profiler
check "profiler at the same time" profiler "$work/profiler.bin" "$work/profiler"
export PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync
torch_scene async 0 async
unset PYTORCH_CUDA_ALLOC_CONF
check "async backend: calls" calls "$work/async.bin" "$work/async"

# ---- levels below the framework, and programs without PyTorch
level_scene() {
    scene "$1" 0 --stacks all -- "$python" "$here/gpu_levels.py" "$1" "$work/$1"
}

for name in train compile loader sleep cupy jax numba; do
    level_scene $name
    check "$name: no leak on any level" clean "$work/$name.bin"
done
for name in pinned_leak wait_leak graph_leak cupy_leak; do level_scene $name; done
check "pinned buffers kept" leak "$work/pinned_leak.bin" host keep_batch PyTorch
check "pinned buffers kept, and nothing else" leak "$work/wait_leak.bin" host keep_buffer PyTorch
check "graphs of PyTorch kept" leak "$work/graph_leak.bin" all keep_graph ""
check "CuPy's arrays kept" leak "$work/cupy_leak.bin" cuda keep_array CuPy
for name in expandable graphs profiler async nccl nccl.0; do
    [ ! -f "$work/$name.bin" ] || check "$name: no leak on any level" clean "$work/$name.bin"
done
check "loader: pinned memory" pinned "$work/loader.bin" "$work/loader"
check "pinned_leak: pinned memory" pinned "$work/pinned_leak.bin" "$work/pinned_leak"
check "cupy: its pool" pool "$work/cupy.bin" "$work/cupy" CuPy
check "jax: its pool" pool "$work/jax.bin" "$work/jax" JAX

if nvcc -g -O1 -o "$work/plain_leaks" "$here/gpu_leaks.cu" -lcuda -lcublas 2>"$work/nvcc.err"; then
    for kind in clean malloc async pinned created graph handle; do
        scene "plain_$kind" 0 --stacks all -- "$work/plain_leaks" $kind
    done
    check "plain: no leak on any level" clean "$work/plain_clean.bin"
    check "cudaMalloc in each step" leak "$work/plain_malloc.bin" cuda keep_malloc plain_leaks
    check "cudaMallocAsync in each step" leak "$work/plain_async.bin" cuda keep_async plain_leaks
    check "cudaHostAlloc in each step" leak "$work/plain_pinned.bin" host keep_pinned plain_leaks
    check "cuMemCreate in each step" leak "$work/plain_created.bin" cuda keep_created plain_leaks
    check "a graph instantiated in each step" leak "$work/plain_graph.bin" cuda keep_graph plain_leaks
    check "a cuBLAS handle in each step" leak "$work/plain_handle.bin" cuda keep_handle cuBLAS
else
    say "FAIL plain programs that leak: $(head -n 1 "$work/nvcc.err")"
fi
if nvcc -o "$work/plain_program" "$here/gpu_plain.cu" -lcuda 2>"$work/nvcc.err" ||
    nvcc -o "$work/plain_program" "$here/gpu_plain.cu" -lcuda -L"$(dirname "$(command -v nvcc)")/../lib64/stubs" 2>"$work/nvcc.err"; then
    scene plain 0 -- "$work/plain_program"
    check "plain nvcc program: calls" plain "$work/plain.bin"
    check "plain nvcc program, a tenth of a second: sampled" sampled "$work/plain.bin"
    "$memviz" ledger "$work/plain.bin" --at end >"$work/plain.txt" 2>&1
else
    say "FAIL plain nvcc program: $(head -n 1 "$work/nvcc.err")"
fi

# ---- blocks of other allocators
"$python" "$here/gpu_heaps.py" "$memviz" >"$work/heaps.out" 2>"$work/heaps.err"
[ $? = 0 ] || [ -s "$work/heaps.out" ] || say "FAIL heaps: $(tail -n 1 "$work/heaps.err")"
sed -e 's/^ok /PASS /' "$work/heaps.out" | while IFS= read -r line; do say "$line"; done

# ---- programs that do not use a GPU: the shim must not change output and status
same() {
    name=$1
    shift
    (cd / && "$@") >"$work/bare" 2>"$work/bare.err"
    bare=$?
    (cd / && "$memviz" run -q -o "$work/same.bin" -- "$@") >"$work/under" 2>"$work/under.err"
    under=$?
    if [ $bare = $under ] && cmp -s "$work/bare" "$work/under" && cmp -s "$work/bare.err" "$work/under.err"; then
        say "PASS $name: output and status $under as without"
    else
        say "FAIL $name: status $bare and $under; $(diff "$work/bare" "$work/under" | head -n 2 | tr '\n' ' ')" \
            "$(diff "$work/bare.err" "$work/under.err" | head -n 2 | tr '\n' ' ')"
    fi
}
same "ls" ls -l /usr
same "a failing ls" ls /nowhere
same "NumPy" "$python" -c 'import numpy as n; a = n.arange(1e6).reshape(1000, 1000); print((a @ a.T).sum(), n.linalg.norm(a))'

# ---- reports, for people
for name in training nccl.0 nccl fsdp.0; do
    [ -f "$work/$name.bin" ] || continue
    say "--- ledger $name"
    "$memviz" ledger "$work/$name.bin" >"$work/text" 2>&1
    head -n 25 "$work/text" | while IFS= read -r line; do say "$line"; done
    say "--- info $name"
    "$memviz" info "$work/$name.bin" >"$work/text" 2>&1
    head -n 25 "$work/text" | while IFS= read -r line; do say "$line"; done
done

passed=$(grep -c '^PASS' "$report")
failed=$(grep -c '^FAIL' "$report")
say "$passed passed, $failed failed, in $(($(date +%s) - started)) s"
if [ -n "${OUT:-}" ]; then
    cp "$report" "$OUT/gpu.txt"
    # Small enough to be copied to another machine.
    (cd "$work" && find . \( -name '*.err' -o -name '*.bin' -o -name '*.live' -o -name '*.pickle' \) \
        -size -4096k | tar czf "$OUT/captures.tgz" -T -)
fi
[ "$failed" = 0 ]
