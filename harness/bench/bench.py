#!/usr/bin/env python3
"""Compares speed and memory of the runner and of the simulated devices with their targets. Ratios come from
interleaved rounds of one run, so that a loaded machine slows both sides. The minimum of each side is compared.

usage: bench.py BIN_DIR [--rounds N]
"""
import argparse
import hashlib
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "reports/page/browser"))
from journals import with_sums

SUITES, CASES = 20, 100
NAMES = [f"Suite{s}.Case{c}" for s in range(SUITES) for c in range(CASES)]


def timed(argv, **kwargs):
    start = time.monotonic()
    done = subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **kwargs)
    return time.monotonic() - start, done.returncode


def peak_rss(argv):
    """Seconds, exit code and VmHWM (KiB) of the process itself, read while it lives."""
    start = time.monotonic()
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        try:
            for line in open(f"/proc/{process.pid}/status"):
                if line.startswith("VmHWM:"):
                    peak = max(peak, int(line.split()[1]))
        except OSError:
            pass
        time.sleep(0.05)  # memory is a high-water mark, so few samples suffice; many would slow the runner
    return time.monotonic() - start, process.returncode, peak


def write_ctest(directory, binary):
    lines = [f'add_test({name} "{binary}" "--gtest_filter={name}")' for name in NAMES]
    (directory / "CTestTestfile.cmake").write_text("\n".join(lines))


class Table:
    def __init__(self):
        self.failed = False

    def row(self, what, value, target, unit, figure, at_least=False):
        ok = value >= target if at_least else value <= target
        self.failed |= not ok
        sign, miss = (">=", "UNDER") if at_least else ("<=", "OVER")
        print(f"{what:<46} {value:8.2f} {unit:<4} target {sign} {target:<6g} {'ok' if ok else miss:<5} {figure}")


def compare_runners(bin_dir, work, rounds, table):
    binary = bin_dir / "empty_cases"
    ctest_dir = work / "ctest"
    ctest_dir.mkdir()
    write_ctest(ctest_dir, binary)
    filters = work / "filters"
    filters.write_text("\n".join(f"--gtest_filter={name}" for name in NAMES))
    best = {"proctor": 1e9, "xargs": 1e9, "ctest": 1e9}
    # Run directories are kept until the end. ext4 searches around recently freed inodes, so deleting one round's files
    # would slow the next round.
    rss = 0
    for index in range(rounds):
        os.sync()  # keeps write-back of one round's pages out of the next round
        out = work / f"run{index}"
        seconds, code, peak = peak_rss([bin_dir / "proctor", "run", "--jobs", "2", "--out", out, "--", binary])
        summary = json.loads((out / "report.json").read_text())["summary"]
        if code != 0 or summary["pass"] != len(NAMES):
            sys.exit(f"bench: proctor ended {code}: {summary}")
        best["proctor"] = min(best["proctor"], seconds)
        rss = max(rss, peak)
        seconds, code = timed(["xargs", "-a", filters, "-P2", "-n1", binary])
        best["xargs"] = min(best["xargs"], seconds)
        seconds, code = timed(["ctest", "-j2", "--test-dir", ctest_dir])
        best["ctest"] = min(best["ctest"], seconds)
    figure = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in best.items())
    table.row("2,000 empty gtest cases: proctor / xargs -P2", best["proctor"] / best["xargs"], 1.4, "x", figure)
    table.row("2,000 empty gtest cases: proctor / ctest -j2", best["proctor"] / best["ctest"], 1.0, "x", "")
    table.row("runner's peak RSS during it", rss / 1024, 32, "MiB", "")


def until_last_case(argv, out, env):
    """Seconds until the journal says that the run has ended, and from there until the reports are written."""
    journal, start, ended = out / "journal.jsonl", time.monotonic(), None
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    while process.poll() is None:
        if ended is None and journal.exists():
            with journal.open("rb") as file:
                file.seek(max(0, journal.stat().st_size - 4096))
                ended = time.monotonic() if b'"type":"run_ended"' in file.read() else None
        time.sleep(0.005)
    return ended - start, time.monotonic() - ended


