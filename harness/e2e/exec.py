#!/usr/bin/env python3
"""`proctor exec`: whatever the command does, the caller sees it as without us; what we do to it has codes of its own.

    exec.py [SCENARIO...]
"""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time

from harness import (BIN, CUDA_SIMULATOR, LAYERS, check, check_sums, killed, misbehaving, new_token, report,
                     run_scenarios, skip, survivors, wait_until)


def run(sandbox, *words, options=(), **more):
    """A finished `proctor exec`, its reports checked against how it ended."""
    out = sandbox.out()
    done = subprocess.run(sandbox.command("exec", "--out", out, *options, "--", *words), cwd=sandbox.path,
                          timeout=120, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": sandbox.env,
                                          **({} if "input" in more else {"stdin": subprocess.DEVNULL}), **more})
    code = killed(done)
    document = report(out)
    check_sums(document)
    check(document["run"]["exit_code"] == code, "the report says exit", document["run"]["exit_code"], "not", code)
    return code, done, document["cases"][0]


def codes(sandbox):
    for number in (0, 1, 2, 3, 5, 75, 77, 124, 125, 255):
        code, done, _ = run(sandbox, "sh", "-c", f"exit {number}")
        check(code == number, "exit", number, "became", code)
        lines = done.stderr.decode().splitlines()
        check(len(lines) == (number != 0) and all(f"exit code {number} · exit {number} · reports in" in line for line in lines), lines)
    plain = sandbox.path / "plain.txt"
    plain.write_text("no program\n")
    check(run(sandbox, "no-such-program")[0] == 127, "not found is not 127")
    check(run(sandbox, str(plain))[0] == 126, "not executable is not 126")
    plain.chmod(0o755)
    check(run(sandbox, str(plain))[0] == 126, "no executable format is not 126")
    for words in (["exec"], ["exec", "--"], ["exec", "--", ""], ["exec", "--nonsense", "--", "true"],
                  ["exec", "--timeout", "soon", "--", "true"], ["exec", "--gpus", "-1", "--", "true"],
                  ["exec", "--sim", "xpu:0x0", "--", "true"]):
        done = sandbox.proctor(*words)
        check(done.returncode == 125 and done.stderr.startswith("proctor: "), words, done.returncode, done.stderr)


def signals_of_its_own(sandbox):
    for name in ("SEGV", "ABRT", "KILL", "TERM"):
        code, _, case = run(sandbox, "sh", "-c", f"kill -{name} $$")
        check(code == 128 + getattr(signal, "SIG" + name), name, "became", code)
        check(case["outcome"] == "crash", "outcome", case["outcome"])


def limits(sandbox):
    for options, outcome in ((["--timeout", "1s", "--grace", "500ms"], "timeout"),
                             (["--stall", "1s", "--grace", "500ms"], "stall"),
                             (["--deadline", "1s", "--grace", "500ms"], "notrun")):
        token = new_token()
        code, done, case = run(sandbox, *misbehaving("ignore-term", token), options=options)
        check(code == 124, options, "gave", code)
        check(case["outcome"] == outcome, "outcome", case["outcome"])
        check(case["attempts"][0]["termination"]["forced"], "not forced")
        check(not survivors(token), "left alive:", survivors(token))
        check(b"proctor: " + outcome.encode() in done.stderr, "stderr does not say it:", done.stderr)


BLOCKED = """import ctypes
def wait_for_the_device():
    ctypes.PyDLL(None).pause()  # holds the GIL
def main():
    wait_for_the_device()
main()
"""


def has_py_spy():
    return shutil.which("py-spy") or (BIN / "py-spy").exists()


