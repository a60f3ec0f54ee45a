#!/usr/bin/env python3
"""Tests the page of a run in the distribution's Chromium: its appearance, its functions and its speed.

    browser_test.py looks    axe, without scripts, on paper, in the dark, 320 pixels wide, hostile text, no request
    browser_test.py works    search, filters, addresses, keyboard, a case, its past, of 10,000 cases
    browser_test.py large    pages of 0, 1 and 100,000 cases, and their figures
    browser_test.py screenshots DIRECTORY    those of docs/images, of a real mixed run: ./dev docs --pictures

Exits with 77 if Chromium or Playwright is missing; ./dev test installs them. It prints the measured times. A time fails only
if it is ten times the expected one, or more than 5 s, so that a busy machine does not fail the test.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import journals

HERE = Path(__file__).resolve().parent
BIN = Path(os.environ.get("PROCTOR_BIN_DIR", HERE.parents[2] / "build/bin"))
PROCTOR = BIN / "proctor"
CHROMIUM = "/usr/bin/chromium"


def skip(what):
    print(f"skipped: {what} is not here; ./dev test installs it")
    sys.exit(77)


try:
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import sync_playwright
except ImportError as missing:
    skip(missing.name or "Playwright")
if not os.access(CHROMIUM, os.X_OK):
    skip("chromium")


def check(holds, *what):
    if not holds:
        raise SystemExit("failed: " + " ".join(str(one)[:2000] for one in what))


def proctor(*words, **more):
    done = subprocess.run([PROCTOR, *map(str, words)], capture_output=True, text=True, check=False, **more)
    check(done.returncode == 0, words, done.returncode, done.stdout, done.stderr)
    return done.stdout


def page_of(run):
    proctor("report", "render", run, "--format", "html")
    return run / "index.html"


def made(directory, name, *arguments, **more):
    journals.write(directory / name, *arguments, **more)
    return page_of(directory / name)


class Tab:
    """A page in a tab. Each network request and each error message of the page is a failure."""

    def __init__(self, browser, file, address="", scripts=True, **options):
        self.context = browser.new_context(java_script_enabled=scripts, **({"viewport": {"width": 1280, "height": 900}} | options))
        self.page = self.context.new_page()
        self.asked, self.said, self.file, self.scripts = [], [], file, scripts
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.said.append("a dialog"), dialog.dismiss()))
        self.open(address)

    def open(self, address):
        self.page.goto(f"file://{self.file}{address}", wait_until="commit")
        self.page.wait_for_load_state("domcontentloaded", timeout=60_000)
        if self.scripts:
            self.page.wait_for_selector("html[data-ready]", timeout=60_000, state="attached")

    def __getattr__(self, name):
        return getattr(self.page, name)

    def status(self):
        return self.page.locator(".status").inner_text()

    def ids(self):
        """Returns the case ids of the drawn rows, in their order."""
        return self.page.evaluate("""[...document.querySelectorAll('.port .row')].sort((a, b) => parseInt(a.style.top) - parseInt(b.style.top))
                                     .map((row) => row.querySelector('.id').textContent)""")

    def wait(self, expression):
        # wait_for_function() is not usable, because the page's content security policy blocks the code that it evaluates.
        deadline = time.monotonic() + 10
        while not self.page.evaluate(expression):
            check(time.monotonic() < deadline, "it never came to", expression, self.page.inner_text("body"))
            self.page.wait_for_timeout(20)

    def axe(self, what):
        found = Axe().run(self.page)
        check(found.violations_count == 0, "axe on", what, found.generate_report())

    def fits(self, what):
        wide, seen = self.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        check(wide <= seen, what, "is", wide, "wide in", seen)

    def close(self):
        own = {f"file://{self.file}"}
        check({url.partition("#")[0] for url in self.asked} <= own, "asked for", self.asked)
        check(not self.said, "said", self.said)
        self.context.close()


@contextmanager
def browser():
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield started
        started.close()


def looks(directory, started):
    hostile = made(directory, "hostile", 40, bad_percent=20, log_bytes=4000, hostile=True)
    text = hostile.read_text(encoding="utf-8")
    check("\u202e" not in text and "<img" not in text and "<!--" not in text, "markup of the run stands in the page")

    plain = Tab(started, hostile, scripts=False)
    words = plain.inner_text("body")
    for said in ("is unhealthy: it was lost in", "Exit code", "Causes", "was not written", "--case"):
        check(said in words, "without scripts it does not say", said, words[:3000])
    check(plain.locator("#plain .row").count() == 8, "failed cases without scripts")
    check(not plain.locator("#explorer").is_visible(), "an empty list is shown")
    plain.fits("without scripts")
    plain.close()

    tab = Tab(started, hostile)
    check(tab.title().endswith("Proctor") and "owned" not in tab.title(), tab.title())
    check(not tab.locator("#plain").is_visible() and tab.locator("#explorer").is_visible(), "the list is not shown")
    tab.axe("the page")
    tab.locator(".port .row").first.click()
    tab.wait_for_selector("dialog[open] .log pre")
    shown = tab.inner_text("dialog")
    for said in ("</script><script>document.title='owned'</script>", "<img src=x onerror=alert(1)>", "<!-- ]]>", "::error::no", "\\xE2\\x80\\xAEgnp.exe"):
        check(said in shown, "it does not show", said, shown)
    check(tab.locator("dialog img").count() == 0 and "owned" not in tab.title(), "it obeyed a log")
    tab.axe("a case")
    tab.close()
    print("ok hostile text is text; axe finds nothing; without scripts it reads")

    for scheme, width in (("dark", 1280), ("dark", 320), ("light", 320)):
        tab = Tab(started, hostile, viewport={"width": width, "height": 700}, color_scheme=scheme, reduced_motion="reduce")
        tab.fits(f"{width} pixels, {scheme}")
        tab.axe(f"{width} pixels, {scheme}")
        tab.locator(".port .row").first.click()
        tab.wait_for_selector("dialog[open] .log pre")
        tab.fits(f"a case on {width} pixels")
        tab.axe(f"a case on {width} pixels, {scheme}")
        paper = tab.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        check((paper == "rgb(255, 255, 255)") == (scheme == "light"), scheme, paper)
        check(tab.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto", "it moves")
        tab.close()
    print("ok dark and light, 320 pixels wide")

    tab = Tab(started, hostile)
    tab.emulate_media(media="print")
    check(tab.locator("#plain").is_visible() and not tab.locator("#explorer").is_visible(), "on paper the list has no rows")
    colours = tab.evaluate("""[...document.querySelectorAll('.badge, .badge *, h1, h1 *, a')].filter((one) => one.offsetParent)
        .flatMap((one) => [getComputedStyle(one).color, getComputedStyle(one).backgroundColor])""")
    grey = [c for c in set(colours) if len(set(c[c.index("(") + 1:-1].replace(" ", "").split(",")[:3])) > 1]
    check(not grey, "colours on paper", grey)
    check(tab.locator(".badge .sign").first.inner_text() in "✓✗~–?", "no sign beside the colour")
    check(len(tab.pdf()) > 1000, "no PDF")
    tab.close()
    print("ok on paper, in black and white")


def works(directory, started):
    page = made(directory, "run", 10_000, bad_percent=2)
    tab = Tab(started, page)
    check(tab.status() == "10,000 cases", tab.status())
    check(tab.locator(".port .row").count() < 60, "rows are drawn that nobody sees")
    check(all("Case" in one for one in tab.ids()), tab.ids())

    tab.fill("#q", "copy SIZE4096 not written")
    tab.wait("document.querySelector('.status').textContent.includes(' of ')")
    found = tab.ids()
    check(found and all("Copy" in one and "Size4096" in one for one in found), found)
    check("q=copy%20SIZE4096" in tab.url, tab.url)
    check(tab.locator(".port .row p").first.inner_text().endswith("was not written"), "the message is not searched")
    tab.fill("#q", "no such words")
    tab.wait("document.querySelector('.status').textContent === '0 of 10,000 cases'")
    tab.axe("an empty list")
    tab.get_by_role("button", name="Clear filters").click()
    check(tab.status() == "10,000 cases" and tab.input_value("#q") == "", "the filters are not cleared")
    print("ok search")

    tab.get_by_role("button", name="crash").click()
    crashes = int(tab.status().split()[0])
    check(crashes == 40 and tab.url.endswith("#outcome=crash"), tab.status(), tab.url)
    tab.get_by_role("button", name="timeout").click()
    check(tab.status().startswith("80 of"), tab.status())
    tab.get_by_role("button", name="crash").click()
    tab.get_by_role("button", name="timeout").click()
    tab.select_option("#f-suite", "kernels.xpu")
    of_suite = sum(journals.case_of(i)[0] == "kernels.xpu" for i in range(10_000))
    check(tab.status().startswith(f"{of_suite:,} of") and all(one.startswith("kernels.xpu/") for one in tab.ids()), tab.status())
    tab.select_option("#f-owner", "machine")
    machine = tab.status()
    tab.select_option("#f-suite", "")
    check(tab.status() == "40 of 10,000 cases", machine, tab.status())
    tab.select_option("#f-owner", "")
    tab.select_option("#f-mark", "slow")
    check(tab.status().startswith("11 of"), tab.status())
    tab.select_option("#f-mark", "")
    device = tab.locator("#f-device option").nth(1).get_attribute("value")
    tab.select_option("#f-device", device)
    some = int(tab.status().split()[0].replace(",", ""))
    check(0 < some < 10_000, tab.status())
    tab.select_option("#f-device", "")
    tab.select_option("#f-sort", "duration")
    times = tab.evaluate("[...document.querySelectorAll('.port .row')].sort((a, b) => parseInt(a.style.top) - parseInt(b.style.top)).map((r) => r.querySelector('.time').textContent)")
    check(times[0] in ("4.0 s", "3.9 s") and times == sorted(times, key=lambda t: float(t.split()[0]), reverse=True), times)
    tab.select_option("#f-sort", "id")
    check(tab.ids() == sorted(tab.ids(), key=str.lower), tab.ids())
    tab.select_option("#f-sort", "")
    print("ok filters and orders")

    tab.locator("#causes .many a").first.click()
    one_cause = tab.status()
    check("cause=" in tab.url and " of " in one_cause, tab.url, one_cause)
    address = tab.url
    tab.go_back()
    tab.wait("document.querySelector('.status').textContent === '10,000 cases'")
    again = Tab(started, page, "#" + address.partition("#")[2])
    check(again.status() == one_cause, "the address shows", again.status(), "and not", one_cause)
    again.close()
    tab.locator("#matrix td a").first.click()
    check("variant=" in tab.url, tab.url)
    tab.open("#outcome=crash&sort=duration")
    check(tab.status().startswith("40 of"), tab.status())
    tab.open("#outcome=%ZZ&nonsense&q=%E2%82&suite=none")
    check(tab.status().startswith("0 of"), "nonsense in the address:", tab.status())
    for name in ("constructor", "__proto__", "toString", "nonsense"):
        tab.open(f"#sort={name}&{name}=1")
        check(tab.status() == "10,000 cases" and tab.locator(".port .row").count() > 5, f"#sort={name}:", tab.status())
    print("ok an address is what the page shows")

    tab.open("#outcome=fail")
    tab.keyboard.press("/")
    check(tab.evaluate("document.activeElement.id") == "q", "/ does not lead to the search")
    tab.keyboard.press("ArrowDown")
    check(tab.evaluate("document.activeElement.id") == "list", "the list has no keyboard")
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "PageDown", "End", "Home", "ArrowDown"):
        tab.keyboard.press(key)
    check(tab.locator("#list").get_attribute("aria-activedescendant") == "row-1", "the second row is not the active one")
    second = tab.locator("#row-1 .id").inner_text()
    tab.keyboard.press("Enter")
    tab.wait_for_selector("dialog[open]")
    check(tab.locator("#case-id").inner_text() == second and "case=" in tab.url, "Enter opens another case")
    tab.keyboard.press("ArrowRight")
    tab.wait(f"document.getElementById('case-id').textContent !== {json.dumps(second)}")
    tab.keyboard.press("k")
    tab.wait(f"document.getElementById('case-id').textContent === {json.dumps(second)}")
    command = tab.locator("dialog pre.command").first.inner_text()
    check(command == f"proctor run --case {second}", command)
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.locator("dialog .copy").first.click()
    tab.wait("document.querySelector('dialog .copy').textContent === 'Copied'")
    check(tab.evaluate("navigator.clipboard.readText()") == command, "the copy")
    link = tab.locator("dialog .log a").first.get_attribute("href")
    check(link.startswith("logs/") and link.endswith(".1.log"), link)
    check("proctor explain" in tab.inner_text("dialog"), "no explain")
    tab.keyboard.press("Escape")
    tab.wait("!document.querySelector('dialog[open]')")
    check(tab.evaluate("document.activeElement.id") == "list" and "case=" not in tab.url, "the keyboard is lost")
    tab.go_back()
    tab.wait_for_selector("dialog[open]")
    tab.close()
    print("ok everything by keyboard")

    first_screen(directory, started)
    past(directory, started)


def first_screen(directory, started):
    """Tests the fixed bar, the causes with their commands, and flaky cases."""
    page = made(directory, "first", 300, bad_percent=2, flaky=(3, 4))
    for width, scheme in ((1280, "light"), (400, "dark")):
        tab = Tab(started, page, viewport={"width": width, "height": 800}, color_scheme=scheme, reduced_motion="reduce")
        check(tab.title().startswith("Failed: GPU xpu:0000:06:00.0 is unhealthy: it was lost in"), tab.title())
        tab.fits(f"the first screen, {width} pixels wide")
        tab.axe(f"the first screen, {width} pixels wide, {scheme}")
        for name in ("causes", "cases", "devices"):
            tab.locator(f".top-bar a[href='#{name}']").click()
            bar, heading = (tab.locator(one).bounding_box() for one in (".top-bar", f"#h-{name}"))
            at_end = tab.evaluate("scrollY + innerHeight >= document.documentElement.scrollHeight - 2")
            check(0 <= bar["y"] < 2 and heading["y"] >= bar["height"] and (at_end or heading["y"] < 200), name, bar, heading)
        tab.locator(".top-bar a").first.click()
        tab.wait("scrollY === 0")
        tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
        tab.locator("#causes .copy").first.click()
        tab.wait("document.querySelector('#causes .copy').textContent === 'Copied'")
        copied = tab.evaluate("navigator.clipboard.readText()")
        check(copied == tab.locator("#causes pre.command").first.text_content() and "--case" in copied, copied)
        tab.locator(".chip.flaky").click()
        check(tab.status() == "2 of 300 cases" and tab.url.endswith("#look=flaky"), tab.status(), tab.url)
        check(tab.locator(".port .row .badge.flaky").count() == 2, "flaky rows")
        tab.open("#look=failed")
        check(":" in tab.locator("#row-1 .side").inner_text(), "no device beside", tab.locator("#row-1").inner_text())
        tab.close()
    print("ok the first screen")


def past(directory, started):
    """Tests three runs; the third one has other cases and another driver."""
    for day in (1, 2, 3):
        journals.write(directory / f"day{day}", 300, bad_percent=2 if day < 3 else 3, day=day, driver="26.27.1" if day < 3 else "26.35.2")
    proctor("history", "add", directory / "history", directory / "day1", directory / "day2")
    out = directory / "pages/third.html"
    out.parent.mkdir()
    proctor("report", "render", "--format", "page", directory / "day3", "--history", directory / "history", "--out", out)
    tab = Tab(started, out)
    changes = tab.inner_text("#changes")
    check("26.27.1" in changes and "26.35.2" in changes and "regression" in changes, changes)
    tab.get_by_label("new only").check()
    check("new=1" in tab.url and " of 300" in tab.status(), tab.status())
    tab.open("#outcome=fail&sort=age")
    check("failing for 3 runs" in tab.locator("#row-0 .side").inner_text(), tab.locator("#row-0").inner_text())
    tab.locator("#row-0").click()
    tab.wait_for_selector("dialog[open] .chart svg")
    check(tab.locator("dialog .chart g").count() == 3, "outcomes in the chart")
    tab.locator("dialog summary", has_text="Each of them").click()
    check("26.27.1 -> 26.35.2" in tab.inner_text("dialog") or tab.locator("dialog .past li").count() == 3, tab.inner_text("dialog"))
    check(tab.locator("dialog .log a").first.get_attribute("href").startswith("../day3/logs/"), "links of a page elsewhere")
    tab.axe("a case with its past")
    tab.close()

    proctor("report", "render", "--format", "page", directory / "day1", directory / "day3", "--out", out)
    tab = Tab(started, out)
    check(tab.locator("#reports tbody tr").count() == 2 and tab.status() == "600 cases", tab.status())
    tab.locator("#reports td a").nth(1).click()
    check(tab.status() == "300 of 600 cases", tab.status())
    tab.locator("#row-0").click()
    tab.wait_for_selector("dialog[open]")
    check("of=1" in tab.url and "20260103" in tab.inner_text("dialog"), tab.url)
    tab.axe("a page of two runs")
    tab.close()
    print("ok the past of a run, and two runs on a page")
    panels(directory, started)


def panels(directory, started):
    """Tests the panels for a gate and for the coverage of the suites."""
    rule = {"limit": "0 cases", "value": "9 cases", "reasons": ["9 cases failed"], "rule": "failures", "verdict": "failed",
            "cases": [f"memory.xpu/<b>{i}</b>" for i in range(90)]}
    gate = {"schema_version": 1, "verdict": "failed", "evaluated_at": "2026-01-31T12:00:00Z", "runs": [], "rules": [{**rule, "verdict": "passed"}],
            "policy": {"file": "gate.toml", "sha256": "a" * 64, "relaxations": [{"line": 3, "key": "hardware", "value": "false", "strict": "true"}]},
            "cells": [{"name": "memory.xpu", "verdict": "failed", "planned": 300, "executed": 300, "runs": ["day3"], "rules": [rule]}]}
    (directory / "gate.json").write_text(json.dumps(gate))
    (directory / "coverage.json").write_text(proctor("list", "--coverage", "--json", "--sim", "xpu:1x1"))
    out = directory / "pages/panels.html"
    proctor("report", "render", "--format", "page", directory / "day3", "--gate", directory / "gate.json", "--coverage", directory / "coverage.json", "--out", out)
    for scripts, scheme, width in ((False, "light", 1280), (True, "light", 1280), (True, "dark", 320)):
        tab = Tab(started, out, scripts=scripts, viewport={"width": width, "height": 700}, color_scheme=scheme)
        check("9 cases failed" in tab.inner_text("#gate") and "<b>0</b>" in tab.inner_text("#gate"), tab.inner_text("#gate"))
        check("not in this run" in tab.inner_text("#coverage"), tab.inner_text("#coverage"))
        for name in ("gate", "coverage"):
            for folded in tab.locator(f"#{name} > details > summary, #{name} > table summary").all():
                folded.click()
        tab.fits(f"its panels, {width} pixels wide")
        if scripts:
            tab.axe(f"its panels, {scheme}")
        tab.close()
    print("ok the panels of a gate, and of what is covered")


SEARCH = """async () => {
  const box = document.getElementById('q'), times = [];
  for (const word of ['copy', 'case12', 'size4096', '0.02', 'lost gpu', 'nothing', 'attention ofsize']) {
    for (let i = 1; i <= word.length; ++i) {
      const begin = performance.now();
      box.value = word.slice(0, i);
      box.dispatchEvent(new Event('input', { bubbles: true }));
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      times.push(performance.now() - begin);
    }
  }
  box.value = '';
  box.dispatchEvent(new Event('input', { bubbles: true }));
  return times.sort((a, b) => a - b);
}"""
SCROLL = """async () => {
  const list = document.getElementById('list'), times = [];
  await new Promise(requestAnimationFrame);
  let last = performance.now();
  for (let i = 0; i < 120; ++i) {
    list.scrollTop = i < 60 ? i * 200 : (list.scrollHeight * (i - 60)) / 60;
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    times.push(now - last);
    last = now;
  }
  return times.sort((a, b) => a - b);
}"""


def tab_mb(started):
    """Returns the private memory of the largest process of a tab."""
    largest = 0
    for process in started.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]:
        if process["type"] == "renderer":
            kib = [int(line.split()[1]) for line in Path(f"/proc/{process['id']}/smaps_rollup").read_text().splitlines()
                   if line.startswith("Private_")]
            largest = max(largest, sum(kib) / 1024)
    return largest


def figures(started, page, name):
    begin = time.monotonic()
    tab = Tab(started, page)
    usable = (time.monotonic() - begin) * 1000
    painted = tab.evaluate("Math.max(0, ...performance.getEntriesByType('paint').map((entry) => entry.startTime))")
    keys, frames = tab.evaluate(SEARCH), tab.evaluate(SCROLL)
    found = {"verdict_ms": painted, "usable_ms": usable, "key_p95_ms": keys[int(len(keys) * 0.95)], "frame_ms": frames[-1],
             "tab_mb": tab_mb(started), "page_mb": page.stat().st_size / 1e6}
    print(f"{name}: " + ", ".join(f"{key} {value:.0f}" if value > 10 else f"{key} {value:.2f}" for key, value in found.items()))
    for key, most in (("verdict_ms", 1000), ("usable_ms", 2000), ("key_p95_ms", 100), ("frame_ms", 50)):
        check(found[key] <= max(10 * most, 5000), name, key, found[key])
    check(found["tab_mb"] <= 400, name, found)
    return tab, found


def large(directory, started):
    for count, words in ((0, "No case was planned."), (1, "1 case")):
        tab = Tab(started, made(directory, f"of{count}", count, bad_percent=0))
        check(words in tab.inner_text("body") and tab.status() == ("1 case" if count else "0 cases"), tab.inner_text("body"))
        tab.axe(f"a page of {count} cases")
        tab.close()
    journals.write(directory / "large", 100_000, bad_percent=1)
    begin = time.monotonic()
    page = page_of(directory / "large")
    print(f"journal of {(directory / 'large/journal.jsonl').stat().st_size / 1e6:.0f} MB read, and its page written, in {time.monotonic() - begin:.1f} s")
    tab, found = figures(started, page, "100,000 cases, 1 % bad")
    check(found["page_mb"] <= 3, found)
    check(tab.locator(".port .row").count() < 60, "rows are drawn that nobody sees")
    tab.evaluate("document.getElementById('list').scrollTop = 1e9")
    tab.wait("[...document.querySelectorAll('.port .row')].some((row) => row.getAttribute('aria-posinset') === '100000')")
    tab.close()
    shutil.rmtree(directory / "large")

    journals.write(directory / "bad", 100_000, bad_percent=100)
    page = page_of(directory / "bad")
    tab, found = figures(started, page, "100,000 cases, all bad")
    check(page.stat().st_size <= 20_000_000, found)
    tab.open("#sort=plan")
    tab.evaluate("document.getElementById('list').scrollTop = 1e9")
    tab.wait("document.getElementById('row-99999')")
    tab.locator("#row-99999").click()
    tab.wait_for_selector("dialog[open] .attempt")
    tab.close()


def mixed(project):
    """Creates the page of a real run of a commit that breaks tests. The commit before it also ran, and passed them."""
    (project / "samples").symlink_to(BIN)
    environment = dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}", HOME=str(project))
    environment.pop("PYTHONPATH", None)

    def git(*words):
        subprocess.run(["git", "-c", "user.name=Alice", "-c", "user.email=alice@example.org", *words], cwd=project,
                       env=environment, check=True)

    def commit_and_run(message):
        git("add", "--all")
        git("commit", "--quiet", "--message", message)
        done = subprocess.run(
            ["proctor", "run", "--sim", "xpu:2x2", "--known-failures", "known.toml", "--flaky", "pass:50%"],
            cwd=project, env=environment, capture_output=True, text=True, check=False)
        check(done.returncode == 1, done.stdout[-3000:], done.stderr)
        run = (project / "proctor-out/latest").resolve()
        proctor("history", "add", "history", run, cwd=project)
        return run

    git("init", "--quiet", "--initial-branch", "main")
    git("remote", "add", "origin", "https://github.com/example/kernels.git")
    commit_and_run("attention: add the kernels")
    kernels = project / "kernels.py"
    kernels.write_text(kernels.read_text().replace("TILE = 64", "TILE = 160"))
    run = commit_and_run("attention: use larger tiles")
    proctor("report", "render", "--format", "page", run, "--history", "history", "--out", run / "index.html", cwd=project)
    return run / "index.html"


def screenshots(started, target):
    project = Path(tempfile.gettempdir()) / "project"  # the page shows this path
    check(not project.exists(), project, "is there: move it away")
    shutil.copytree(HERE / "mixed", project)
    try:
        take_screenshots(mixed(project), started, target)
    finally:
        shutil.rmtree(project)


def take_screenshots(page, started, target):
    target.mkdir(parents=True, exist_ok=True)
    for name, options, address in (
            ("page", {"viewport": {"width": 1200, "height": 860}}, ""),
            ("page-case", {"viewport": {"width": 1200, "height": 860}}, "#case=attention/test_attention.py::test_matches_reference[bf16-8]"),
            ("page-list", {"viewport": {"width": 1200, "height": 860}, "color_scheme": "dark"}, "#look=failed")):
        tab = Tab(started, page, address, reduced_motion="reduce", **options)
        tab.wait_for_timeout(300)
        tab.screenshot(path=target / f"{name}.png")
        tab.close()
        print(target / f"{name}.png")


def main():
    parts = {"looks": looks, "works": works, "large": large}
    if len(sys.argv) == 3 and sys.argv[1] == "screenshots":
        part = lambda _, started: screenshots(started, Path(sys.argv[2]))
    elif len(sys.argv) == 2 and sys.argv[1] in parts:
        part = parts[sys.argv[1]]
    else:
        print(__doc__)
        return 2
    with tempfile.TemporaryDirectory(prefix="proctor-browser-") as directory, browser() as started:
        part(Path(directory), started)
    return 0


if __name__ == "__main__":
    sys.exit(main())
