#!/usr/bin/env python3
"""`proctor exec` of what is to become ready: a server that others ask, and one that never says so.

    exec_service.py [SCENARIO...]
"""

import json
import os
import signal
import socket
import subprocess
import sys

from exec import run
from harness import BIN, check, killed, new_token, reason_of, report, run_scenarios, survivors, wait_until

# The main thread waits for SIGTERM: Python calls no handler for a signal that comes just before accept() blocks.
SERVER = """import os, signal, socket, sys, threading
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
listener = socket.create_server(("127.0.0.1", 0))
def serve():
    while True:
        listener.accept()[0].sendall(b"answer")
threading.Thread(target=serve, daemon=True).start()
print("loading", file=sys.stderr, flush=True)
print(f"serving on port {listener.getsockname()[1]}", file=sys.stderr, flush=True)
signal.sigwait([signal.SIGTERM])
os._exit(int(sys.argv[1]))
"""


def text_of(file):
    """"" where it is gone: exec removes the file of an earlier run."""
    try:
        return file.read_text()
    except FileNotFoundError:
        return ""


def served(sandbox):
    """A server in the background: the file says when and by whom it can be asked; SIGTERM ends it, and the file."""
    program, file, out = sandbox.path / "server.py", sandbox.path / "ready.json", sandbox.out()
    program.write_text(SERVER)
    file.write_text("of a run that was killed")
    simulated = (BIN / "libproctor_ze_sim.so").exists()
    device = ["--sim", "xpu:1x1", "--gpus", "1"] if simulated else []
    # Started by a shell that ends at once, as the step of a workflow does, where CI=true.
    log = sandbox.path / "server.log"
    words = sandbox.command("exec", "--out", out, *device, "--ready-regex", "^serving on port [0-9]+$",
                            "--ready-timeout", "60s", "--timeout", "300s", "--ready-file", file, "--",
                            sys.executable, program, "0")
    subprocess.run(["sh", "-c", '"$@" > server.log 2>&1 & ', "sh", *words], cwd=sandbox.path, check=True, timeout=60,
                   env={**sandbox.env, "CI": "true"}, stdin=subprocess.DEVNULL)
    wait_until(lambda: text_of(file).startswith("{"), 60, "ready file")
    said = json.loads(file.read_text())
    check(len(said["devices"]) == (1 if simulated else 0), "devices:", said)
    for _ in range(2):
        with socket.create_connection(("127.0.0.1", int(said["line"].rpartition(" ")[2])), timeout=60) as asked:
            check(asked.recv(100) == b"answer", "no answer")
    os.kill(said["pid"], signal.SIGTERM)
    wait_until(lambda: (out / "report.json").exists() and not file.exists(), 60, "end, and removal of the file")
    wait_until(lambda: not (out / "run.json").exists(), 60, "end of proctor itself")
    document = report(out)
    case = document["cases"][0]
    check(case["outcome"] == "pass" and document["run"]["exit_code"] == 0, document["run"]["exit_code"], case,
          document["warnings"], log.read_text())
    measures = {measure["name"]: measure for measure in case["measures"]}
    check(measures["ready"]["unit"] == "ms" and measures["ready"]["value"] > 0, measures)


