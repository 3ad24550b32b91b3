"""Builds the documentation site from docs/, docstrings and committed results, and checks it.

    PYTHONPATH=.venv/docs-site python .ci/site      writes build/site/html

Warnings are errors, and so is what `links.check` finds. Nothing needs the network.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE, STDOUT
from typing import Any

import charts
import links
import pages
import reference

# titles, each with a page or with a menu below it
Menu = list[tuple[str, Any]]

HERE = Path(__file__).resolve().parent
BUILD = pages.ROOT / "build" / "site"


def prepare(folder: Path) -> None:
    """Writes the sources and the configuration of the site into a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    target = folder / "source"
    pages.write(target)
    charts.write(target)
    menus = {"Reference": reference.write(target), "Results": charts.menu()}
    shutil.copytree(HERE / "assets", target / "assets", dirs_exist_ok=True)
    shutil.copy(HERE / "docstrings.py", folder)
    (folder / "zensical.toml").write_text(with_menus((HERE / "zensical.toml").read_text(), menus))


def with_menus(config: str, menus: dict[str, Menu]) -> str:
    """Returns the configuration with entries in those menus that are empty in it."""
    for title, entries in menus.items():
        place = f"{{ {json.dumps(title)} = [] }}"
        if config.count(place) != 1:
            raise ValueError(f"zensical.toml needs one {place}")
        config = config.replace(place, toml([(title, entries)])[1:-1])
    return config


def toml(menu: Menu) -> str:
    entries = (
        f"{{ {json.dumps(title)} = {json.dumps(page) if isinstance(page, str) else toml(page)} }}"
        for title, page in menu
    )
    return f"[{', '.join(entries)}]"


def main() -> int:
    prepare(BUILD)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    done = subprocess.run(command, cwd=BUILD, stdout=PIPE, stderr=STDOUT, text=True, check=False)
    # in strict mode it ends with a traceback, below the warnings
    print(done.stdout.partition("Traceback (most recent")[0], end="")
    # griffe's warnings about docstrings are none of zensical's
    if done.returncode or "griffe:" in done.stdout or "Warning" in done.stdout:
        print("the site has warnings, see above")
        return 1
    faults = links.check(BUILD / "html", reference.anchors())
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"{BUILD / 'html'}: {len(list((BUILD / 'html').rglob('*.html')))} pages")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
