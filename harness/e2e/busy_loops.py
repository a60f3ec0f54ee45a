"""A machine that others keep busy: loops that spin, for tests of what a starved case and a starved runner do."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys


PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def die_with_parent():
    """In a child before its program: no loop outlives the test that started it, however that ends."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


@contextlib.contextmanager
def loops(for_each_processor):
    """So many loops for each processor that this process may use. Each is in a session of its own: Linux shares a
    processor out among sessions first (sched_autogroup), so that loops of one session would be one competitor."""
    count = for_each_processor * len(os.sched_getaffinity(0))
    started = []
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        for _ in range(count):
            started.append(subprocess.Popen(["sh", "-c", "while :; do :; done"], start_new_session=True,
                                            stdin=subprocess.DEVNULL, preexec_fn=die_with_parent))
        yield
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()
        signal.signal(signal.SIGTERM, before)
