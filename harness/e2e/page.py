#!/usr/bin/env python3
"""The page of a run of suites that are not ours, and `--format page`: one page of several runs, of one with its past, and
what is refused. What a page looks like in a browser: reports/page/browser."""

import base64
import collections
import json
import re
import sys
import zlib

from harness import BIN, ROOT, check, report, run_scenarios, write_config

from pytest_kind import find_pytest

sys.path.insert(0, str(ROOT / "reports/readers"))
from count import PageParser


def run(sandbox, *arguments, code=0):
    done = sandbox.proctor("run", "--out", sandbox.out(), *arguments)
    check(done.returncode == code, arguments, "exit", done.returncode, done.stdout, done.stderr)
    return sandbox.last_out()


def page(sandbox, *arguments, out="page.html"):
    done = sandbox.proctor("report", "render", "--format", "page", *arguments, "--out", out)
    check(done.returncode == 0 and done.stdout == f"page {out}\n", arguments, done.returncode, done.stdout, done.stderr)
    return (sandbox.path / out).read_text()


def cases(text):
    packed = re.search(r'id="data-list">([^<]*)', text).group(1)
    return json.loads(zlib.decompress(base64.b64decode(packed)))["id"]


def title(text):
    return re.search("<title>(.*?) · Proctor</title>", text).group(1)


def several_runs(sandbox):
    good, bad = run(sandbox, "--", "true"), run(sandbox, "--", "false", code=1)
    check(title((good / "index.html").read_text()) == "Passed: 1 of 1 case", title((good / "index.html").read_text()))
    text = page(sandbox, good, bad / "report.json")
    check(title(text) == "Failed: 1 of 2 cases", title(text))
    check(cases(text) == ["true/true", "false/false"], cases(text))
    check(f'href="{bad.relative_to(sandbox.path)}/index.html"' in text, "the page of a run is not linked", text[:6000])
    (sandbox.path / "pages").mkdir()
    text = page(sandbox, good, bad, out="pages/nightly.html")
    check(f'href="../{bad.relative_to(sandbox.path)}/index.html"' in text, "from another directory")
    print("ok", title(text))


def the_past(sandbox):
    script = sandbox.path / "case.sh"
    runs = []
    for code in (0, 0, 1):
        script.write_text(f"exit {code}\n")
        runs.append(run(sandbox, "--name", "case", "--", "sh", str(script), code=code))
    against = page(sandbox, runs[2], "--against", runs[0])
    check("regression: 1<" in against, "against the first run")
    check(sandbox.proctor("history", "add", "history", runs[0], runs[1]).returncode == 0, "history add")
    text = page(sandbox, runs[2], "--history", "history")
    check("regression: 1<" in text and 'id="data-past"' in text and "this run" in text, "with a history")
    text = page(sandbox, runs[1], "--history", "history")
    check("Nothing: 1 case ended as before." in text, "nothing changed", text[text.index("What changed"):][:900])
    print("ok what changed, and since when")


def panel(text, name):
    found = re.search(f'<section id="{name}".*?</section>', text, re.S)
    return found.group(0) if found else ""


def the_gate(sandbox):
    good, bad = (run(sandbox, "--name", "smoke", "--subject", "commit=c0ffee", "--subject", "dirty=false", "--", program, code=code)
                 for program, code in (("true", 0), ("false", 1)))
    (sandbox.path / "gate.toml").write_text('[[cell]]\nsuite = "smoke"\nbackend = "none"\nhardware = false\n')
    for report, code, said in ((good, 0, "passed"), (bad, 1, "failed")):
        done = sandbox.proctor("gate", "--policy", "gate.toml", "--json", f"{said}.json", report)
        check(done.returncode == code, done.returncode, done.stdout, done.stderr)
    shown = panel(page(sandbox, bad, "--gate", "failed.json"), "gate")
    check("</span> failed</span> by the policy" in shown and 'href="#case=smoke/' in shown and "hardware = false" in shown, shown)
    check("It is" not in shown, "the verdict is of this very run", shown)
    shown = panel(page(sandbox, bad, "--gate", "passed.json"), "gate")
    check("</span> passed</span>" in shown and "It is not of the run</strong>" in shown, "a verdict on another run", shown)
    check(not panel(page(sandbox, bad), "gate"), "a panel without its file")
    print("ok the verdict of a gate")


