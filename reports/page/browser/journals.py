#!/usr/bin/env python3
"""Creates journals with any number of cases, to view and measure pages. They have the members that a page reads.

    journals.py DIRECTORY CASES [--bad PERCENT] [--logs BYTES]

creates a run directory with its journal, and with --logs a log of that length for each bad attempt. The same numbers
give the same bytes.
"""
import argparse
import hashlib
import json
import random
import sys
from pathlib import Path

SUITES = [("attention", "cuda"), ("memory", "xpu"), ("collectives", "cuda"), ("tokenizer", "none"), ("kernels", "xpu")]
GROUPS = ["Copy", "Allocate", "Free", "Reduce", "Softmax", "Launch", "Graph", "Stream", "Event", "Shared"]
CARDS = [f"cuda:GPU-{i:08x}-0000-4000-8000-00000000000{i}" for i in range(4)] + [f"xpu:0000:{i:02x}:00.0" for i in (3, 6)]
BAD = [
    ({"outcome": "fail", "reason": ""}, "max error {0}.{1:04} is above 0.02", "code"),
    ({"outcome": "crash", "reason": "signal:11"}, "", "code"),
    ({"outcome": "timeout", "reason": ""}, "", "code"),
    ({"outcome": "device_lost", "reason": ""}, "", "machine"),
    ({"outcome": "fail", "reason": ""}, "block {0} of kernel {1} was not written", "code"),
]
HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)> <!-- ]]> ::error::no \u202egnp.exe"


def plan(cases, day, driver):
    return {"v": 2, "type": "run_planned", "run_id": f"202601{day:02}T120000Z-ab12cd", "started": f"2026-01-{day:02}T12:00:00Z",
            "proctor_version": "0.1.0", "command_line": ["proctor", "run", "--out", "out"], "directory": "/home/user/project",
            "hostname": "gpu-07", "plan_digest": "a" * 64, "filters": [], "shard": None, "remaining": None,
            "containment": {"layer": "cgroup"}, "sim": None, "jobs": 6, "min_executed": 0, "fail_on_skip": "", "strict": False,
            "exec": False, "backends_present": [], "missing_backend": "", "hidden_by": "", "each_device": False, "flaky_passes": False,
            "max_flaky_percent": 0, "allow_no_device": False, "stress_ms": 0, "exclusion": None, "subject": {}, "suites": [],
            "size": "", "seed": 0, "profile": "", "restrictions": {}, "inputs": [],
            "known_failures": {"file": "known.toml", "sha256": "b" * 64,
                               "entries": [{"location": "known.toml:1", "cases": ["*"], "source": "https://issues.example/7"}]},
            "devices": [{"id": card, "backend": card.partition(":")[0], "name": f"Card {card[0].upper()}", "simulated": False}
                        for card in CARDS],
            "stack": {"xpu.driver": driver, "cuda.driver": "13.0"}, "cases": cases,
            "fingerprint": [{"name": "xpu.driver", "value": driver, "source": "sysman"},
                            {"name": "host.kernel", "value": "6.1.0-18", "source": "uname"},
                            {"name": "image.stack", "value": None, "source": "", "reason": "no image"}]}