def told_to_end(sandbox):
    """A server ends because somebody ends it: by the signal that came, or with 0 after it. Nothing else is a pass."""
    rows = (  # what it does with SIGTERM, exit code as a shell shows it, outcome
        ("", 0, "pass"),
        ("trap 'exit 0' TERM;", 0, "pass"),
        ("trap 'exit 3' TERM;", 3, "notrun"),
        ("trap 'kill -SEGV $$' TERM;", 128 + signal.SIGSEGV, "crash"),
        ("trap '' TERM;", 128 + signal.SIGTERM, "notrun"))
    for trap, want, outcome in rows:
        file, out = sandbox.path / "ready.json", sandbox.out()
        grace = "500ms" if want == 128 + signal.SIGTERM else "10s"  # nobody waits for who ends in time
        server = subprocess.Popen(
            sandbox.command("exec", "--out", out, "--grace", grace, "--ready-regex", "^up$", "--ready-file", file, "--",
                            "bash", "-c", f"{trap} echo up; while :; do sleep 300 & wait; done"),
            cwd=sandbox.path, env=sandbox.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(file.exists, 60, "ready file")
        server.send_signal(signal.SIGTERM)
        server.wait(60)
        document = report(out)
        seen = (killed(server), document["cases"][0]["outcome"], document["run"]["exit_code"])
        check(seen == (want, outcome, want), trap, "gave", seen)
        errors = (out / "junit.xml").read_text().count("<error")
        check((errors == 0) == (want == 0), trap, "JUnit has", errors, "errors")
    out = sandbox.out()
    waiting = subprocess.Popen(sandbox.command("exec", "--out", out, "--ready-regex", "^never$", "--", "sh", "-c",
                                               "echo up; exec sleep 300"), cwd=sandbox.path, env=sandbox.env,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    check(waiting.stdout.readline() == b"up\n", "it did not start")
    waiting.send_signal(signal.SIGTERM)
    waiting.wait(60)
    check(killed(waiting) == 128 + signal.SIGTERM, "before it was ready:", killed(waiting))


def readiness(sandbox):
    file = sandbox.path / "ready.json"
    options = ["--grace", "500ms", "--ready-file", file, "--ready-regex"]
    rows = (  # command, options, exit code, outcome, reason
        ("echo up", ["^up$"], 0, "pass", ""),
        ("printf up", ["^up$"], 0, "pass", ""),
        ("echo no", ["^up$"], 1, "fail", "not_ready"),
        ("exit 5", ["up"], 5, "fail", "exit:5"),
        ("echo up; exit 5", ["up"], 5, "fail", "exit:5"),
        ("sleep 300; : TOKEN", ["up", "--ready-timeout", "1s"], 124, "timeout", "not_ready"),
        ("sleep 300; : TOKEN", ["up", "--timeout", "1s"], 124, "timeout", "not_ready"),
        ("echo up; sleep 300; : TOKEN", ["up", "--ready-timeout", "60s", "--timeout", "1s"], 124, "timeout", ""),
        ("echo up; sleep 3", ["up", "--ready-timeout", "2s"], 0, "pass", ""),
        ("sleep 2; echo up; sleep 2", ["up", "--timeout", "3500ms"], 0, "pass", ""),
    )
    for script, more, want, outcome, reason in rows:
        token = new_token()
        code, done, case = run(sandbox, "sh", "-c", script.replace("TOKEN", token), options=[*options, *more])
        wanted = (want, outcome, reason if case["reason"] != "starved" else "")
        check((code, case["outcome"], reason_of(case)) == wanted, script, more, "gave", code, case, done.stderr)
        check(not file.exists() and not survivors(token), script, more, "left something behind")
        measures = [measure["name"] for measure in case["measures"]]
        check(measures == (["ready"] if "up" in script else []), script, measures)
        if case["reason"] == "not_ready":
            check(b"matched --ready-regex" in done.stderr, "stderr does not say it:", done.stderr)
        if outcome == "timeout":
            check(case["attempts"][0]["evidence"]["lines"], script, "left no evidence")
    for words, text in ((["--ready-regex", "a("], "a("), (["--ready-timeout", "1s"], "--ready-regex"),
                        (["--ready-file", "x"], "--ready-regex"),
                        (["--ready-regex", "x", "--no-capture"], "--no-capture"),
                        (["--ready-regex", "x", "--ready-timeout", "soon"], "--ready-timeout"),
                        (["--ready-regex", "x", "--ready-file", "/no/such/place"], "--ready-file")):
        done = sandbox.proctor("exec", *words, "--", "true")
        check(done.returncode == 125 and text in done.stderr, words, done.returncode, done.stderr)


if __name__ == "__main__":
    run_scenarios((served, told_to_end, readiness))
