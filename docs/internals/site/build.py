#!/usr/bin/env python3
"""Builds the site of docs/ and checks its pages.

    build.py BIN TOOLS SITE    BIN has the executables, TOOLS what requirements.txt lists; the site is written to SITE

The generated pages are in SITE-pages, where the workflow that publishes finds them.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]


def generate(bin_directory, pages):
    """The pages that are not in the tree."""
    import config_page
    import diagnosis_page
    import files_page
    import manual_page
    import rules_page

    pages.mkdir(parents=True, exist_ok=True)
    def proctor(*words):
        return subprocess.run([bin_directory / "proctor", *words], stdout=subprocess.PIPE, text=True, check=True, cwd=pages).stdout

    (pages / "commands.md").write_text(manual_page.markdown(proctor("manual", "page")), encoding="utf-8")
    cases = json.loads(proctor("list", "--json", "--sim", "xpu:2x2,cuda:4", "--backend", "all"))["cases"]
    rules = (ROOT / "suites/rules.toml").read_text(encoding="utf-8")
    (pages / "rules.md").write_text(rules_page.markdown(rules, cases), encoding="utf-8")
    for page, source, markdown in (("config-keys.md", "harness/plan/defaults.toml", config_page.markdown),
                                   ("diagnosis-rules.md", "harness/classify/rules.toml", diagnosis_page.markdown)):
        (pages / page).write_text(markdown((ROOT / source).read_text(encoding="utf-8")), encoding="utf-8")
    (pages / "files.md").write_text(files_page.markdown(ROOT / "reports/schema"), encoding="utf-8")


def main(arguments):
    bin_directory, tools, site = (Path(argument).resolve() for argument in arguments)
    pages = site.with_name(site.name + "-pages")
    generate(bin_directory, pages)
    environment = {**os.environ, "PYTHONPATH": str(tools), "PROCTOR_SITE_PAGES": str(pages), "PYTHONDONTWRITEBYTECODE": "1",
                   "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--config-file", HERE / "mkdocs.yml",
                    "--site-dir", site], check=True, env=environment)
    subprocess.run([sys.executable, "-B", HERE / "built_pages.py", site], check=True, env=environment)
    print(f"the site is in {site}/index.html")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
