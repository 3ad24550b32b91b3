"""The models of dm_control's suite: its XML files, and what it makes of them.

The files are those of the installed dm_control, found without importing it: importing needs a
version that fits the installed mujoco, the files do not.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from parallel_pool._families import mujoco
from parallel_pool.errors import MissingDependencyError

if TYPE_CHECKING:
    from parallel_pool._engine.specs import Definition

# without what dm_control asks for: it is only read, and some of it has no wheels for new Pythons
INSTALL = "pip install --no-deps dm-control"


@cache
def suite() -> Path:
    """Returns the folder of dm_control's models.

    Raises:
        MissingDependencyError: dm_control is not installed.
    """
    spec = importlib.util.find_spec("dm_control")
    folders = spec.submodule_search_locations if spec is not None else None
    for folder in folders or ():
        if (Path(folder) / "suite" / "common" / "materials.xml").is_file():
            return Path(folder) / "suite"
    raise MissingDependencyError(
        f"the models of dm_control's suite are not installed: {INSTALL}"
    ) from ModuleNotFoundError("No module named 'dm_control'", name="dm_control")


def read(name: str) -> ElementTree.Element:
    """Returns the root of one of dm_control's XML files."""
    return ElementTree.parse(suite() / f"{name}.xml").getroot()


def find(root: ElementTree.Element, path: str) -> ElementTree.Element:
    """Returns the only element of a path; raises MissingDependencyError if there is none."""
    found = root.find(path)
    if found is None:
        raise MissingDependencyError(
            f"dm_control's models in {suite()} have no {path}: {INSTALL} --upgrade"
        )
    return found


def remove(root: ElementTree.Element, tag: str, *names: str) -> None:
    """Removes the elements of these names."""
    for name in names:
        child = find(root, f".//{tag}[@name='{name}']")
        parent = next(each for each in root.iter() if child in list(each))
        parent.remove(child)


def _with_poles(count: int) -> ElementTree.Element:
    root = read("cartpole")
    parent = find(root, "./worldbody/body/body")
    for i in range(2, count + 1):
        pole = {"name": f"pole_{i}", "pos": "0 0 1", "childclass": "pole"}
        child = ElementTree.SubElement(parent, "body", pole)
        ElementTree.SubElement(child, "joint", name=f"hinge_{i}")
        ElementTree.SubElement(child, "geom", name=f"pole_{i}")
        parent = child
    find(root, "./worldbody/geom").set("pos", f"0 0 {1 - count - 0.05}")
    cameras = root.findall("./worldbody/camera")
    cameras[0].set("pos", f"0 {-1 - 2 * count} 1")
    cameras[1].set("pos", f"0 {-2 * count} 2")
    return root


def _with_links(count: int) -> ElementTree.Element:
    root = read("swimmer")
    parent = find(root, "./worldbody/body")
    actuator = ElementTree.SubElement(root, "actuator")
    sensor = ElementTree.SubElement(root, "sensor")
    for i in range(count - 1):
        child = ElementTree.SubElement(parent, "body", name=f"segment_{i}", pos="0 .1 0")
        for kind in ("visual", "inertial"):
            ElementTree.SubElement(child, "geom", {"class": kind, "name": f"{kind}_{i}"})
        ElementTree.SubElement(child, "site", name=f"site_{i}")
        most = 360.0 / count
        ElementTree.SubElement(child, "joint", name=f"joint_{i}", range=f"{-most} {most}")
        ElementTree.SubElement(actuator, "motor", name=f"motor_{i}", joint=f"joint_{i}")
        for kind in ("velocimeter", "gyro"):
            ElementTree.SubElement(sensor, kind, name=f"{kind}_{i}", site=f"site_{i}")
        parent = child
    for camera in root.findall("./worldbody/body/camera[@mode='trackcom']"):
        place = (float(each) * (count / 6.0) for each in camera.get("pos", "").split(" "))
        camera.set("pos", " ".join(map(str, place)))
    return root


# what manipulator's tasks have of these bodies
PROPS = ("ball", "target_ball", "cup", "peg", "target_peg", "slot")