def batches(bin_dir, work, rounds, table):
    suites, cases = 200, 20_000
    # An empty PATH hides the debugger, which takes longer than the crashing cases.
    env = {**os.environ, "EMPTY_SUITES": str(suites), "PATH": "/nowhere"}
    crashing, last_one = {**env, "EMPTY_CRASHES": "1"}, {**env, "EMPTY_CRASHES": "last"}
    bad = {"crashes": suites, "file crashes": suites, "file last": 1}
    best = {}

    def keep(name, seconds):
        best[name] = min(best.get(name, 1e9), seconds)

    for index in range(rounds):
        keep("plain", timed([bin_dir / "empty_cases"], env=env)[0])
        keep("one", timed([bin_dir / "empty_cases", "--gtest_filter=Suite0.Case0"], env=env)[0])
        for name, program, variables in (("listener", "empty_cases_told", env), ("file", "empty_cases", env),
                                         ("crashes", "empty_cases_told", crashing), ("file crashes", "empty_cases", crashing),
                                         ("file last", "empty_cases", last_one)):
            os.sync()
            out = work / f"batch_{name.replace(' ', '_')}{index}"
            last, reports = until_last_case([bin_dir / "proctor", "run", "--jobs", "2", "--process", f"batch:{cases},verify:off",
                                             "--out", out, "--", bin_dir / program], out, variables)
            summary = json.loads((out / "report.json").read_text())["summary"]
            expected = cases - bad.get(name, 0)
            if summary["pass"] != expected:
                sys.exit(f"bench: {expected} of {name} should pass: {summary}")
            keep(name, last)
            keep(name + " reports", reports)
    for name in ("listener", "file"):
        table.row(f"20,000 empty cases, {name} / (1.3 x plain + 1 s)", best[name] / (1.3 * best["plain"] + 1), 1, "x",
                  f"{best[name]:.2f} s; plain {best['plain']:.2f} s")
        table.row("reports of it, each case", best[name + " reports"] / cases * 1e6, 50, "us", "")
    # Each crash starts two processes: one for the crashed case alone and one for the cases after it.
    limit = 3 * best["plain"] + 2 * suites * best["one"]
    table.row("1 % of them crash / (3 x plain + its processes)", best["crashes"] / limit, 1, "x",
              f"{best['crashes']:.2f} s; a process {best['one'] * 1000:.0f} ms")
    # A run that has no listener repeats the cases before each crash.
    table.row("the same without the listener / with it", best["file crashes"] / best["crashes"], 2, "x",
              f"{best['file crashes']:.2f} s")
    table.row("only the last one crashes / none does", best["file last"] / best["file"], 2.5, "x", f"{best['file last']:.2f} s")
    conformance = ["memory", "kernels", "--sim", "xpu:2x2,cuda:4", "--backend", "all", "--jobs", "2"]
    for index in range(2):
        for name, batch in (("case", "case"), ("auto", "batch:auto")):
            out = work / f"suites_{name}{index}"
            run = [bin_dir / "proctor", "run", *conformance, "--process", f"{batch},verify:off", "--out", out]
            keep("suites " + name, until_last_case(run, out, os.environ)[0])
    table.row("memory and kernels: batch:auto / case", best["suites auto"] / best["suites case"], 0.5, "x",
              f"{best['suites auto']:.1f} s; {best['suites case']:.1f} s")


