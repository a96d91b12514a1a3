#!/bin/sh
# A bounded recording of a PyTorch loop that leaks, on a real GPU: its disk, the files of --on, what leaks says of them, and of the
# live file after both the program and the launcher were killed. Takes three minutes; prints what a reader has to judge.
#
#     capture/tests/gpu_ring.sh MEMVIZ
set -u
memviz=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/leak.py" <<'P'
import sys, time, torch

end, kept, step = time.time() + float(sys.argv[1]), [], 0
model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(24)]).cuda()
optimizer = torch.optim.Adam(model.parameters())


def leak():
    kept.append(torch.empty(1 << 20, dtype=torch.uint8, device="cuda"))


while time.time() < end:
    model(torch.randn(64, 512, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    step += 1
    if step % 100 == 0:
        leak()
try:
    torch.empty(1 << 44, dtype=torch.uint8, device="cuda")
except RuntimeError as error:
    print("expected:", str(error)[:60])
print("steps", step, "leaked", len(kept))
P
cd "$work" || exit 1
"$memviz" run --max-size 16M --max-age 30s --on oom,high,SIGUSR2,exit --cooldown 20s -o ring.bin -- python3 leak.py 60 &
launcher=$!
sleep 20
kill -USR2 $launcher
for _ in 1 2 3 4 5 6 7 8; do
    echo "disk: $(du -ck ring.bin*.live* | tail -n 1)"
    sleep 4
done
wait $launcher
for file in ring*.bin; do
    echo "== $file"
    "$memviz" info "$file"
    "$memviz" leaks "$file"
done
"$memviz" run --max-size 16M -o killed.bin -- python3 leak.py 60 &
launcher=$!
sleep 35
program=$(pgrep -P $launcher -f leak.py)
kill -9 $launcher "$program"
sleep 1
for file in killed*.live; do
    "$memviz" info "$file"
    "$memviz" leaks "$file"
done
