#!/usr/bin/env python3
"""`proctor report page`: one page of several runs, of one with its past, and what is refused. What a page looks like in a
browser: reports/page/browser."""

import base64
import json
import re
import time
import zlib

from harness import check, run_scenarios


def run(sandbox, *arguments, code=0):
    done = sandbox.proctor("run", "--out", sandbox.out(), *arguments)
    check(done.returncode == code, arguments, "exit", done.returncode, done.stdout, done.stderr)
    return sandbox.last_out()


def page(sandbox, *arguments, out="page.html"):
    done = sandbox.proctor("report", "page", *arguments, "--out", out)
    check(done.returncode == 0 and done.stdout == f"page {out}\n", arguments, done.returncode, done.stdout, done.stderr)
    return (sandbox.path / out).read_text()


def cases(text):
    packed = re.search(r'id="data-list">([^<]*)', text).group(1)
    return json.loads(zlib.decompress(base64.b64decode(packed)))["id"]


def title(text):
    return re.search("<title>(.*?) · Proctor</title>", text).group(1)


def several_runs(sandbox):
    good, bad = run(sandbox, "--", "true"), run(sandbox, "--", "false", code=1)
    check(title((good / "index.html").read_text()) == "Good: 1 passed", title((good / "index.html").read_text()))
    text = page(sandbox, good, bad / "report.json")
    check(title(text) == "Red: 1 of 2 cases not good", title(text))
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
        began = int(time.time())
        while int(time.time()) == began:  # runs are ordered by the second in which they begin
            time.sleep(0.02)
        script.write_text(f"exit {code}\n")
        runs.append(run(sandbox, "--name", "case", "--", "sh", str(script), code=code))
    against = page(sandbox, runs[2], "--against", runs[0])
    check("regression: 1<" in against, "against the first run")
    check(sandbox.proctor("history", "add", "history", runs[0], runs[1]).returncode == 0, "history add")
    text = page(sandbox, runs[2], "--history", "history")
    check("regression: 1<" in text and 'id="data-past"' in text and "this run" in text, "with a history")
    text = page(sandbox, runs[1], "--history", "history")
    check("Nothing: 1 case ended as before." in text, "nothing changed")
    print("ok what changed, and since when")


def refusals(sandbox):
    one = run(sandbox, "--", "true")
    (sandbox.path / "none").mkdir()
    (sandbox.path / "text").write_text("no database\n" * 100)
    (sandbox.path / "mine").mkdir()
    for words, said in ((["missing"], "missing"), (["none"], "no journal.jsonl"), ([one, one, "--against", one], "--against"),
                        ([one, "--against", "none"], "none"), ([one, "--history", "text"], "text"),
                        ([one, "--history", "gone"], "gone")):
        done = sandbox.proctor("report", "page", *words, "--out", "page.html")
        check(done.returncode == 2 and said in done.stderr, words, done.returncode, done.stderr)
        check(not (sandbox.path / "page.html").exists(), words, "half a page")
    for out in ("mine", "nowhere/page.html"):
        done = sandbox.proctor("report", "page", one, "--out", out)
        check(done.returncode != 0 and out in done.stderr, out, done.returncode, done.stderr)
    print("ok refusals")


if __name__ == "__main__":
    run_scenarios([several_runs, the_past, refusals])
