"""A machine that others keep busy: loops that spin, for tests of what a starved case and a starved runner do."""

import contextlib
import os
import subprocess


@contextlib.contextmanager
def loops(for_each_processor):
    """So many loops for each processor that this process may use. Each is in a session of its own: Linux shares a
    processor out among sessions first (sched_autogroup), so that loops of one session would be one competitor."""
    count = for_each_processor * len(os.sched_getaffinity(0))
    started = []
    try:
        for _ in range(count):
            started.append(subprocess.Popen(["sh", "-c", "while :; do :; done"], start_new_session=True,
                                            stdin=subprocess.DEVNULL))
        yield
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()
