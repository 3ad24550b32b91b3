"""Pages of the API reference: one for each public module, with each public object once.

Modules are read, not imported: the site needs no build of the engine.
"""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass
from pathlib import Path

import pages

PACKAGE = "parallel_pool"

# The order of pages. An object is described on the first page whose module has it; the others, and
# the package itself, link to it.
ORDER = [
    *("compat.gymnasium", "compat.envpool", "compat.sb3", "compat.pettingzoo", "compat.jax"),
    *("compat.torch", "compat.dm_env", "compat.ale", "compat.gymnasium_hook", "cluster", "leases"),
    *("compat.openenv", "compat.minari", "mujoco_batch", "turns"),
    *("errors", "testing", "", "registration", "python", "python.envpool", "python.protocol"),
]
FIRST = ""  # in the menu


@dataclass(frozen=True)
class Module:
    """A module of the package, as its source says.

    Attributes:
        path: dotted, without the package's name.
        tree: the parsed source.
    """

    path: str
    tree: ast.Module

    @property
    def name(self) -> str:
        return f"{PACKAGE}.{self.path}".rstrip(".")

    @property
    def page(self) -> str:
        """The site's path of the module's page."""
        return f"reference/{self.name}.md"

    def names(self) -> list[str]:
        """Returns the public names: those in `__all__`, and those imported "as" themselves."""
        listed = assigned(self.tree, "__all__")
        again = (name for name, place in self.imports(again=True).items() if name == place[1])
        return sorted({*listed, *again}, key=str.lower) if listed else []

    def imports(self, again: bool = False) -> dict[str, tuple[str, str]]:
        """Returns module and name of what is imported from the package.

        Args:
            again: only of `import name as name`, the sign of a name to export.
        """
        return {
            alias.asname or alias.name: (node.module or "", alias.name)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE)
            for alias in node.names
            if not again or (alias.asname and not alias.name.startswith("_"))
        }


def assigned(tree: ast.Module, name: str) -> list[str]:
    """Returns the strings of a list that a module assigns to a name; [] if it does not."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return list(ast.literal_eval(node.value))
    return []


def source(path: str, root: Path = pages.ROOT) -> Path | None:
    """Returns the file of a module or package of the package, or None."""
    folder = root.joinpath(PACKAGE, *filter(None, path.split(".")))
    return next(
        (f for f in (folder / "__init__.py", folder.with_suffix(".py")) if f.is_file()), None
    )


@functools.cache
def load(path: str) -> Module:
    file = source(path)
    assert file, f"{PACKAGE}.{path} is not there"
    return Module(path, ast.parse(file.read_text()))


def public_modules() -> list[Module]:
    """Returns the modules without an underscore in their path that list names, in ORDER.

    Raises ValueError if ORDER does not name exactly these.
    """
    base = pages.ROOT / PACKAGE
    found = set()
    for file in base.rglob("*.py"):
        parts = file.relative_to(base).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if not any(part.startswith("_") for part in parts) and load(".".join(parts)).names():
            found.add(".".join(parts))
    if found != set(ORDER):
        raise ValueError(f"ORDER in .ci/site/reference.py differs in {found ^ set(ORDER)}")
    return [load(path) for path in ORDER]


def origin(module: str, name: str) -> tuple[str, str]:
    """Returns module and name under which an object is defined."""
    while True:
        path = module.removeprefix(PACKAGE).removeprefix(".")
        imported = load(path).imports().get(name) if source(path) else None
        if imported is None or imported[0] == module:
            return module, name
        module, name = imported


def write(target: Path) -> list[tuple[str, str]]:
    """Writes the pages into the site's sources; returns title and path of each for the menu."""
    modules = public_modules()
    places: dict[tuple[str, str], str] = {}
    texts = {module.path: page(module, places) for module in modules}
    # the package comes first in the menu, though other pages describe most of its names
    menu = sorted(modules, key=lambda module: module.path != FIRST)
    for module in menu:
        pages.write_text(target / module.page, texts[module.path])
    pages.write_text(target / "reference/index.md", index(menu))
    titles = [(module.path or PACKAGE, module.page) for module in menu]
    return [("All modules", "reference/index.md"), *titles]


def anchors() -> set[str]:
    """Returns the anchors of the public names, each where it is described."""
    places: dict[tuple[str, str], str] = {}
    for module in public_modules():
        page(module, places)
    return {place.partition("#")[2] for place in places.values()}


def page(module: Module, places: dict[tuple[str, str], str]) -> str:
    """Returns a module's page.

    Args:
        module: the module.
        places: for each object that a page describes already, its anchor; this page's are added.
    """
    described, linked = [], []
    for name in module.names():
        if source(f"{module.path}.{name}".lstrip(".")):
            linked.append(f"[`{name}`]({module.name}.{name}.md)")
            continue
        here = f"{module.name}.md#{module.name}.{name}"
        there = places.setdefault(origin(module.name, name), here)
        if there == here:
            described.append(f"::: {module.name}.{name}")
        else:
            linked.append(f"[`{name}`]({there})")
    # the whole path would not fit on a phone
    parts = [f"# {module.path or PACKAGE}", f"`import {module.name}`", docstring(module)]
    if linked:
        parts.append(f"Described on pages of their own: {', '.join(linked)}.")
    parts += described
    return "\n\n".join(parts) + "\n"


def index(modules: list[Module]) -> str:
    """Returns the page that lists the modules."""
    rows = [f"| [`{module.name}`]({module.name}.md) | {summary(module)} |" for module in modules]
    return "\n".join(
        (
            *("# Reference", "", "Public modules, whose names programs may use. All others may"),
            *("change at any time.", "", "| module | what for |", "| --- | --- |", *rows, ""),
        )
    )


def docstring(module: Module) -> str:
    return ast.get_docstring(module.tree) or ""


def summary(module: Module) -> str:
    """Returns the first paragraph of a module's docstring as one line."""
    return " ".join(docstring(module).partition("\n\n")[0].split())
