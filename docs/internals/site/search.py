#!/usr/bin/env python3
"""What the search of the built site finds, which pages nothing leads to, and what is loaded from elsewhere.

The search is that of mkdocs-material's worker in lunr.py: the same index, stemmer, stop words and scores, where a word in
a title counts a thousand times one in the text. Each section is a document; the best of its sections places a page. Not
copied is the prefix search of a word that is still typed.

    search.py SITE               the words below find their pages
    search.py SITE WORD...       what these words find
"""

import json
import re
import sys
from pathlib import Path

from lunr import lunr

WANTED = {  # the word: the page that it finds first
    "timeout": "reference/config-keys.html",
    "hang": "reference/evidence.html",
    "MIG": "reference/devices.html",
    "drained": "reference/devices.html",
    "flaky": "how-to/retry.html",
    "docker": "how-to/stacks.html",
}


def documents(site):
    with open(site / "search/search_index.json", encoding="utf-8") as file:
        return json.load(file)["docs"]


def searcher(site):
    """words -> the pages, best first"""
    plain = [{**each, "text": re.sub(r"<[^>]+>", " ", each["text"])} for each in documents(site)]
    index = lunr(ref="location", fields=[{"field_name": "title", "boost": 1000}, "text"], documents=plain)

    def search(words):
        return list(dict.fromkeys(hit["ref"].partition("#")[0] for hit in index.search(words)))
    return search


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


def main(arguments):
    site, words = Path(arguments[0]).resolve(), arguments[1:]
    search = searcher(site)
    for word in words:
        print(word, *search(word)[:8], sep="\n  ")
    if words:
        return 0
    wrong = [f"{page}: no page leads to it; add it to the index of its folder" for page in unlinked(site)]
    wrong += fetched(site)
    for word, page in WANTED.items():
        hits = search(word)
        if hits[:1] != [page]:
            wrong.append(f"search: `{word}` does not find {page} first, but {', '.join(hits[:3])}")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
