#!/usr/bin/env python3
"""Outputs of real runs use the words of docs/internals/words.md: console, page, summary, gate, acceptance, JSON, metrics and
the outputs of a step in GitHub have the same verdict, and none of them has a word of the table's last column."""

import base64
import html
import json
import re
import sys
import zlib

from harness import ROOT, check, run_scenarios, write_config

sys.path.insert(0, str(ROOT / "docs/internals"))
from words import output_rules

RULES = output_rules()
HEADLINE, TITLE = "([A-Z ]+?)", "([A-Z][a-z ]+?)"
# Where the verdict of an output is.
VERDICTS = {"console": rf"\nexit \d+ \({HEADLINE}[:)]", "summary.md": rf"\A# Proctor: {HEADLINE}(?:: | \()",
            "index.html": f"<h1><span [^>]*>.</span> {TITLE}: ", "report.json": ("run", "verdict"),
            "ctrf.json": ("results", "environment", "extra", "proctor", "verdict"), "metrics.prom": 'verdict="(.*?)"',
            "github outputs": r"\Averdict=(.*)", "gate console": rf"\ngate {HEADLINE}: ", "gate.md": rf"\A# Gate: {HEADLINE}\n",
            "gate.json": ("verdict",), "gate.html": "<h1><span [^>]*>.</span> Gate (.*?): ",
            "accept console": rf"\n\n{HEADLINE}: ", "accept.json": ("verdict",)}
KNOWN = """[[known_failure]]
case = "known/sh"
reason = "exit:4"
owner = "jane"
issue = "https://bugs.example/1"
added = 2026-01-01
expires = 2999-01-01
"""


def shell(script, **keys):
    return {"kind": "command", "command": ["sh", "-c", script], **keys}


PASSES, FAILS = shell("exit 0"), shell("echo the sum is 3; exit 3")
SUITES = {"passes": PASSES, "fails": FAILS, "crashes": shell("kill -SEGV $$"), "known": shell("exit 4"),
          "hangs": shell("sleep 60", timeout="1s", grace="0s"), "skips": shell("exit 77", skip_code=77),
          "leaks": shell("sleep 60 & exit 0"), "flaky": shell("test -e again || { touch again; exit 1; }", retries=1),
          "card": shell("exit 0", backend="cuda", gpus=1)}


def words_of_page(text):
    """The page with its data. Tooltips have the codes of reasons."""
    block = r'<script type="application/octet-stream"[^>]*>([^<]*)</script>'
    data = [zlib.decompress(base64.b64decode(packed)).decode() for packed in re.findall(block, text)]
    return html.unescape(re.sub(rf'{block}| title="[^"]*"', "", text)) + re.sub(r'"code": ?"[^"]*"', "", "\n".join(data))


def forbidden(name, text):
    if name.endswith(".html"):
        text = words_of_page(text)
    return [f"{text[max(0, found.start() - 60):found.end() + 40]!r}: {use}" for pattern, use in RULES for found in pattern.finditer(text)]


def verdict_in(name, text):
    """As JSON has it: "machine_failed" of "MACHINE FAILED"; "" without one."""
    place = VERDICTS[name]
    if isinstance(place, tuple):
        value = json.loads(text)
        for member in place:
            value = value[member]
        return value
    found = re.search(place, text)
    return found.group(1).lower().replace(" ", "_") if found else ""


def planted(name, text):
    """The text with a word that no output may have."""
    if name.endswith(".json"):
        return json.dumps({**json.loads(text), "state": "all is green"})
    return text.replace("</h1>", " is green</h1>", 1) if name.endswith(".html") else text + "\nthe run is green\n"


def hold(verdict, outputs):
    """{name: text}: each has this verdict, and no forbidden word. A planted one is found in each."""
    for name, text in outputs.items():
        found = forbidden(name, text)
        check(not found, name, "has words that docs/internals/words.md replaces:\n" + "\n".join(found))
        check(forbidden(name, planted(name, text)), name, "has a forbidden word that is not found")
        check(verdict_in(name, text) == verdict, name, "has the verdict", verdict_in(name, text), "instead of", verdict, text[:3000])