def case_of(i):
    suite, backend = SUITES[(i + i // 7) % len(SUITES)]
    name = f"{GROUPS[i // 7 % len(GROUPS)]}.Case{i // 70}OfSize{1 << i % 13}"
    full = suite if backend == "none" else f"{suite}.{backend}"
    return full, backend, name


def figures(random_):
    return [{"name": "memory_used", "unit": "bytes", "source": "nvml", "samples": 3, "first": 0.0, "last": 0.0,
             "mean": 2e8, "peak": float(random_.randrange(1 << 30))},
            {"name": "temperature", "unit": "C", "source": "nvml", "samples": 3, "first": 40.0, "last": 48.0, "mean": 44.0, "peak": 48.0},
            {"name": "power", "unit": "W", "samples": 0, "note": "a rate needs two samples"}]


def flaky_attempt(case, at, devices):
    """Returns the records of a failed attempt before one that passes."""
    failure = {"rule": "", "message": "sometimes late", "file": "suites/late.cc", "line": 7, "expected": "", "got": "", "device": ""}
    return [{"v": 2, "type": "attempt_started", "case": case, "at_ms": at, "devices": devices, "log": ""},
            {"v": 2, "type": "attempt_ended", "case": case, "at_ms": at + 1, "duration_ms": 1, "verdict": {"outcome": "fail", "reason": ""},
             "exit_code": 1, "failures": [failure]}]


def with_sums(records):
    """Returns the lines of a journal. Each record ends with the digest of all bytes before it (harness/journal/journal_chain.h)."""
    digest = hashlib.sha256()
    for record in records:
        head = record[:-1] + ',"sum":"'
        digest.update(head.encode())
        end = digest.hexdigest()[:32] + '"}\n'
        digest.update(end.encode())
        yield head + end


def write(directory, count, bad_percent=1, log_bytes=0, hostile=False, day=31, driver="26.27.1", flaky=()):
    directory = Path(directory)
    (directory / "logs").mkdir(parents=True, exist_ok=True)
    random_ = random.Random(count)
    planned, records = [], []
    every = round(100 / bad_percent) if bad_percent else 0
    for i in range(count):
        full, backend, name = case_of(i)
        case = f"{full}/{name}_{i}"
        if hostile and i == 0:
            case += HOSTILE
        planned.append({"id": case, "suite": full.partition(".")[0], "backend": backend, "kind": "proctor", "classname": full,
                        "name": name, "devices": backend != "none", "timeout_ms": 60000})
        log = f"logs/{full}/{name}_{i}.1.log"
        verdict, message = {"outcome": "pass", "reason": ""}, ""
        bad = bool(every) and i % every == 0
        if bad:
            verdict, message, _ = BAD[i // every % len(BAD)]
        elif i % 29 == 0:
            verdict = {"outcome": "skip", "reason": "needs:devices>=8"}
        elif i % 531 == 0:
            verdict = {"outcome": "xfail", "reason": ""}
        devices = [random_.choice([card for card in CARDS if card.startswith(backend)])] if backend != "none" else []
        at, ms = i * 7, random_.randrange(3, 4000)
        records += flaky_attempt(case, at, devices) if i in flaky else []
        records.append({"v": 2, "type": "attempt_started", "case": case, "at_ms": at, "devices": devices, "log": log,
                        "attempt": 2 if i in flaky else 1})
        end = {"v": 2, "type": "attempt_ended", "case": case, "at_ms": at + ms, "duration_ms": ms, "verdict": verdict, "exit_code": 0,
               "last_step": "compared", "attempt": 2 if i in flaky else 1, "rule": f"M{i % 40}", "source": "CUDA Runtime API, cudaMemcpy", "output": {"log": log}}
        if i % 20 == 0:
            end["telemetry"] = {"devices": [{"device": device, "figures": figures(random_)} for device in devices]}
        if bad:
            text = message.format(i, i * 31 % 10000)
            if hostile:
                text += HOSTILE
            end["failures"] = [{"rule": "", "message": text, "file": "suites/copy.cc", "line": 112, "expected": "0", "got": str(i), "device": ""}]
            if log_bytes:
                path = directory / log
                path.parent.mkdir(parents=True, exist_ok=True)
                line = f"     0.001234 out| {HOSTILE if hostile else f'step of case {i}'}: %d\n"
                path.write_text("".join(line % n for n in range(log_bytes // len(line) + 1)), encoding="utf-8", errors="surrogatepass")
        records.append(end)
        records.append({"v": 2, "type": "case_ended", "case": case, "verdict": verdict, "marks": ["flaky"] if i in flaky else ["slow"] if i % 977 == 5 else [],
                        "known_failure_location": "known.toml:1" if verdict["outcome"] == "xfail" else ""})
    records.append({"v": 2, "type": "run_ended", "finished": "2026-01-31T13:00:00Z", "at_ms": 3600000})
    with open(directory / "journal.jsonl", "w", encoding="utf-8") as file:
        file.writelines(with_sums(map(json.dumps, [plan(planned, day, driver), *records])))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory")
    parser.add_argument("cases", type=int)
    parser.add_argument("--bad", type=float, default=1)
    parser.add_argument("--logs", type=int, default=0)
    options = parser.parse_args()
    write(options.directory, options.cases, options.bad, options.logs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
