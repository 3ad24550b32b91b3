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

import charts
import links
import pages
import reference

HERE = Path(__file__).resolve().parent
BUILD = pages.ROOT / "build" / "site"


def prepare(folder: Path) -> None:
    """Writes the sources and the configuration of the site into a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    target = folder / "source"
    pages.write(target)
    charts.write(target)
    menu = reference.write(target)
    shutil.copytree(HERE / "assets", target / "assets", dirs_exist_ok=True)
    shutil.copy(HERE / "docstrings.py", folder)
    config = (HERE / "zensical.toml").read_text()
    (folder / "zensical.toml").write_text(with_menu(config, menu))


def with_menu(config: str, menu: list[tuple[str, str]]) -> str:
    """Returns the configuration with titles and paths of the reference's pages in its menu."""
    place = '"Reference" = []'
    if config.count(place) != 1:
        raise ValueError(f"zensical.toml needs one line with {place}")
    entries = (f"{{ {json.dumps(title)} = {json.dumps(path)} }}" for title, path in menu)
    return config.replace(place, f'"Reference" = [{", ".join(entries)}]')


def main() -> int:
    prepare(BUILD)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    done = subprocess.run(command, cwd=BUILD, stdout=PIPE, stderr=STDOUT, text=True, check=False)
    print(done.stdout, end="")
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
