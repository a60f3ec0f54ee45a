"""What MkDocs does not know of docs/: its navigation, its generated pages, file names of fences, and links out of it.

The navigation is the links of each folder's index.md, in their order, so a page without a line there is an error. A link
to a source of a generated page leads to that page. Any other link out of docs/ leads to the repository if the
environment names it as GitHub Actions does; otherwise its text stays.

A comment <!-- table: NAME --> becomes that table (tables.py). A fence ```toml proctor.toml becomes one with that title. A page whose fence is shown as text is a warning, which ends
the build.
"""

import html
import logging
import os
import posixpath
import re
import textwrap
from pathlib import Path

from mkdocs.structure.files import File

import tables

SECTIONS = ("tutorials", "how-to", "reference", "explanation", "internals")
GENERATED = {  # the page: what it is made from
    "reference/commands.md": "harness/cli/manual.cc",
    "reference/rules.md": "suites/rules.toml",
    "reference/config-keys.md": "harness/plan/defaults.toml",
    "reference/diagnosis-rules.md": "harness/classify/rules.toml",
    "reference/files.md": "reports/schema",
}
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)#\s]*)(#[^)\s]*)?\)")
FENCE = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
LOG = logging.getLogger("mkdocs.hooks")


def target(page, link):
    """The link's path from docs/, or from the root for what is located outside: ("docs", ...) or ("root", ...)."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link))
    for generated, source in GENERATED.items():
        if path == source:
            return "docs", generated
    return ("docs", path.removeprefix("docs/")) if path.startswith("docs/") else ("root", path)


def nav_of(section, text):
    """The index, its pages above the first heading, and a group for each heading."""
    items, group = [f"{section}/index.md"], None
    for line in text.splitlines():
        if line.startswith("## "):
            group = []
            items.append({line[3:]: group})
        entry = re.match(r"\* " + LINK.pattern, line)
        if entry:
            (items if group is None else group).append({entry[1].replace("`", ""): target(f"{section}/index.md", entry[2])[1]})
    return items


def on_config(config):
    config.nav = ["index.md"]
    for section in SECTIONS:
        text = Path(config.docs_dir, section, "index.md").read_text(encoding="utf-8")
        config.nav.append({re.match("# (.*)", text)[1]: nav_of(section, text)})
    return config


def on_files(files, config):
    for page in GENERATED:
        text = Path(os.environ["PROCTOR_SITE_PAGES"], Path(page).name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    script = Path(__file__).with_name("iframe-worker.js").read_text(encoding="utf-8")
    files.append(File.generated(config, "assets/iframe-worker.js", content=script))
    return files


def repository():
    """Where GitHub shows the files of this commit, or None."""
    parts = [os.environ.get(name) for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_SHA")]
    return "{}/{}/blob/{}".format(*parts) if all(parts) else None


def on_page_markdown(markdown, page, config, files):
    source, base, markdown = page.file.src_uri, repository(), tables.filled(markdown)

    def rewritten(link):
        text, path, anchor = link[1], link[2], link[3] or ""
        if not path or re.match(r"\w+:", path):
            return link[0]
        tree, path = target(source, path)
        if tree == "docs" and not path.startswith("internals/site/"):
            return f"[{text}]({posixpath.relpath(path, posixpath.dirname(source) or '.')}{anchor})"
        return f"[{text}]({base}/{path}{anchor})" if base else text

    parts, end = [], 0
    for fence in FENCE.finditer(markdown):  # code stays as it is
        named = re.fullmatch(r"(\w+) ([\w./-]+)", fence[2])
        info = f'{named[1]} title="{named[2]}"' if named else fence[2]
        parts += [LINK.sub(rewritten, markdown[end:fence.start()]), f"{fence[1]}```{info}\n{fence[3]}{fence[1]}```"]
        end = fence.end()
    return "".join(parts) + LINK.sub(rewritten, markdown[end:])


def on_page_content(content, page, config, files):
    shown = {html.unescape(re.sub(r"<[^>]+>", "", block)).strip() for block in re.findall(r"<pre>.*?</pre>", content, re.DOTALL)}
    for fence in FENCE.finditer(page.markdown):
        if textwrap.dedent(fence[3]).strip() not in shown:
            LOG.warning("%s: the fence ```%s is shown as text", page.file.src_uri, fence[2])
