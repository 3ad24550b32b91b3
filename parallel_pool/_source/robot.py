"""Robot: what a source file with a MuJoCo model needs of a compiler: headers, names, a library."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from parallel_pool._engine.arguments import named, quote
from parallel_pool._families import mujoco, robot_header
from parallel_pool._source import files
from parallel_pool.errors import SourceError

# the line that makes a source file a robot's, as pp_mujoco.h describes it
MODEL = re.compile(r'^#define PP_ROBOT_MODEL "(?P<file>[^"\n]+)"', re.MULTILINE)
HEADER = "pp_robot_model.h"
# bytes of a source file, and of an XML file
MAX_TEXT = 64 << 20
# elements of MJCF whose attribute "file" names another file in XML
XML_ELEMENTS = ("include", "model")


class Robot(NamedTuple):
    """The model of a source file, and the MuJoCo that Python imports.

    Attributes:
        source: the file in C or C++.
        model: the path of its model.
        include: the folder of MuJoCo's headers.
        library: MuJoCo's library.
    """

    source: Path
    model: Path
    include: Path
    library: Path

    def settings(self) -> tuple[str, ...]:
        """Returns what a library depends on besides the contents of files."""
        return (str(self.model), str(self.include), str(self.library))

    def compile_flags(self, folder: Path) -> list[str]:
        """Writes the header with the model's names into a folder; returns flags that find it.

        Raises:
            SourceError: MuJoCo refuses the model.
        """
        try:
            text = robot_header.write(self.model, Path(os.path.abspath(self.source)).parent)
        except ValueError as error:
            raise SourceError(f"{named(self.source)} has a model with an error: {error}") from None
        (folder / HEADER).write_text(text, encoding="utf-8")
        return [f"-I{folder}", f"-I{self.include}"]

    def link_flags(self) -> list[str]:
        """Returns the library, and where it is found if no one has loaded it."""
        return [str(self.library), "-Xlinker", "-rpath", "-Xlinker", str(self.library.parent)]

    def dependencies(self) -> list[Path]:
        """Returns the files in XML of which the names are: the model's, and those in it."""
        return xml_files(self.model)


def find(source: Path) -> Robot | None:
    """Returns the robot of a source file; None: it is none.

    Raises:
        SourceError: its model does not exist.
        MissingDependencyError: mujoco is not installed, or has no headers.
    """
    text = files.read(source, MAX_TEXT).decode(errors="replace")
    found = MODEL.search(text)
    if found is None:
        return None
    model = Path(os.path.abspath(source)).parent / os.path.expanduser(found["file"])
    if not model.is_file():
        raise SourceError(
            f"{named(source)}: PP_ROBOT_MODEL {quote(found['file'])}: there is no file"
            f" {named(model)}: name the model, from the folder of the source on"
        )
    return Robot(source, model, mujoco.headers(), mujoco.library_path())


def xml_files(model: Path) -> list[Path]:
    """Returns a model, and all files in XML that it includes or attaches.

    What can't be read or parsed is left to MuJoCo, which says more.
    """
    found: list[Path] = []
    waiting = [model]
    while waiting:
        path = Path(os.path.abspath(waiting.pop()))
        if path in found:
            continue
        found.append(path)
        try:
            root = ElementTree.fromstring(files.read(path, MAX_TEXT))
        except (OSError, ElementTree.ParseError):
            continue
        names = (each.get("file") for each in root.iter() if each.tag in XML_ELEMENTS)
        # MuJoCo looks in the folder of the model, and newer versions in that of the includer
        folders: Sequence[Path] = (model.parent, path.parent)
        waiting += [folder / name for name in names if name for folder in folders]
    return [path for path in found if path.is_file()]
