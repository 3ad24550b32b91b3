"""Checks the built site: links and anchors, descriptions of public names, Markdown left as text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pages

# Markdown that became no list, table or block of code
RAW = re.compile(r"\n\s*(?:[-*] |\d+\. |\|)|```")
HEADING = re.compile(r'<h\d id="([^"]+)" class="doc doc-heading">')


class Document(HTMLParser):
    """One page of the site.

    Attributes:
        ids: its anchors.
        links: what it links to and shows.
        raw: texts of paragraphs that hold Markdown.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.raw: list[str] = []
        self._text: list[str] | None = None
        self.source = path.read_text()
        self.feed(self.source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids |= {value for name in ("id", "name") if (value := values.get(name))}
        self.links += [value for name in ("href", "src") if (value := values.get(name))]
        if tag == "p":
            self._text = []

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "p" and self._text is not None:
            text = "".join(self._text)
            if RAW.search(text):
                self.raw.append(text)
            self._text = None


def check(html: Path, anchors: set[str]) -> list[str]:
    """Returns the faults of a built site, a line each.

    Args:
        html: its folder.
        anchors: those of public names, all of which the pages must have.
    """
    documents = {path: Document(path) for path in sorted(html.rglob("*.html"))}
    found = [
        f"{path.relative_to(html)}: {fault}"
        for path, document in documents.items()
        if path.name != "404.html"  # its links begin at the root of the published site
        for fault in page_faults(path, document, documents, html)
    ]
    missing = anchors - {each for document in documents.values() for each in document.ids}
    return found + [f"{name}: no page describes it" for name in sorted(missing)]


def page_faults(
    path: Path, document: Document, documents: dict[Path, Document], html: Path
) -> Iterator[str]:
    """Yields what is wrong with one page."""
    for link in document.links:
        if fault := link_fault(path, link, documents, html):
            yield f"{link}: {fault}"
    for text in document.raw:
        yield f"Markdown is left in a paragraph, maybe without a blank line before it: {text!r}"
    for name in undocumented(document.source):
        yield f"{name}: it has no docstring"


def link_fault(path: Path, link: str, documents: dict[Path, Document], html: Path) -> str | None:
    """Returns what is wrong with a link of a page, or None."""
    if link.startswith(pages.FORGE + "/"):
        return forge_fault(link)
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    target = target / "index.html" if target.is_dir() else target
    if not target.is_relative_to(html.resolve()) or not target.is_file():
        return "there is no such file"
    fragment = unquote(parts.fragment)
    # "__" begins what the theme's own script uses
    if fragment and not fragment.startswith("__") and target in documents:
        return None if fragment in documents[target].ids else "the page has no such anchor"
    return None


def forge_fault(link: str) -> str | None:
    """Returns what is wrong with a link to this repository on the forge, or None."""
    found = re.match(r"/(?:blob|tree)/main/([^#]*)", link.removeprefix(pages.FORGE))
    if found and not (pages.ROOT / found[1]).exists():
        return "the repository has no such file"
    return None


def undocumented(source: str) -> Iterator[str]:
    """Yields the names that a page of the reference shows without a text."""
    parts = HEADING.split(source)
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        if "<p>" not in text:
            yield name
