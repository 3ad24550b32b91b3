"""The documentation site (.ci/site): its checks notice what they are for, its menu has all pages.

The stage `docs` builds the site itself.
"""

from __future__ import annotations

import importlib
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import NAMES
from tests.support.public_modules import PUBLIC

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / ".ci" / "site"

PAGE = """
<h1 id="top">Title</h1>
<p>Text with <a href="../other/#there">a link</a>, <a href="#top">one up</a>
and <a href="https://github.com/parallel-pool/parallel_pool/blob/main/README.md">the forge</a>.</p>
<img src="../picture.png">
<h2 id="parallel_pool.make" class="doc doc-heading">make</h2>
<div class="doc doc-contents"><p>Makes a pool.</p></div>
"""
PUBLIC_NAMES = {"parallel_pool.make"}


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(SITE))
    return importlib.import_module(name)


def faults(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, old: str = "Title", new: str = "Title"
) -> list[str]:
    """Returns what is wrong with a site of two pages, in one of which a text was replaced."""
    assert old in PAGE
    for name, text in {"page": PAGE.replace(old, new), "other": '<h2 id="there"></h2>'}.items():
        (folder / name).mkdir()
        (folder / name / "index.html").write_text(text)
    (folder / "picture.png").touch()
    found: list[str] = load("links", monkeypatch).check(folder, PUBLIC_NAMES)
    return found


def test_a_right_site_has_no_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert faults(tmp_path, monkeypatch) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("../other/", "../another/", "../another/#there: there is no such file"),
        ("#there", "#elsewhere", "../other/#elsewhere: the page has no such anchor"),
        ("#top", "#bottom", "#bottom: the page has no such anchor"),
        ("../picture.png", "../no.png", "../no.png: there is no such file"),
        ("../picture.png", "../../picture.png", "../../picture.png: there is no such file"),
        ("README.md", "NO.md", "/blob/main/NO.md: the repository has no such file"),
        ("<p>Makes a pool.</p>", "", "parallel_pool.make: it has no docstring"),
        ("Text with", "Text with\n- a point", "Markdown is left in a paragraph"),
        ("Text with", "```python", "Markdown is left in a paragraph"),
    ],
)
def test_a_fault_is_noticed(
    old: str, new: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (found,) = faults(tmp_path, monkeypatch, old=old, new=new)
    assert found.startswith("page/index.html: ") and fault in found


def test_a_public_name_without_a_page_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heading = '<h2 id="parallel_pool.make" class="doc doc-heading">make</h2>'
    found = faults(tmp_path, monkeypatch, old=heading, new="")
    assert found == ["parallel_pool.make: no page describes it"]


def test_links_lead_to_the_site_or_to_the_forge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = load("pages", monkeypatch)
    names = {"README.md", "docs/README.md", "docs/torch.md", "benchmarks/README.md"}
    (tmp_path / "docs").mkdir()
    (tmp_path / "examples").mkdir()
    text = (
        "[a](torch.md#x) [b](../README.md) [c](../benchmarks/README.md) [d](../examples) [e](#f)"
        " [g](../LICENSE) [h](https://a.org/b.md) ![i](trace.png) `[j](../LICENSE)`\n"
        "```text\n[k](../LICENSE)\n```\n"
    )
    (tmp_path / "docs" / "README.md").write_text(text)
    page = pages.Page("docs/README.md", names, tmp_path)
    assert page.text() == (
        "[a](torch.md#x) [b](index.md) [c](benchmarks/method.md)"
        f" [d]({pages.FORGE}/tree/main/examples) [e](#f) [g]({pages.FORGE}/blob/main/LICENSE)"
        " [h](https://a.org/b.md) ![i](trace.png) `[j](../LICENSE)`\n"
        "```text\n[k](../LICENSE)\n```\n"
    )
    assert page.pictures == {"docs/trace.png"}


def test_the_command_to_install_comes_before_the_first_picture(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pages = load("pages", monkeypatch)
    readme = (ROOT / "README.md").read_text()
    text = pages.picture_after_program(readme)
    assert text.index("pip install") < text.index("parallel_pool.make(") < text.index("![")
    assert sorted(text.split("\n\n")) == sorted(readme.split("\n\n"))


def entries(menu: Any) -> Iterator[str]:
    """Yields the pages of a menu."""
    for entry in menu:
        for value in entry.values():
            if isinstance(value, str):
                yield value
            else:
                yield from entries(value)


def test_the_menu_has_every_page(monkeypatch: pytest.MonkeyPatch) -> None:
    pages, charts = load("pages", monkeypatch), load("charts", monkeypatch)
    config = tomllib.loads((SITE / "zensical.toml").read_text())
    results = [page for _, machine in charts.menu() for _, page in machine]
    listed = [*entries(config["project"]["nav"]), *results]
    assert len(listed) == len(set(listed))
    every = {path.relative_to(ROOT).as_posix() for path in pages.sources()}
    assert len(every) > 60 and set(listed) == {pages.site_path(name) for name in every}


@pytest.mark.slow
def test_the_reference_has_every_public_name(monkeypatch: pytest.MonkeyPatch) -> None:
    reference = load("reference", monkeypatch)
    modules = {module.path: module for module in reference.public_modules()}
    assert set(modules) == set(PUBLIC)
    listed: set[str] = set()
    for path, module in modules.items():
        loaded = importlib.import_module(module.name)
        # PoolVecEnv and others are names of the package that `import *` leaves out
        assert set(loaded.__all__) <= set(module.names()), path
        listed |= set(loaded.__all__)
    described = {anchor.rpartition(".")[2] for anchor in reference.anchors()}
    # a second name of EnvPool; the others are modules, whose pages have no anchor
    assert listed - described == {"EnvPoolMixin", "envpool", "protocol", "testing"}
    assert {"NATIVE_CHECKS", "PoolVecEnv"} <= described


def test_a_new_public_module_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    reference = load("reference", monkeypatch)
    monkeypatch.setattr(reference, "ORDER", [n for n in reference.ORDER if n != "cluster"])
    with pytest.raises(ValueError, match=r"differs in \{'cluster'\}"):
        reference.public_modules()


def test_every_scene_has_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    charts = load("charts", monkeypatch)
    for file in ROOT.glob("benchmarks/results/*/results.json"):
        machine = charts.machine(json.loads(file.read_text()), file.parent.name)
        assert machine["scenes"] and "(R)" not in machine["name"]
    # those that no machine has measured yet, too
    assert {charts.group(name) for name in NAMES} <= set(charts.GROUPS)
    with pytest.raises(ValueError, match="scene 'tetris-64' is in none of GROUPS"):
        charts.group("tetris-64")