def evidence(sandbox):
    """A Python program blocked in a native call that holds the GIL: at most ten lines name its line, the native frame and the device."""
    program = sandbox.path / "blocked.py"
    program.write_text(BLOCKED)
    simulated = (BIN / "libproctor_ze_sim.so").exists()
    device = ["--sim", "xpu:1x1", "--gpus", "1"] if simulated else []
    for layer in LAYERS:
        if reason := sandbox.why_not(layer):
            print(f"{layer} does not work here: {reason}")
            continue
        code, done, case = run(sandbox, sys.executable, program,
                               options=["--timeout", "2s", "--grace", "500ms", "--containment", layer, *device])
        check(code == 124, layer, "gave", code)
        found = case["attempts"][0]["evidence"]
        text = "\n".join(found["lines"])
        check(1 <= len(found["lines"]) <= 10 and found["duration_ms"] < 50_000, layer, found)
        check("(pid " in text, layer, "no process is named:", text)
        if "not permitted" in text:
            check("allow" in text or "SYS_PTRACE" in text or "seccomp" in text, "not said how to allow it:", text)
            continue
        if has_py_spy():
            check("wait_for_the_device at " in text and "blocked.py:3" in text, layer, "no Python line:", text)
        else:
            check("pip install py-spy" in text, layer, "not said what to install:", text)
        if shutil.which("gdb") or shutil.which("eu-stack"):
            check("native: " in text and "pause" in text, layer, "no native frame:", text)
        else:
            check("apt-get install gdb" in text, layer, "not said what to install:", text)
        if simulated:
            check(f"devices: {case['devices'][0]}" in text, layer, "no device:", text)
        for line in found["lines"]:
            check(line.strip().encode() in done.stderr, layer, "not on stderr:", line, done.stderr)
        check("blocked.py" in (sandbox.last_out() / found["file"]).read_text(), layer, "the file has less")
        junit = (sandbox.last_out() / "junit.xml").read_text()
        check("evidence: " in junit and found["file"] in junit, layer, "JUnit has none")
        check("evidence" in (sandbox.last_out() / "summary.md").read_text(), layer, "the summary has none")


def evidence_of_many(sandbox):
    """Ranks have one line each."""
    program = sandbox.path / "blocked.py"
    program.write_text(BLOCKED)
    script = "for r in 0 1 2 3; do RANK=$r python3 blocked.py & done; wait"
    _, _, case = run(sandbox, "sh", "-c", script, options=["--timeout", "3s", "--grace", "500ms"])
    lines = case["attempts"][0]["evidence"]["lines"]
    for rank in range(4):
        check(sum(f", rank {rank})" in line for line in lines) == 1, "rank", rank, lines)


def evidence_of_device_nodes(sandbox):
    """Who holds one is named."""
    if os.geteuid() != 0:
        skip("needs:root")
    mounts = ("mount -t tmpfs none /dev && mkdir /dev/dri && : > /dev/dri/renderD128 && "
              "exec sleep 300 7< /dev/dri/renderD128")
    _, _, case = run(sandbox, "unshare", "-m", "sh", "-c", mounts, options=["--timeout", "1s", "--grace", "500ms"])
    lines = case["attempts"][0]["evidence"]["lines"]
    check(any("holds /dev/dri/renderD128" in line for line in lines), "no device node:", lines)


def evidence_that_hangs(sandbox):
    """A debugger that hangs delays the end by at most 5 s, is gone then, and is named; a stop does not wait for it."""
    token = new_token()
    (sandbox.path / "tools").mkdir()
    gdb = sandbox.path / "tools" / "gdb"
    gdb.write_text(f"#!/bin/sh\nexec {BIN}/misbehaving ignore-term --token {token}\n")
    gdb.chmod(0o755)
    env = {**sandbox.env, "PATH": f"{gdb.parent}:{os.environ['PATH']}"}
    code, _, case = run(sandbox, "sleep", "300", options=["--timeout", "500ms", "--grace", "500ms"], env=env)
    found = case["attempts"][0]["evidence"]
    check(code == 124 and any("gdb: killed after" in line for line in found["lines"]), "not named:", code, found)
    check(not survivors(token), "left alive:", survivors(token))
    words = ["exec", "--out", sandbox.out(), "--timeout", "300ms", "--", "sleep", "300"]
    process = subprocess.Popen(sandbox.command(*words), cwd=sandbox.path, env=env, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True)
    wait_until(lambda: survivors(token), 60, "debugger")
    process.send_signal(signal.SIGTERM)
    process.wait(60)
    check(killed(process) == 124, "a stop during the evidence of a timeout:", killed(process))
    wait_until(lambda: not survivors(token), 60, "end of the debugger")


def orphans(sandbox):
    token = new_token()
    code, done, case = run(sandbox, "sh", "-c", 'sh -c "sleep 300; : $0" "$0" & exit 4', token)
    check(code == 4, "exit", code)
    check(not survivors(token), "left alive:", survivors(token))
    check("leaky" in case["marks"] and b"left behind" in done.stderr, "the orphan is not named:", done.stderr)