def run(sandbox, code, *arguments, **env):
    """The run directory, and what the run leaves for people and programs."""
    out = sandbox.out()
    done = sandbox.proctor("run", "--out", out, *arguments, env={**sandbox.env, **env})
    check(done.returncode == code, arguments, "exit", done.returncode, done.stdout, done.stderr)
    github = sandbox.path / "github"
    github.unlink(missing_ok=True)
    shown = sandbox.proctor("report", "render", "--format", "github", out,
                            env={**sandbox.env, "GITHUB_OUTPUT": str(github), "GITHUB_ACTIONS": "true"})
    check(shown.returncode == 0 and not forbidden("annotations", shown.stdout), shown.stdout, shown.stderr)
    metrics = sandbox.proctor("report", "render", "--format", "metrics", out)
    check(metrics.returncode == 0, metrics.stdout, metrics.stderr)
    files = {name: (out / name).read_text() for name in ("summary.md", "index.html", "report.json", "ctrf.json", "metrics.prom")}
    return out, {"console": done.stdout + done.stderr, "github outputs": github.read_text(), **files}


def gate(sandbox, code, out, suites):
    (sandbox.path / "policy.toml").write_text("".join(
        f'[[cell]]\nsuite = "{name}"\nbackend = "{suite.get("backend", "none")}"\nhardware = false\n' for name, suite in suites.items()))
    done = sandbox.proctor("gate", "--policy", "policy.toml", "--json", "gate.json", "--markdown", "gate.md", out)
    check(done.returncode == code, done.stdout, done.stderr)
    page = sandbox.proctor("report", "render", "--format", "page", out, "--gate", "gate.json", "--out", "gate.html")
    check(page.returncode == 0, page.stdout, page.stderr)
    return {"gate console": done.stdout, **{name: (sandbox.path / name).read_text() for name in ("gate.md", "gate.json", "gate.html")}}


def every_outcome(sandbox):
    (sandbox.path / "known.toml").write_text(KNOWN)
    write_config(sandbox.path / "proctor.toml", SUITES)
    common = ["--sim", "cuda:2", "--known-failures", "known.toml", "--history", "history.db"]
    hold("failed", run(sandbox, 1, *common, "fails")[1])
    out, outputs = run(sandbox, 1, *common)
    tallies = "9 planned: 3 passed, 3 failed, 1 flaky, 1 known, 1 skipped"
    check(tallies in outputs["console"] and tallies in outputs["summary.md"], outputs["console"])
    check("first failed in" in outputs["console"] and "crash · SIGSEGV" in outputs["console"], outputs["console"])
    check('"Stopped by Proctor","SIGTERM at the 1.0 s limit' in words_of_page(outputs["index.html"]), "the end of `hangs` on the page")
    hold("failed", outputs)
    hold("failed", gate(sandbox, 1, out, SUITES))


def passed(sandbox):
    write_config(sandbox.path / "proctor.toml", {"passes": PASSES})
    out, outputs = run(sandbox, 0, "--subject", "commit=c0ffee", "--subject", "dirty=false")
    hold("passed", outputs)
    hold("passed", gate(sandbox, 0, out, {"passes": PASSES}))


def not_run(sandbox):
    write_config(sandbox.path / "proctor.toml", {"fails": FAILS, "fails_too": FAILS, "passes": PASSES})
    _, outputs = run(sandbox, 1, "fails", "fails_too", "--fail-fast", "--jobs", "1")
    check("2 planned: 1 failed, 1 not run" in outputs["console"], outputs["console"])
    hold("failed", outputs)
    hold("incomplete", run(sandbox, 3, "passes", "--min-executed", "2")[1])


def machine_failed(sandbox):
    write_config(sandbox.path / "proctor.toml", {"card": SUITES["card"]})
    hold("machine_failed", run(sandbox, 75, "--sim", "cuda:1", "--probe-devices", PROCTOR_SIM_FAULTS="kernel.skip:dev=0")[1])


def acceptance(sandbox):
    for fault, code, verdict in (("", 0, "passed"), ("memory.corrupt_copy:dev=1,at=17,min=4096", 1, "failed")):
        out = sandbox.out()
        done = sandbox.proctor("accept", "--level", "1", "--sim", "cuda:2", "--out", out,
                               env={**sandbox.env, "PROCTOR_SIM_FAULTS": fault})
        check(done.returncode == code, done.returncode, done.stdout, done.stderr)
        files = {name: (out / name).read_text() for name in ("accept.json", "summary.md", "index.html")}
        hold(verdict, {"accept console": done.stdout, **files})


if __name__ == "__main__":
    run_scenarios((every_outcome, passed, not_run, machine_failed, acceptance))