def _with_props(*names: str) -> ElementTree.Element:
    root = read("manipulator")
    remove(root, "body", *(name for name in PROPS if name not in names))
    return root


def _with_boxes(count: int) -> ElementTree.Element:
    root = read("stacker")
    remove(root, "body", *(f"box{i}" for i in range(count, 4)))
    return root


def _with_springs(bodies: int, actuators: int) -> ElementTree.Element:
    """Makes lqr's model, whose springs are those of no seed: C replaces them."""
    root = read("lqr")
    parent = find(root, "./worldbody")
    actuator = ElementTree.SubElement(root, "actuator")
    tendon = ElementTree.SubElement(root, "tendon")
    for i in range(bodies):
        place = ".25 0 0" if i else ".25 0 .1"
        child = ElementTree.SubElement(parent, "body", name=f"body_{i}", pos=place)
        spring = {"name": f"joint_{i}", "stiffness": "20", "damping": "0"}
        ElementTree.SubElement(child, "joint", spring)
        ElementTree.SubElement(child, "geom", name=f"geom_{i}")
        ElementTree.SubElement(child, "site", name=f"site_{i}")
        if i < actuators:
            ElementTree.SubElement(actuator, "motor", name=f"motor_{i}", joint=f"joint_{i}")
        if i < bodies - 1:
            spatial = ElementTree.SubElement(tendon, "spatial", name=f"tendon_{i}")
            for site in (i, i + 1):
                ElementTree.SubElement(spatial, "site", site=f"site_{site}")
        parent = child
    return root


def _quadruped(
    floor: float | None, *, has_ball: bool = False, has_terrain: bool = False
) -> ElementTree.Element:
    root = read("quadruped")
    if floor is not None:
        find(root, ".//geom[@name='floor']").set("size", f"{floor} {floor} .5")
    if not has_ball:
        remove(root, "geom", *(f"wall_{side}" for side in ("px", "py", "nx", "ny")))
        remove(root, "body", "ball")
        remove(root, "site", "target")
    if has_terrain:
        return root
    remove(root, "geom", "terrain")
    remove(root, "rangefinder", *(each.get("name", "") for each in root.iter("rangefinder")))
    return root


def _dog(floor: int, *, has_ball: bool) -> ElementTree.Element:
    root = read("dog")
    find(root, ".//geom[@name='floor']").set("size", f"{floor} {floor} .1")
    if not has_ball:
        remove(root, "body", "ball")
        remove(root, "geom", "target", *(f"wall_{side}" for side in ("px", "nx", "py", "ny")))
        remove(root, "camera", "ball", "head")
    return root


# how a model is made, if it is not a file as it is
MAKERS: dict[str, Callable[[], ElementTree.Element]] = {
    "cartpole_2": partial(_with_poles, 2),
    "cartpole_3": partial(_with_poles, 3),
    "dog_walk": partial(_dog, 15, has_ball=False),
    "dog_trot": partial(_dog, 45, has_ball=False),
    "dog_run": partial(_dog, 135, has_ball=False),
    "dog_fetch": partial(_dog, 10, has_ball=True),
    "lqr_2_1": partial(_with_springs, 2, 1),
    "lqr_6_2": partial(_with_springs, 6, 2),
    "manipulator_bring_ball": partial(_with_props, "ball", "target_ball"),
    "manipulator_bring_peg": partial(_with_props, "peg", "target_peg"),
    "manipulator_insert_ball": partial(_with_props, "ball", "target_ball", "cup"),
    "manipulator_insert_peg": partial(_with_props, "peg", "target_peg", "slot"),
    "quadruped_walk": partial(_quadruped, 10.0),
    "quadruped_run": partial(_quadruped, 100),
    "quadruped_escape": partial(_quadruped, 40, has_terrain=True),
    "quadruped_fetch": partial(_quadruped, None, has_ball=True),
    "stacker_2": partial(_with_boxes, 2),
    "stacker_4": partial(_with_boxes, 4),
    "swimmer_6": partial(_with_links, 6),
    "swimmer_15": partial(_with_links, 15),
}