def bytes_and_order(sandbox):
    every = bytes(range(256))
    code, done, _ = run(sandbox, sys.executable, "-c", "import os; os.write(1, bytes(range(256)) * 40000)")
    check((code, done.stdout) == (0, every * 40000), "stdout is not what was written:", len(done.stdout))
    check(done.stderr == b"", "a command that ends with 0 has a line of ours:", done.stderr)
    code, done, _ = run(sandbox, "sh", "-c", "echo to-out; echo to-err >&2; exit 0")
    check((done.stdout, done.stderr) == (b"to-out\n", b"to-err\n"), "streams:", done.stdout, done.stderr)
    # One at a time into one pipe: the order is the writer's.
    both = subprocess.run(sandbox.command("exec", "--out", sandbox.out(), "--", "sh", "-c",
                                          "for i in 1 2 3; do echo o$i; sleep 0.2; echo e$i >&2; sleep 0.2; done"),
                          cwd=sandbox.path, env=sandbox.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check(both.stdout.split() == [b"o1", b"e1", b"o2", b"e2", b"o3", b"e3"], "order:", both.stdout)
    code, done, _ = run(sandbox, "cat", input=every * 1000)
    check((code, done.stdout) == (0, every * 1000), "stdin did not arrive")


def live(sandbox):
    process = subprocess.Popen(sandbox.command("exec", "--out", sandbox.out(), "--", "sh", "-c", "echo up; read line"),
                               cwd=sandbox.path, env=sandbox.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    check(process.stdout.readline() == b"up\n", "output does not come while the command runs")
    process.communicate(b"go on\n", timeout=60)
    check(process.returncode == 0, "exit", process.returncode)


def readers(sandbox):
    """A slow reader loses nothing, one that leaves ends the command as it would without us, a full disk is told."""
    out = sandbox.out()
    words = ["exec", "--out", out, "--timeout", "60s", "--", "seq", "1", "600000"]
    process = subprocess.Popen(sandbox.command(*words), cwd=sandbox.path, env=sandbox.env, stdout=subprocess.PIPE)
    wait_until(lambda: (out / "journal.jsonl").exists() and "attempt_started" in (out / "journal.jsonl").read_text(),
               60, "start")
    time.sleep(0.5)  # the reader is slow; how slow does not matter
    got = hashlib.sha256(process.stdout.read()).hexdigest()
    check(process.wait(60) == 0, "exit", process.returncode)
    want = subprocess.run(["seq", "1", "600000"], capture_output=True, check=True).stdout
    check(got == hashlib.sha256(want).hexdigest(), "a slow reader got other bytes")

    process = subprocess.Popen(sandbox.command("exec", "--out", sandbox.out(), "--", "yes"), cwd=sandbox.path,
                               env=sandbox.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    process.stdout.readline()
    process.stdout.close()
    check(process.wait(60) == -signal.SIGPIPE, "a reader that left:", process.returncode)

    # Nobody reads, nobody leaves: the limit still ends it.
    read, write = os.pipe()
    done = subprocess.run(sandbox.command("exec", "--out", sandbox.out(), "--timeout", "1s", "--grace", "1s", "--",
                                          "yes"), cwd=sandbox.path, env=sandbox.env, stdout=write, timeout=60,
                          stderr=subprocess.DEVNULL)
    os.close(read), os.close(write)
    check(done.returncode == 124, "a stuck reader:", done.returncode)

    with open("/dev/full", "wb") as full:
        code, done, _ = run(sandbox, "echo", "x", stdout=full)
    check(code == 125 and b"No space left" in done.stderr, "a full disk:", code, done.stderr)


def forwarded(sandbox):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        for script, want in (("sleep 300; : TOKEN", 128 + number),
                             ("trap 'exit 9' TERM INT HUP; echo up; sleep 300 & wait; : TOKEN", 9),
                             ("trap '' TERM INT HUP; echo up; while :; do sleep 300; done; : TOKEN", 128 + number)):
            token, out = new_token(), sandbox.out()
            grace = "10s" if "exit" in script else "500ms"  # nobody waits for who ends in time
            process = subprocess.Popen(
                sandbox.command("exec", "--out", out, "--grace", grace, "--", "sh", "-c",
                                "echo up; " + script.replace("TOKEN", token)),
                cwd=sandbox.path, env=sandbox.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                start_new_session=True)
            process.stdout.readline()
            wait_until(lambda: survivors(token), 60, "command")
            if "trap" in script:
                process.stdout.readline()  # the trap is set
            process.send_signal(number)
            process.wait(60)
            check(killed(process) == want, number, script, "gave", killed(process), "not", want)
            check(not survivors(token), "left alive:", survivors(token))
            document = report(out)
            check(document["cases"][0]["reason"] == "interrupted", "reason", document["cases"][0]["reason"])
            check(document["run"]["exit_code"] == want, "the report says", document["run"]["exit_code"])


def environment(sandbox):
    env = {**sandbox.env, "MINE": "kept", "RANK": "3", "CUDA_VISIBLE_DEVICES": "0"}
    _, done, _ = run(sandbox, "env", env=env)
    lines = done.stdout.decode().splitlines()
    check("MINE=kept" in lines, "the caller's variable is gone")
    check(not any(line.startswith("RANK=") for line in lines), "a rank variable of the caller's job is left")
    check("CUDA_VISIBLE_DEVICES=" in lines, "no device was asked for, but CUDA is not hidden")


def descriptors(sandbox):
    """What a shell or make has opened for the command stays open under its number; a case of a run gets none of it."""
    script = sandbox.path / "open.sh"
    script.write_text('exec 3<<<three 4>four; "$@" -- bash -c "cat <&3; echo 4 >&4; cat \\$0" <(echo substituted)\n')
    for layer in LAYERS:
        if sandbox.why_not(layer):
            continue
        command = sandbox.command("exec", "--containment", layer, "--out", sandbox.out())
        done = subprocess.run(["bash", script, *command], cwd=sandbox.path, env=sandbox.env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)
        check((done.returncode, done.stdout) == (0, "three\nsubstituted\n"), layer, done.stdout, done.stderr)
        check((sandbox.path / "four").read_text() == "4\n", layer, "not written")
        # The command closes the only writing end that is left: the end of the pipe is seen while it runs.
        reader, writer = os.pipe()
        living = subprocess.Popen(
            sandbox.command("exec", "--containment", layer, "--out", sandbox.out(), "--", "bash", "-c",
                            f"exec {writer}>&-; read line"),
            cwd=sandbox.path, env=sandbox.env, stdin=subprocess.PIPE, pass_fds=[writer])
        os.close(writer)
        check(os.read(reader, 1) == b"", layer, "no end")
        living.communicate(b"go on\n", timeout=60)
        check(living.returncode == 0, layer, living.returncode)
        os.close(reader)
    reader, writer = os.pipe()
    listed = ["bash", "-c", f"[ ! -e /proc/self/fd/{writer} ]"]
    check(sandbox.proctor("run", "--out", sandbox.out(), "--", *listed, pass_fds=[writer]).returncode == 0, "run")
    check(run(sandbox, *listed)[0] == 0, "closed on exec by its caller")
    if shutil.which("make"):
        (sandbox.path / "Makefile").write_text("all:\n\t+@$(EXEC) -- $(MAKE) --no-print-directory -f inner\n")
        (sandbox.path / "inner").write_text("all: a b\na b:\n\t@echo $@\n")
        words = " ".join(str(word) for word in sandbox.command("exec", "--out", sandbox.out()))
        made = subprocess.run(["make", "-j2", f"EXEC={words}"], cwd=sandbox.path, env=sandbox.env, capture_output=True,
                              text=True, timeout=60)
        check(made.returncode == 0 and "jobserver" not in made.stderr, made.stdout, made.stderr)


def masked(sandbox):
    """Programs that read only numbers: --mask index, or a diagnosis that names it."""
    if not CUDA_SIMULATOR.exists():
        skip("needs:the CUDA simulator, which is not built")
    numbers = [sys.executable, "-c", "import os; print([int(one) for one in os.environ['CUDA_VISIBLE_DEVICES'].split(',')])"]
    two = ["--sim", "cuda:3", "--gpus", "2"]
    code, done, _ = run(sandbox, *numbers, options=[*two, "--mask", "index"])
    check((code, done.stdout) == (0, b"[0, 1]\n"), code, done.stdout, done.stderr)
    code, done, case = run(sandbox, *numbers, options=[*two])
    check(code == 1 and b"--mask index" in done.stderr, code, done.stderr)
    check(case["attempts"][0]["diagnosis"]["rule"] == "mask:number", case["attempts"])
    for words, said in ((["--mask", "index"], "a command that uses a device"),
                        (["--sim", "xpu:1x1", "--gpus", "1", "--mask", "uuid"], "only numbers"),
                        (["--mask", "number"], "must be uuid or index")):
        done = sandbox.proctor("exec", *words, "--backend" if words[0] == "--mask" else "--lease-wait",
                               "none" if words[0] == "--mask" else "5s", "--", "true")
        check(done.returncode == 125 and said in done.stderr, words, done.returncode, done.stderr)
    out = sandbox.out()
    done = sandbox.proctor("run", "--out", out, "--sim", "cuda:2", "--backend", "cuda", "--mask", "index", "--", *numbers)
    check(done.returncode == 0, done.stdout, done.stderr)
    done = sandbox.proctor("run", "--out", sandbox.out(), "--mask", "index", "--backend", "none", "--", "true")
    check(done.returncode == 2 and "--mask index has no effect" in done.stderr, done.returncode, done.stderr)


def simulated(sandbox):
    """A suite's own binary below a mask: it must see what it was given and nothing else."""
    suite = BIN / "visibility_xpu"
    if not suite.exists():
        skip("needs:visibility_xpu, which is not built")
    print_devices = [sys.executable, "-c", "import os; print(os.environ['PROCTOR_DEVICES'])"]
    for gpus in (1, 2):
        code, done, case = run(sandbox, *print_devices, options=["--sim", "xpu:2x2", "--gpus", str(gpus)])
        check(code == 0, "exit", code, done.stderr)
        check(len(case["devices"]) == gpus and case["simulated"], "devices:", case["devices"])
        check(all(device.encode() in done.stdout for device in case["devices"]), "PROCTOR_DEVICES:", done.stdout)
    code, done, _ = run(sandbox, suite, "--proctor-case=Process.MaskBeforeInitTakesEffect",
                        options=["--sim", "xpu:2x2", "--gpus", "1"])
    check(code == 0, "the suite under a mask:", code, done.stdout, done.stderr)
    code, _, case = run(sandbox, "true", options=["--sim", "xpu:2x2", "--gpus", "3"])
    check((code, case["reason"]) == (75, "needs:devices>=3"), "too many devices:", code, case["reason"])


def leased(sandbox):
    """Two commands on one simulated machine with one card: the second waits, and says for whom."""
    if not (BIN / "libproctor_ze_sim.so").exists():
        skip("needs:libproctor_ze_sim.so, which is not built")
    (sandbox.path / "machine").mkdir()
    card = ["--sim", f"xpu:1x1,state={sandbox.path}/machine", "--gpus", "1"]
    holder = subprocess.Popen(
        sandbox.command("exec", "--out", sandbox.out(), *card, "--", "sh", "-c", "echo up; read line"),
        cwd=sandbox.path, env=sandbox.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    check(holder.stdout.readline() == b"up\n", "the holder did not start")
    code, done, case = run(sandbox, "true", options=[*card, "--lease-wait", "300ms"])
    check((code, case["reason"]) == (75, "lease_timeout"), "a held card:", code, case["reason"])
    check(str(holder.pid).encode() in done.stderr, "the holder is not named:", done.stderr)
    holder.communicate(b"go on\n", timeout=60)
    check(holder.returncode == 0, "exit", holder.returncode)
    check(run(sandbox, "true", options=card)[0] == 0, "the card was not given back")


def dumped(sandbox):
    """`proctor dump` says where a living command is, under every layer, and disturbs it in nothing."""
    program = sandbox.path / "blocked.py"
    program.write_text("def wait_to_be_told():\n    return input('up\\n')\nprint('told', wait_to_be_told())\n")
    for layer in LAYERS:
        if sandbox.why_not(layer):
            continue
        out = sandbox.out()
        living = subprocess.Popen(sandbox.command("exec", "--containment", layer, "--out", out, "--", sys.executable,
                                                  program), cwd=sandbox.path, env=sandbox.env, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
        check(living.stdout.readline() == b"up\n", "the command did not start")
        done = sandbox.proctor("dump", out)
        check(done.returncode == 0 and "(pid " in done.stdout, layer, done.stdout, done.stderr)
        if "not permitted" not in done.stdout and has_py_spy():
            check("wait_to_be_told at " in done.stdout, layer, "no Python line:", done.stdout)
        check(len(list((out / "evidence").rglob("*.dump-*.txt"))) == 1, layer, "no file")
        said, _ = living.communicate(b"now\n", timeout=60)
        check(living.returncode == 0 and said == b"told now\n", layer, "disturbed:", living.returncode, said)
        ended = sandbox.proctor("dump", out)
        check(ended.returncode == 2 and "has ended" in ended.stderr, ended.returncode, ended.stderr)
    stranger = sandbox.proctor("dump", sandbox.path)
    check(stranger.returncode == 2 and "not a Proctor run directory" in stranger.stderr, stranger.returncode, stranger.stderr)


if __name__ == "__main__":
    run_scenarios((codes, signals_of_its_own, limits, evidence, evidence_of_many, evidence_that_hangs, orphans,
                   bytes_and_order, live, readers, forwarded, environment, descriptors, dumped),
                  own_tests=(evidence_of_device_nodes, simulated, leased, masked))
