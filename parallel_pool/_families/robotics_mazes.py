"""Mazes of Gymnasium-Robotics: maps, and the models and cells that they stand for."""

from __future__ import annotations

import runpy
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np

from parallel_pool._engine.arguments import quote
from parallel_pool._families import mujoco
from parallel_pool._families.robotics_models import assets

if TYPE_CHECKING:
    from parallel_pool._engine.specs import Definition

# names of maps in ids, and in Gymnasium-Robotics' module of maps
MAPS = {
    "UMaze": "U_MAZE",
    "Open": "OPEN",
    "Open_Diverse_G": "OPEN_DIVERSE_G",
    "Open_Diverse_GR": "OPEN_DIVERSE_GR",
    "Medium": "MEDIUM_MAZE",
    "Medium_Diverse_G": "MEDIUM_MAZE_DIVERSE_G",
    "Medium_Diverse_GR": "MEDIUM_MAZE_DIVERSE_GR",
    "Large": "LARGE_MAZE",
    "Large_Diverse_G": "LARGE_MAZE_DIVERSE_G",
    "Large_Diverse_GR": "LARGE_MAZE_DIVERSE_GR",
}
# cells: a wall, and those where only an episode may begin, only a goal may be, or both
WALL, RESET, GOAL, BOTH = "1", "r", "g", "c"
CELLS = {WALL, "0", RESET, GOAL, BOTH}
# texts of maps have it between their rows
BETWEEN = "/"


@cache
def named_maps() -> Mapping[str, Any]:
    """Returns Gymnasium-Robotics' maps by name; lists of rows, each a list of cells."""
    # a file of lists alone: importing it would import the package
    found = runpy.run_path(str(assets().parent / "maze" / "maps.py"))
    return {name: value for name, value in found.items() if isinstance(value, list)}


def own_map(definition: Definition) -> str:
    """Returns the name of the map of a definition's id."""
    title = definition.id.rpartition("-")[0].partition("_")[2]
    return MAPS[title.removesuffix("Dense")]


def map_text(value: Any) -> str:
    """Returns a map as C's option has it: rows of cells with "/" between them.

    Args:
        value: a list of rows, such a text, or the name of one of Gymnasium-Robotics' maps.

    Raises:
        TypeError, ValueError: it is no map.
    """
    if isinstance(value, str):
        if BETWEEN in value:
            return BETWEEN.join(_row(row) for row in _checked(value.split(BETWEEN)))
        if value not in named_maps():
            known = ", ".join(named_maps())
            raise ValueError(f"maze_map={quote(value)}: choose a list of rows, or one of {known}")
        value = named_maps()[value]
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, Sequence) or not all(isinstance(row, Sequence) for row in value):
        raise TypeError(f"maze_map={quote(value)}: give a list of rows, each a list of cells")
    return BETWEEN.join(_row(row) for row in _checked(value))


def _checked(rows: Sequence[Any]) -> Sequence[Any]:
    if not rows or len({len(row) for row in rows}) != 1 or not len(rows[0]):
        raise ValueError("maze_map has rows of different lengths, or none: give equal rows")
    return rows


def _row(row: Sequence[Any]) -> str:
    cells = [str(cell) for cell in row]
    if wrong := set(cells) - CELLS:
        raise ValueError(
            f"maze_map has a cell {quote(min(wrong))}: choose 1 for a wall, 0, 'r' where episodes"
            " may begin, 'g' for goals, or 'c' for both"
        )
    return "".join(cells)


