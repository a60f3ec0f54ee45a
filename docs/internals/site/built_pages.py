#!/usr/bin/env python3
"""Checks the built site: each page has a link from another page, and no page loads anything from another site.

    built_pages.py SITE
"""

import re
import sys
from pathlib import Path


def unlinked(site):
    """Pages to which no other page's text leads; the navigation is not counted."""
    pages, linked = set(), {"index.html"}
    for path in site.rglob("*.html"):
        name = path.relative_to(site).as_posix()
        if name == "404.html" or name.startswith("assets/"):
            continue
        pages.add(name)
        article = re.search(r"<article.*?</article>", path.read_text(encoding="utf-8"), re.DOTALL)
        for link in re.findall(r'<a [^>]*href="([^"#:]+)', article[0] if article else ""):
            there = (path.parent / link).resolve()
            if there != path and there.is_relative_to(site):
                linked.add(there.relative_to(site).as_posix())
    return sorted(pages - linked)


def fetched(site):
    """Pages that load a script, a style or an image from another site."""
    pattern = re.compile(r'<(?:script|link|img)\b[^>]*?\b(?:src|href)="?(?:https?:)?//[^" >]+')
    for path in sorted(site.rglob("*.html")):
        for found in sorted(set(pattern.findall(path.read_text(encoding="utf-8")))):
            yield f"{path.relative_to(site)}: loads from another site: {found}"


def main(site):
    wrong = [f"{page}: no page leads to it; add it to the index of its folder" for page in unlinked(site)]
    wrong += fetched(site)
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