def the_rules(sandbox):
    ours = run(sandbox, "memory", "--sim", "xpu:1x1", "--case", "memory.xpu/Copy.HostToDeviceIsByteExact")
    done = sandbox.proctor("list", "memory", "--coverage", "--json", "--sim", "xpu:1x1")
    check(done.returncode == 0, done.returncode, done.stderr)
    (sandbox.path / "coverage.json").write_text(done.stdout)
    rules = json.loads(done.stdout)["rules"]
    shown = panel(page(sandbox, ours, "--coverage", "coverage.json"), "coverage")
    good = sum(any(check["id"] == "memory.xpu/Copy.HostToDeviceIsByteExact" for check in rule["checks"]) for rule in rules)
    check(f"{len(rules)} rules" in shown and f"</span> {good} passed</span>" in shown, good, shown[:2000])
    check(all(rule["id"] in shown for rule in rules), "a rule is not there")
    check("functions of Level Zero are called by no check" in shown, shown[-2000:])
    print("ok", good, "of", len(rules), "rules were checked")


def refusals(sandbox):
    one = run(sandbox, "--", "true")
    (sandbox.path / "none").mkdir()
    (sandbox.path / "text").write_text("no database\n" * 100)
    (sandbox.path / "mine").mkdir()
    for words, said in ((["missing"], "missing"), (["none"], "no journal.jsonl"), ([one, one, "--against", one], "--against"),
                        ([one, "--against", "none"], "none"), ([one, "--history", "text"], "text"),
                        ([one, "--history", "gone"], "gone"), ([one, "--gate", "gone"], "gone"), ([one, "--coverage", "mine"], "mine"),
                        ([one, "--gate", "text"], "text: it is not a gate.json: it is not JSON"),
                        ([one, "--gate", one / "report.json"], "report.json: it is not a gate.json"),
                        ([one, "--coverage", one / "report.json"], "report.json: it is not a list of what is covered")):
        done = sandbox.proctor("report", "render", "--format", "page", *words, "--out", "page.html")
        check(done.returncode == 2 and said in done.stderr, words, done.returncode, done.stderr)
        check(not (sandbox.path / "page.html").exists(), words, "half a page")
    for out in ("mine", "nowhere/page.html"):
        done = sandbox.proctor("report", "render", "--format", "page", one, "--out", out)
        check(done.returncode != 0 and out in done.stderr, out, done.returncode, done.stderr)
    print("ok refusals")


class WholePage(PageParser):
    """Also counts the elements, holds that each that begins ends, and keeps what stands between them."""

    VOID = {"meta", "br", "rect"}

    def __init__(self, path):
        super().__init__(path)
        self.counts, self.open, self.words, self.policy = collections.Counter(), [], "", None
        self.feed(path.read_text(encoding="utf-8"))
        self.close()
        check(not self.open, "not closed:", self.open)

    def handle_starttag(self, tag, attributes):
        super().handle_starttag(tag, attributes)
        given = dict(attributes)
        check(not [name for name in given if name.startswith("on")], tag, attributes)
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"]
        if tag not in self.VOID:
            self.open.append(tag)
        self.counts["data" if tag == "script" and self.block else tag] += 1

    def handle_endtag(self, tag):
        super().handle_endtag(tag)
        if tag not in self.VOID:
            check(self.open and self.open.pop() == tag, "closed, but not open:", tag)

    def handle_data(self, data):
        super().handle_data(data)
        if not {"script", "style"} & set(self.open):
            self.words += data


def suites_of_others(sandbox):
    """pytest, GoogleTest and a command, none of them ours: their page is as that of any other."""
    pytest = find_pytest()
    (sandbox.path / "test_it.py").write_text(
        "import pytest\n@pytest.mark.parametrize('n', ['<b>', 'a&b'])\ndef test_n(n): assert n == '</script><script>alert(1)</script>'\n"
        "def test_good(): pass\n")
    write_config(sandbox.path / "proctor.toml", {
        "py": {"kind": "pytest", "command": [*pytest, "-p", "no:cacheprovider", "test_it.py"], "backend": "none"},
        "gtest": {"kind": "gtest", "command": [str(BIN / "plan_sample_gtest")], "backend": "none"},
        "shell": {"command": ["/bin/sh", "-c", "echo '<!-- <img src=x onerror=alert(1)>' >&2; exit 3"], "backend": "none"}})
    out = run(sandbox, "--config", "proctor.toml", code=1)
    bad = [case["id"] for case in report(out)["cases"] if case["outcome"] in ("fail", "error", "crash")]
    check({name.split("/")[0] for name in bad} == {"py", "gtest", "shell"}, bad)
    page = WholePage(out / "index.html")
    check(page.counts["script"] == page.counts["style"] == 1, "scripts and styles:", page.counts)
    check("default-src 'none'" in (page.policy or ""), "its policy:", page.policy)
    for name in bad:
        check(name in page.words, name, "is not in the page:", page.words)
    check("onerror=alert(1)" in page.words and "alert(1)</script>" in page.words, "what they said is shown:", page.words)
    print("ok", len(bad), "bad cases of others")


if __name__ == "__main__":
    run_scenarios([several_runs, the_past, the_gate, the_rules, refusals], [suites_of_others])