def start_to_first_case(bin_dir, work, table):
    best = 1e9
    for index in range(10):
        out, stamp = work / f"start{index}", work / f"stamp{index}"
        start = time.time()
        subprocess.run([bin_dir / "proctor", "run", "--out", out, "--", "/bin/sh", "-c", f"date +%s.%N > {stamp}"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        best = min(best, float(stamp.read_text()) - start)
    table.row("start to first case (with sh and date)", best * 1000, 30, "ms", "minimum of 10")


def flood(bin_dir, work, table):
    out, config = work / "flood", work / "flood.toml"
    config.write_text(f'[suite.flood]\nkind = "command"\ncommand = ["{bin_dir}/misbehaving", "flood"]\n')
    seconds, code, peak = peak_rss([bin_dir / "proctor", "run", "flood", "--config", config, "--out", out])
    report = json.loads((out / "report.json").read_text())
    outcome = report["cases"][0]["outcome"]
    if code != 0 or outcome != "pass":
        sys.exit(f"bench: the flood ended {code}, {outcome}")
    dropped = report["cases"][0]["attempts"][0]["output"]["dropped_bytes"]
    table.row("512 MiB flood: runner's peak RSS", peak / 1024, 64, "MiB", f"{seconds:.2f} s, {dropped >> 20} MiB dropped")


def reports(bin_dir, work, table):
    """Measures the reports of 100,000 cases, relative to the time to read their journal."""
    limits = {1: (1.5, 400), 100: (2, 600)}  # percent of bad cases: limits as a multiple of the load time and in MiB
    for percent, (ratio, mib) in limits.items():
        directory = work / f"reports{percent}"
        directory.mkdir()
        done = subprocess.run([bin_dir / "reports_bench", "100000", str(percent), directory], capture_output=True, text=True,
                              check=True)
        cost = json.loads(done.stdout)
        load, written = cost["load"], cost["all_formats"]
        figure = f"load {load['seconds']:.2f} s, all {written['seconds']:.2f} s"
        table.row(f"all reports, 100,000 cases, {percent} % bad / load", written["seconds"] / load["seconds"], ratio, "x", figure)
        table.row("peak memory of it", written["mib"], mib, "MiB", f"load {load['mib']:.0f} MiB")
        table.row("report.json / journal", cost["report_json_bytes"] / cost["journal_bytes"], 0.85, "x", "")


def best_of(rounds, argv, **kwargs):
    best = 1e9
    for _ in range(rounds):
        seconds, code = timed(argv, **kwargs)
        if code != 0:
            sys.exit(f"bench: {argv[0]} ended {code}")
        best = min(best, seconds)
    return best


def interpreter(bin_dir, table):
    program = bin_dir / "spirv_bench"
    if not program.exists():
        print("spirv_bench was not built: not measured")
        return
    done = subprocess.run([program, "--benchmark_format=json", "--benchmark_repetitions=5"], capture_output=True,
                          text=True, check=True)
    runs = {}
    for entry in json.loads(done.stdout)["benchmarks"]:
        if entry["run_type"] == "iteration":
            runs.setdefault(entry["name"], []).append(entry)
    load = min(runs["load_largest_module"], key=lambda entry: entry["cpu_time"])
    table.row("load of the suites' largest module", load["cpu_time"], 1, "ms", load["label"])
    rate = max(entry["instructions"] for entry in runs["tiled_matmul"])
    table.row("tiled matmul, SPIR-V instructions on one core", rate / 1e6, 150, "M/s", "", at_least=True)


def leases(bin_dir, table):
    program = bin_dir / "lease_bench"
    if not program.exists():
        print("lease_bench was not built: not measured")
        return
    done = subprocess.run([program, "--benchmark_format=json", "--benchmark_repetitions=5"], capture_output=True,
                          text=True, check=True)
    best = min(entry["real_time"] for entry in json.loads(done.stdout)["benchmarks"] if entry["run_type"] == "iteration")
    table.row("lease: take and release, uncontended", best, 200, "us", "")


def children(bin_dir, table):
    """What a helper program costs over posix_spawn of the same, in turns."""
    program = bin_dir / "child_bench"
    if not program.exists():
        print("child_bench was not built: not measured")
        return
    done = subprocess.run([program, "--benchmark_format=json", "--benchmark_repetitions=9",
                           "--benchmark_enable_random_interleaving=true", "--benchmark_min_time=0.1"],
                          capture_output=True, text=True, check=True)
    best = {}
    for entry in json.loads(done.stdout)["benchmarks"]:
        if entry["run_type"] == "iteration":
            name = entry["name"].split("/")[0]
            best[name] = min(entry["real_time"] / 1000, best.get(name, float("inf")))
    spawn = best["spawn_alone"]
    table.row("helper program over posix_spawn", best["run_helper"] - spawn, 2, "ms", f"posix_spawn {spawn:.2f} ms")
    table.row("the same, with 512 MiB in this process", best["run_helper_with_memory"] - spawn, 2, "ms", "")


def cpu_of_exec(bin_dir, work, rate, seconds):
    """CPU seconds of the runner and all that it started, while its command sleeps on a simulated device."""
    place = tempfile.mkdtemp(dir=work)
    (pathlib.Path(place) / "proctor.toml").write_text(f"[run]\ntelemetry = {rate}\n")
    process = subprocess.Popen([bin_dir / "proctor", "exec", "--gpus", "1", "--sim", "xpu:2x2", "--out", "out", "--", "sleep",
                                str(seconds)], cwd=place,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"bench: exec ended {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def telemetry(bin_dir, work, table):
    seconds = 5
    cost = {rate: min(cpu_of_exec(bin_dir, work, rate, seconds) for _ in range(3)) for rate in (0, 10)}
    share = 100 * (cost[10] - cost[0]) / seconds
    table.row("telemetry at 10 Hz, runner and monitor", share, 1, "%", f"of one core; {cost[0] * 1000:.0f} ms without")


def simulated_devices(bin_dir, work, table):
    driver = bin_dir / "libproctor_ze_sim.so"
    state = work / "state"
    state.mkdir()
    env = {**os.environ, "ZE_ENABLE_ALT_DRIVERS": str(driver), "PROCTOR_SIM_TOPOLOGY": "xpu:2x2",
           "PROCTOR_SIM_STATE": str(state)}
    probe = best_of(50, [bin_dir / "proctor-probe-xpu", "--stdout"], env=env) - best_of(50, ["/bin/true"])
    table.row("start, zeInit, list of 2 x 2 over /bin/true", probe * 1000, 4, "ms", "minimum of 50")
    names = ["visibility", "memory", "kernels", "management", "collectives"]
    suites = best_of(2, [bin_dir / "proctor", "run", *names, "--sim", "xpu:2x2", "--jobs", "2"], cwd=work)
    table.row("all XPU suites, size ci, on 2 x 2", suites, 60, "s", "")
    proof = best_of(1, [bin_dir / "proctor", "selftest"], cwd=work)
    table.row("self-test, each check's cheapest fault", proof, 90, "s", "")


def ranks(bin_dir, work, table):
    """The case itself, as the report has it: from the start of its supervisor to the end of its last rank."""
    if not (bin_dir / "libproctor_gloo.so").exists():
        print("libproctor_gloo.so was not built: not measured")
        return
    out = work / "ranks"
    case = "collectives.none/AllReduce.FloatsWithoutRoundingAreExact"
    done = subprocess.run([bin_dir / "proctor", "run", "collectives", "--backend", "none", "--case", case, "--repeat", "10",
                           "--out", out], stdout=subprocess.DEVNULL, cwd=work)
    if done.returncode != 0:
        sys.exit(f"bench: collectives ended {done.returncode}")
    [document] = json.loads((out / "report.json").read_text())["cases"]
    durations = sorted(attempt["duration_ms"] for attempt in document["attempts"])
    table.row("a case of 4 ranks over Gloo, start to verdict", durations[0], 150, "ms", f"minimum of 10; median {durations[5]}")


def simulated_cuda(bin_dir, work, table):
    program = bin_dir / "proctor_cudart_sample"
    if not program.exists():
        print("proctor_cudart_sample was not built: not measured")
        return
    env = {**os.environ, "LD_LIBRARY_PATH": str(bin_dir / "cuda_sim"), "PROCTOR_SIM_TOPOLOGY": "cuda:4",
           "PROCTOR_SIM_STATE": tempfile.mkdtemp(dir=work)}
    start = best_of(50, [program, "first"], env=env) - best_of(50, ["/bin/true"])
    table.row("start, CUDA Runtime, first kernel over /bin/true", start * 1000, 15, "ms", "minimum of 50")


def python_with_pytest():
    """An interpreter that has pytest, or none: the first on PATH may be another one than the system's."""
    for python in ("python3", "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import pytest"], capture_output=True).returncode == 0:
            return python
    return None


def cpu_and_wall(argv, cwd):
    start = time.monotonic()
    process = subprocess.Popen(argv, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"bench: {argv[0]} ended {process.returncode}")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - start


def pytest_sessions(bin_dir, work, rounds, table):
    """A session of one process. Its pytest is started twice, to list and to run: tests that take no time show what that
    costs, and a session of tests of a few milliseconds what is left of it."""
    python = python_with_pytest()
    if python is None:
        print("pytest is not here: its sessions were not measured")
        return
    for name, body in (("empty", "pass"), ("10_ms", "t = time.process_time()\n    while time.process_time() < t + 0.01: pass")):
        tests = work / f"pytest_{name}"
        tests.mkdir()
        (tests / "test_short.py").write_text(
            f"import time\nimport pytest\n@pytest.mark.parametrize('n', range(42))\ndef test_n(n):\n    {body}\n")
        best = {"plain": (1e9, 1e9), "proctor": (1e9, 1e9)}
        for index in range(rounds):
            plain = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
            ours = [bin_dir / "proctor", "run", "--process", "suite", "--out", work / f"pytest_{name}_{index}", "--", *plain]
            for side, argv in (("plain", plain), ("proctor", ours)):
                best[side] = tuple(map(min, best[side], cpu_and_wall(argv, tests)))
        (plain_cpu, plain_wall), (cpu, wall) = best["plain"], best["proctor"]
        figure = f"CPU; wall {1000 * wall:.0f} of {1000 * plain_wall:.0f} ms"
        if name == "empty":
            table.row("42 empty tests: proctor over one pytest", 1000 * (cpu - plain_cpu), 250, "ms", figure)
        else:
            table.row("42 tests of 10 ms: proctor / one pytest", cpu / plain_cpu, 1.5, "x", figure)


def big_journal(bin_dir, work, number, cases):
    """The directory of a run of that many cases, 1 % of them bad: that of one real case of each, multiplied."""
    records = {}
    for code in (0, 1):
        out = work / f"sample{code}"
        if not out.exists():
            subprocess.run([bin_dir / "proctor", "run", "--out", out, "--subject", "branch=main", "--", "sh", "-c", f"exit {code}"],
                           stdout=subprocess.DEVNULL, cwd=work)
        for line in (out / "journal.jsonl").read_text().splitlines():
            record = json.loads(line)
            record.pop("sum", None)
            records.setdefault((record["type"], code), record)
    plan = records["run_planned", 0]
    [case] = plan["cases"]
    ids = [f"sample/Group{index // 100}.CaseNumber{index}" for index in range(cases)]
    plan["cases"] = [{**case, "id": name, "name": name} for name in ids]
    plan["run_id"] = f"bench-{number}"
    plan["started"] = f"2026-01-31T12:{number // 60:02}:{number % 60:02}Z"
    directory = work / f"journal{number}"
    directory.mkdir()
    ended = {code: json.dumps(records["attempt_ended", code]).split(json.dumps(case["id"])) for code in (0, 1)}
    started = json.dumps(records["attempt_started", 0]).split(json.dumps(case["id"]))
    lines = [json.dumps(plan)]
    for index, name in enumerate(ids):
        word = json.dumps(name)
        bad = (index * 7919 + number * 104729) % 100 == 0
        lines += [word.join(started), word.join(ended[bad])]
    with open(directory / "journal.jsonl", "w") as journal:
        journal.writelines(with_sums([*lines, json.dumps(records["run_ended", 0])]))
    return directory


def history(bin_dir, work, table):
    """A file of 500 runs of 10,000 cases: those of a few imports, and their rows repeated."""
    runs, cases, imports = 500, 10_000, 20
    proctor, file = bin_dir / "proctor", work / "history.sqlite"
    journals = [big_journal(bin_dir, work, number, cases) for number in range(imports + 3)]
    subprocess.run([proctor, "history", "add", file, *journals[:imports]], stdout=subprocess.DEVNULL, check=True)
    database = sqlite3.connect(file)
    ids = [row[0] for row in database.execute("SELECT id FROM run ORDER BY id")]
    for number in range(runs - imports):
        source, target = ids[number % imports], max(ids) + 1 + number
        for name in ("run", "run_variant", "cause_of_run", "program", "result"):
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({name})")]
            key = "id" if name == "run" else "run"
            other = {key: str(target), "run_id": f"'copy-{number}'", "journal_sha256": f"'copy-{number}'"}
            database.execute(f"INSERT INTO {name} SELECT {', '.join(other.get(column, column) for column in columns)} "
                             f"FROM {name} WHERE {key} = {source}")
    database.commit()
    database.close()
    table.row("500 runs of 10,000 cases in a history", file.stat().st_size / 1e6, 250, "MB", "1 % of the results bad")
    adds = []
    for journal in journals[imports:]:
        adds.append(timed([proctor, "history", "add", file, journal])[0])
    table.row("one more of 10,000 cases", min(adds), 0.5, "s", f"{(journal / 'journal.jsonl').stat().st_size / 1e6:.0f} MB of journal")
    table.row("what is flaky in it", best_of(3, [proctor, "history", "show", file, "--flaky"]), 0.5, "s", "")
    table.row("what fails in it", best_of(3, [proctor, "history", "show", file]), 0.5, "s", "")
    page = work / "page.html"
    subprocess.run([proctor, "report", "render", "--format", "page", *journals[:20], "--out", page], stdout=subprocess.DEVNULL, check=True)
    table.row("the page of 20 runs of 10,000 cases", page.stat().st_size / 1e6, 5, "MB", "1 % of the results bad")


def write_list(program, cases):
    """A program that lists so many GoogleTest cases."""
    groups = [f"Group{group}.\n" + "".join(f"  Case{case}\n" for case in range(100)) for group in range(cases // 100)]
    (program.parent / "list.txt").write_text("".join(groups))
    program.write_text('#!/bin/sh\nexec cat "${0%/*}/list.txt"\n')
    program.chmod(0o755)


def shards_of(run, work, shards):
    """The journal of a run as that many shards of a plan, one after the other."""
    plan, *records = [json.loads(line) for line in (run / "journal.jsonl").read_text().splitlines()]
    for record in (plan, *records):
        record.pop("sum", None)
    cases, size = plan["cases"], len(plan["cases"]) // shards
    digest = hashlib.sha256("".join(sorted(f"{case['id']}\n" for case in cases)).encode()).hexdigest()
    directories = []
    for index in range(shards):
        part = {**plan, "run_id": f"shard-{index}", "plan_digest": digest, "cases": cases[index * size:(index + 1) * size],
                "shard": {"index": index + 1, "count": shards, "planned": len(cases), "plan": "digest"}}
        lines = [part, *records[2 * index * size:2 * (index + 1) * size], records[-1]]
        directories.append(work / f"shard-{index}")
        directories[-1].mkdir()
        (directories[-1] / "journal.jsonl").write_text("".join(with_sums(map(json.dumps, lines))))
    return directories


def shards(bin_dir, work, table):
    proctor, cases = bin_dir / "proctor", 100_000
    run = big_journal(bin_dir, work, 60, cases)
    best = {}
    for count in (10, 100):
        place = work / f"shards{count}"
        place.mkdir()
        directories, rounds = shards_of(run, place, count), []
        for number in range(3):
            seconds, code, peak = peak_rss([proctor, "report", "merge", *directories, "--out", place / f"merged{number}"])
            if code != 1:
                sys.exit(f"bench: report merge gave {code}")
            rounds.append((seconds, peak))
        best[count] = tuple(map(min, zip(*rounds)))
    seconds, peak = best[100]
    table.row("merge of 100 shards of 1,000 cases", seconds, 2, "s", f"{peak / 1024:.0f} MiB")
    table.row("memory of it / of 10 shards of 10,000", peak / best[10][1], 1.1, "x", "")
    program, file = work / "many_cases", work / "durations.db"
    write_list(program, cases)
    subprocess.run([proctor, "history", "add", file, run], stdout=subprocess.DEVNULL, check=True)
    plan = [proctor, "plan", "--kind", "gtest", "-o", work / "plan.json"]
    plain = best_of(3, [*plan, "--", program], cwd=work)
    even = best_of(3, [*plan, "--shards", "64", "--balance", file, "--", program], cwd=work)
    table.row("plan of 100,000 cases, in 64 even shards", even, 2, "s", f"{plain:.2f} s without shards")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin_dir", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    table = Table()
    with tempfile.TemporaryDirectory(prefix="proctor-bench-") as work:
        os.environ.pop("CI", None)
        bin_dir = options.bin_dir.resolve()
        compare_runners(bin_dir, pathlib.Path(work), options.rounds, table)
        batches(bin_dir, pathlib.Path(work), options.rounds, table)
        start_to_first_case(bin_dir, pathlib.Path(work), table)
        flood(bin_dir, pathlib.Path(work), table)
        reports(bin_dir, pathlib.Path(work), table)
        pytest_sessions(bin_dir, pathlib.Path(work), options.rounds, table)
        telemetry(bin_dir, pathlib.Path(work), table)
        interpreter(bin_dir, table)
        leases(bin_dir, table)
        history(bin_dir, pathlib.Path(work), table)
        shards(bin_dir, pathlib.Path(work), table)
        children(bin_dir, table)
        simulated_devices(bin_dir, pathlib.Path(work), table)
        ranks(bin_dir, pathlib.Path(work), table)
        simulated_cuda(bin_dir, pathlib.Path(work), table)
    sys.exit(1 if table.failed else 0)


if __name__ == "__main__":
    main()