class Maze:
    """A map with sizes.

    Attributes:
        rows: of cells.
        starts, goals: centers of the cells where episodes may begin, and where goals may be; pairs
            of x and y in m.
    """

    def __init__(self, text: str, scaling: float, height: float, *, is_v3: bool) -> None:
        """
        Args:
            text: of the map.
            scaling: width of a cell in m.
            height: of walls, in widths of a cell.
            is_v3: by the rules until v3, where only a map without letters has cells for everything.

        Raises:
            ValueError: there is no cell for a goal, or none where an episode can begin.
        """
        self.rows = text.split(BETWEEN)
        self._scaling, self._height = scaling, height
        lettered = [cell for row in self.rows for cell in row if cell not in (WALL, "0")]
        self.goals = self._centers(GOAL) + self._centers(BOTH)
        self.starts = self._centers(RESET) + self._centers(BOTH)
        empty = self._centers("0")
        if not lettered:
            self.goals = self.starts = empty
        elif not self.starts and not is_v3:
            self.starts = empty
        elif not self.goals and not is_v3:
            self.goals = empty
        if not self.goals or not self.starts:
            raise ValueError(
                f"maze_map={quote(text)} has no cell for a goal, or none where an episode can begin"
            )

    def _center(self, row: int, column: int) -> tuple[float, float]:
        x_center = len(self.rows[0]) / 2 * self._scaling
        y_center = len(self.rows) / 2 * self._scaling
        x = (column + 0.5) * self._scaling - x_center
        y = y_center - (row + 0.5) * self._scaling
        return x, y

    def _centers(self, wanted: str) -> list[tuple[float, float]]:
        return [
            self._center(i, j)
            for i, row in enumerate(self.rows)
            for j, cell in enumerate(row)
            if cell == wanted
        ]

    def model(self, agent: Path) -> Any:
        """Returns the MjModel of an agent's file with walls and the site "target".

        Raises:
            ValueError: MuJoCo refuses it.
        """
        tree = ElementTree.parse(agent)
        world = tree.find(".//worldbody")
        if world is None:
            raise ValueError(f"{agent} has no worldbody: choose another xml_file")
        half, side = self._height / 2 * self._scaling, 0.5 * self._scaling
        for i, row in enumerate(self.rows):
            for j, cell in enumerate(row):
                if cell != WALL:
                    continue
                x, y = self._center(i, j)
                wall = {
                    "name": f"block_{i}_{j}",
                    "pos": f"{x} {y} {half}",
                    "size": f"{side} {side} {half}",
                    "type": "box",
                    "material": "",
                    "contype": "1",
                    "conaffinity": "1",
                    "rgba": "0.7 0.5 0.3 1.0",
                }
                ElementTree.SubElement(world, "geom", wall)
        target = {
            "name": "target",
            "pos": f"0 0 {half}",
            "size": f"{0.2 * self._scaling}",
            "rgba": "1 0 0 0.7",
            "type": "sphere",
        }
        ElementTree.SubElement(world, "site", target)
        text = ElementTree.tostring(tree.getroot(), encoding="unicode")
        package = mujoco.import_mujoco()
        with mujoco.capture_warnings():
            try:
                return package.MjModel.from_xml_string(text)
            except (ValueError, package.FatalError, package.UnexpectedError) as error:
                raise ValueError(f"{agent} with a maze: MuJoCo refuses it: {error}") from error

    def setup(self) -> list[float]:
        """Returns the numbers that C needs (maze_prepare)."""
        walls = [float(cell == WALL) for row in self.rows for cell in row]
        sizes = [len(self.rows), len(self.rows[0]), len(self.goals), len(self.starts)]
        return [*map(float, sizes), *walls, *np.ravel(self.goals), *np.ravel(self.starts)]


def fill_reset(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of a maze's reset in C's form: two integers for each cell.

    Raises:
        TypeError: a cell is not a row and a column.
    """
    given = dict(options)
    for name in ("goal", "reset"):
        cell = given.pop(f"{name}_cell", None)
        if cell is None:
            continue
        try:
            row, column = (int(each) for each in cell)
        except (TypeError, ValueError):
            raise TypeError(
                f"{name}_cell={quote(cell)}: give two integers, a row and a column"
            ) from None
        if row < 0:
            raise ValueError(f"{name}_cell={quote(cell)}: choose a row from 0 on")
        given |= {f"{name}_row": row, f"{name}_column": column}
    return given
