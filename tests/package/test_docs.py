"""Pages: their Python code runs as written, links lead somewhere, the index lists all of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from parallel_pool._families import atari_proofs

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINKING = [
    *(*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "SECURITY.md"),
    *(ROOT / name / "README.md" for name in ("benchmarks", "examples", "integration")),
]
# CHANGELOG.md names files that are no more
NAMING = [page for page in LINKING if page.name != "CHANGELOG.md"]
# where paths on pages begin
BASES = (".", "csrc", "csrc/envs", "csrc/envs/atari", "parallel_pool", "parallel_pool/_workers")

# what a page's code needs that may be missing
NEEDS = {"minari.md": "minari"}

# Runs the blocks of one page one after another, as a reader would type them.
RUN = """
import pathlib, sys
namespace = {"__name__": "__main__"}
for block in sorted(pathlib.Path(sys.argv[1]).glob("block-*.py")):
    exec(compile(block.read_text(), str(block), "exec"), namespace)
"""


def python_blocks(page: Path) -> list[tuple[int, str]]:
    """Returns line and text of every Python block of a page."""
    text = page.read_text()
    return [
        (text.count("\n", 0, block.start()) + 1, block[1])
        for block in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    ]


def test_blocks_are_found() -> None:
    assert len(python_blocks(ROOT / "docs" / "migrating-from-envpool.md")) >= 5


def test_every_block_names_its_language() -> None:
    """test_python_blocks_run runs only blocks that are marked as python."""
    for page in PAGES:
        fences = re.findall(r"^```(.*)$", page.read_text(), re.MULTILINE)
        assert len(fences) % 2 == 0, f"{page.name}: a block is not closed"
        languages = set(fences[::2])
        assert languages <= {"python", "sh", "c", "text"}, f"{page.name}: {languages}"


def links(page: Path) -> list[tuple[str, str]]:
    """Returns path and anchor of every link of a page to a file of this repository."""
    text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"\]\(([^)\s]+)\)", text)
    return [link.partition("#")[::2] for link in found if "://" not in link]


def anchors(page: Path) -> set[str]:
    """Returns the anchors that GitHub gives to a page's headings."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in plain}


def test_links_lead_somewhere() -> None:
    for page in LINKING:
        name = page.relative_to(ROOT)
        for path, anchor in links(page):
            target = (page.parent / path).resolve() if path else page
            assert target.exists(), f"{name}: {path} is not there"
            if anchor:
                assert anchor in anchors(target), f"{name}: {path} has no heading #{anchor}"


def test_the_index_lists_every_page() -> None:
    index = ROOT / "docs" / "README.md"
    listed = {(index.parent / path).resolve() for path, _ in links(index)}
    assert {page for page in PAGES if page != index} <= listed


def names(page: Path) -> list[str]:
    """Returns what a page's text has in backquotes."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"`([^`\n]+)`", text)


def test_files_that_a_page_names_exist() -> None:
    """A path begins at the root of the repository, or in a folder that the page is about."""
    pattern = r"(?!out/)[\w.*-]+(/[\w.*-]+)+(\.(py|pyi|c|h|inl|md|json)|/)"
    for page in NAMING:
        bases = [ROOT / base for base in BASES] + [page.parent]
        for name in names(page):
            path = name.partition("::")[0]
            if re.fullmatch(pattern, path):
                is_there = any(any(base.glob(path.rstrip("/"))) for base in bases)
                assert is_there, f"{page.relative_to(ROOT)}: {path} is not there"


def test_tests_that_pages_name_exist() -> None:
    files = (ROOT / "tests").rglob("test_*.py")
    there = set(re.findall(r"def (test_\w+)\(", "\n".join(path.read_text() for path in files)))
    named = {name.rpartition("::")[2] for page in NAMING for name in names(page)}
    tests = {name for name in named if re.fullmatch(r"test_\w+", name)}
    assert len(tests) >= 10 and tests <= there


def test_counts_of_atari_games_match_the_table() -> None:
    """`python -m parallel_pool prove-atari --write` writes the table; people write the pages."""
    proofs = atari_proofs.committed()
    exact = sum(proof.difference is None for proof in proofs.values())
    frames = sum(proof.frames for proof in proofs.values()) / 1e6
    readme = (ROOT / "README.md").read_text()
    assert exact == len(proofs), "README.md says that all games are exact"
    assert f"All {exact} games of ale-py run on our own Atari 2600 core" in readme
    page = (ROOT / "docs" / "environments" / "atari.md").read_text()
    found = re.search(r"ale-py's (\d+) games (\d+) are proven, over ([\d.]+) million frames", page)
    assert found and (int(found[1]), int(found[2])) == (len(proofs), exact)
    assert float(found[3]) <= frames < float(found[3]) + 0.1
    players = atari_proofs.committed(atari_proofs.PLAYERS).values()
    assert not [proof for proof in players if proof.difference]
    page = (ROOT / "docs" / "environments" / "atari-players.md").read_text()
    frames = sum(proof.frames for proof in players) / 1e6
    count = len(players)
    assert f"the result of {frames:.2f} million frames: {count} of {count} games are exact" in page


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page: Path, tmp_path: Path) -> None:
    if page.name in NEEDS:
        pytest.importorskip(NEEDS[page.name], reason=f"{page.name} needs {NEEDS[page.name]}")
    # the pages use this file as an environment of the reader's own
    source = (ROOT / "csrc" / "envs" / "_template.c").read_text()
    source = source.replace("test/Template-v0", "Corridor-v0")
    source = source.replace("pp_env_test_template_v0", "pp_env_corridor_v0")
    (tmp_path / "corridor.c").write_text(source)
    blocks = python_blocks(page)
    for line, block in blocks:
        # with blank lines before it, a traceback shows the line of the page
        (tmp_path / f"block-{line:05}.py").write_text("\n" * line + block)
    # the package beside these pages, not another checkout that is installed
    own = {
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
        "MINARI_DATASETS_PATH": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, **own},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