def xml_of(name: str) -> ElementTree.Element:
    """Returns the root of a model's XML: a file of dm_control's, or what it makes of one."""
    return MAKERS[name]() if name in MAKERS else read(name)


def assets(*, has_pictures: bool) -> dict[str, bytes]:
    """Returns the files that models include, by the names they use.

    Args:
        has_pictures: with textures. They are most of a model's memory, of which environments may
            have a copy each, and physics does not depend on them.
    """
    found = {}
    for path in sorted((suite() / "common").glob("*.xml")):
        root = ElementTree.parse(path).getroot()
        for texture in () if has_pictures else root.iter("texture"):
            texture.attrib |= {"width": "1", "height": "1"}
        found[f"./common/{path.name}"] = ElementTree.tostring(root)
    return found


def _assets_of(name: str) -> dict[str, bytes]:
    """Returns the files besides those that all models include: the dog's bones and skin."""
    paths = (suite() / "dog_assets").iterdir() if name.startswith("dog") else ()
    return {path.name: path.read_bytes() for path in paths}


def load(name: str, *, switches: bool = False, has_pictures: bool = False) -> tuple[Any, bytes]:
    """Makes a model. Returns a new MjModel and the SHA-256 of its compiled form.

    Args:
        name: as the option "_model" of a task has it.
        switches: set options that are faster and change no bit of a task's results.
        has_pictures: with textures.

    Raises:
        MissingDependencyError: dm_control is not installed.
        ValueError: MuJoCo refuses the model.
    """
    package = mujoco.import_mujoco()
    xml = ElementTree.tostring(xml_of(name), encoding="unicode")
    with mujoco.capture_warnings():
        try:
            files = assets(has_pictures=has_pictures) | _assets_of(name)
            model = package.MjModel.from_xml_string(xml, files)
        except (ValueError, package.FatalError, package.UnexpectedError) as error:
            raise ValueError(f"{suite()}: MuJoCo refuses {name}: {error}") from error
    if switches:
        switch(model)
    return model, mujoco.digest(model)


def switch(model: Any) -> None:
    """Sets options with which MuJoCo does less, where no result of a task depends on it.

    No task reads the energy. With one kinematic tree there is at most one island of constraints,
    and finding it changes nothing in most versions: see `mujoco.SWITCHES`.
    """
    package = mujoco.import_mujoco()
    model.opt.enableflags &= ~int(package.mjtEnableBit.mjENBL_ENERGY)
    if model.ntree == 1:
        mujoco.disable(model, mujoco.ONE_TREE)


# ---------------------------------------------------------------------------------- pictures --

# What tasks write into their models at a reset, the same in all episodes, and pictures show: the
# array, the name in it, the column and the value. Positions are in mjData.
SHOWN: Mapping[str, Sequence[tuple[str, str, str, int, float]]] = {
    "reacher-easy": [("geom", "target", "size", 0, 0.05)],
    "reacher-hard": [("geom", "target", "size", 0, 0.015)],
    "finger-spin": [("site", "target", "rgba", 3, 0.0), ("site", "tip", "rgba", 3, 0.0)],
    "finger-turn_easy": [("site", "target", "size", 0, 0.07)],
    "finger-turn_hard": [("site", "target", "size", 0, 0.03)],
    "fish-upright": [("geom", "target", "rgba", 3, 0.0)],
}
# its terrain, another one in each episode, would have to be copied into OpenGL's memory
WITHOUT = "quadruped-escape"


def task_of(definition: Definition) -> str:
    """Returns the name of a definition's task, such as "cheetah-run"."""
    return definition.reference.rpartition(" ")[2]


@cache
def model_with_pictures(name: str, task: str) -> Any:
    """Returns a task's MjModel with its textures, as it is after a reset."""
    model, _ = load(name, has_pictures=True)
    for kind, element, array, column, value in SHOWN.get(task, ()):
        getattr(getattr(model, kind)(element), array)[column] = value
    return model
