"""The site's Markdown: the repository's pages under the site's paths, with links that fit."""

from __future__ import annotations

import os.path
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
FORGE = "https://github.com/parallel-pool/parallel_pool"

# Pages with another path on the site. Those of docs/ lose this folder, all others keep their path.
MOVED = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/README.md": "benchmarks/method.md",
    "docs/README.md": "all-pages.md",
    "docs/environments/README.md": "environments/index.md",
    "examples/README.md": "examples.md",
    "integration/README.md": "integration.md",
}
PICTURES = (".gif", ".png", ".svg")

CODE = re.compile(r"(^```.*?^```$|`[^`\n]*`)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<=\]\()([^)\s#]*)(#[^)\s]*)?(?=\))")


def sources(root: Path = ROOT) -> list[Path]:
    """Returns the repository's pages that the site has."""
    results = root.glob("benchmarks/results/*/*.md")
    return sorted({*(root / name for name in MOVED), *root.glob("docs/**/*.md"), *results})


def site_path(name: str) -> str:
    """Returns the site's path of a file of the repository."""
    return MOVED.get(name, name.removeprefix("docs/"))


def write(target: Path, root: Path = ROOT) -> None:
    """Fills an empty folder with pages, and with the pictures that they show."""
    pages = {path.relative_to(root).as_posix() for path in sources(root)}
    for name in sorted(pages):
        page = Page(name, pages, root)
        write_text(target / site_path(name), page.text())
        for picture in page.pictures:
            copy = target / site_path(picture)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / picture, copy)


class Page:
    """One page of the repository.

    Attributes:
        name: its path in the repository.
        pictures: paths in the repository of the pictures that it shows; `text` collects them.
    """

    def __init__(self, name: str, pages: Iterable[str], root: Path) -> None:
        self.name = name
        self.pictures: set[str] = set()
        self._pages = frozenset(pages)
        self._root = root

    def text(self) -> str:
        """Returns the page. A link to a file that is no page of the site leads to the forge."""
        text = (self._root / self.name).read_text()
        if self.name == "README.md":
            text = picture_after_program(text)
        parts = CODE.split(text)
        # every second part is code
        parts[::2] = [LINK.sub(lambda found: self._link(*found.groups()), p) for p in parts[::2]]
        return "".join(parts)

    def _link(self, path: str, anchor: str | None) -> str:
        anchor = anchor or ""
        if not path or "://" in path:
            return path + anchor
        target = os.path.normpath(PurePosixPath(self.name).parent / path)
        if target.endswith(PICTURES):
            self.pictures.add(target)
        elif target not in self._pages:
            kind = "tree" if (self._root / target).is_dir() else "blob"
            return f"{FORGE}/{kind}/main/{target}{anchor}"
        here = PurePosixPath(site_path(self.name)).parent
        return os.path.relpath(site_path(target), here) + anchor


def picture_after_program(text: str) -> str:
    """Moves a README's first picture behind its first two blocks of code.

    The command that installs the package is then on the first screen.
    """
    blocks = list(paragraphs(text))
    picture = next(i for i, block in enumerate(blocks) if block.startswith("!["))
    programs = [i for i, block in enumerate(blocks) if block.startswith("```")]
    blocks.insert(programs[1], blocks.pop(picture))
    return "\n\n".join(blocks) + "\n"


def paragraphs(text: str) -> Iterator[str]:
    """Yields what blank lines separate; a block of code is one paragraph."""
    lines: list[str] = []
    is_code = False
    for line in text.splitlines():
        is_code ^= line.startswith("```")
        if line or is_code:
            lines.append(line)
        elif lines:
            yield "\n".join(lines)
            lines = []
    if lines:
        yield "\n".join(lines)


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
