"""Calls CUDA through ctypes, from threads, a child and generators."""

import ctypes
import os
import threading

plug = ctypes.CDLL(os.environ["GUEST_PLUG"])


def calls():
    for _ in range(10):
        yield plug.plug_go(5)


sums = []
threads = [threading.Thread(target=lambda: sums.append(sum(calls()))) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
child = os.fork()
if child == 0:
    os._exit(0 if plug.plug_go(7) == 7 else 1)
status = os.waitpid(child, 0)[1]
print("calls", 2 * (sum(sums) + 7), status)
