"""Loads MuJoCo models with the installed `mujoco`, and makes the table of addresses that C needs.

C steps the models through the same library by function pointers (csrc/envs/mujoco/library.h).
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.metadata
import importlib.util
import itertools
import os
import struct
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._engine.arguments import quote
from parallel_pool._families.numpy_loops import fuses_dot
from parallel_pool.errors import MissingDependencyError

if TYPE_CHECKING:
    from parallel_pool._engine.specs import Definition

INSTALL = "pip install 'parallel_pool[mujoco]'"
OPENGL = (
    "on Debian and Ubuntu install libegl1 and libegl-mesa0 and set MUJOCO_GL=egl, or libosmesa6 and"
    " set MUJOCO_GL=osmesa; neither needs a screen"
)
VERSIONS = "3.1 to 4.x"
# what the one package of MuJoCo 3 is since 4.0
PACKAGES = ("mujoco", "mujoco-core", "mujoco-studio")

# EnvPool's names of options
ALIASES = {"use_contact_force": "use_contact_forces"}

# a Gymnasium option, and the two options here that are its ends
RANGES = {
    f"{name}_range": (f"{name}_min", f"{name}_max")
    for name in (
        *("healthy_z", "healthy_angle", "healthy_state"),
        *("contact_force", "contact_cost", "impact_cost"),
    )
}

FUNCTIONS = (
    *("mj_copyModel", "mj_deleteModel", "mj_makeData", "mj_deleteData", "mj_copyData"),
    *("mj_resetData", "mj_forward", "mj_step", "mj_rnePostConstraint", "mj_name2id"),
    *("mj_stateSize", "mj_getState", "mj_setState", "mj_setConst", "mj_step1", "mj_step2"),
    *("mj_objectVelocity", "mj_jacSite"),
)
# they set a thread's handlers of errors and warnings: one function since 3.10, three before
HANDLERS = {"set_log": "_mjPRIVATE_setTlsLogHandler"}
OLDER_HANDLERS = {
    "set_error": "_mjPRIVATE__set_tls_error_fn",
    "set_warning": "_mjPRIVATE__set_tls_warning_fn",
    "get_warning": "_mjPRIVATE__get_tls_warning_fn",
}
# the arrays of mjData whose pointers C needs
POINTERS = (
    *("qpos", "qvel", "ctrl", "xpos", "xipos", "site_xpos", "cinert", "cvel"),
    *("qfrc_actuator", "qfrc_constraint", "cfrc_ext", "ten_length", "ten_velocity"),
)
# Parts of a state that are arrays in mjData: MuJoCo's name of the part, and of the array. C copies
# them itself, which is faster than mj_getState. One more part, the time, is a number in mjData.
STATE_ARRAYS = {
    "QPOS": "qpos",
    "QVEL": "qvel",
    "ACT": "act",
    "WARMSTART": "qacc_warmstart",
    "CTRL": "ctrl",
    "QFRC_APPLIED": "qfrc_applied",
    "XFRC_APPLIED": "xfrc_applied",
}
SIZES = ("nq", "nv", "nu", "nbody", "ntendon", "nsite")
# Parts of MuJoCo's "integration state" that Gymnasium's tasks do not keep. Actions are written
# before every step. The others are inputs that no step writes, and the tasks do not change them.
INPUTS = ("CTRL", "QFRC_APPLIED", "XFRC_APPLIED", "EQ_ACTIVE", "MOCAP_POS", "MOCAP_QUAT")

# Options that are disabled because tests/parity/mujoco_switches.py has proven that this changes no
# bit, by the SHA-256 of the model's file. A version without a flag ignores it. Other files, and all
# files on versions that are not proven, keep their own options. With several kinematic trees the
# solver handles each island separately, which gives other bits. So does MIDPHASE, which orders the
# contacts of two bodies, if more than one pair of their geometries can touch.
ONE_TREE = ("mjDSBL_ISLAND",)
ONE_PAIR = ("mjDSBL_MIDPHASE",)
SWITCHES: dict[str, tuple[str, ...]] = {
    # ant.xml
    "cd5f83ef0ea35b0969e65d360c5bacd5b74ccaef6b27e4433b5168c605e3e2be": (*ONE_TREE, *ONE_PAIR),
    # half_cheetah.xml
    "11797a5d69e8ac955e89ca6fdd3a0087f1c990094fda401ac51420de1b6c5494": ONE_TREE,
    # hopper.xml
    "3ce93a055ffdcd83c0c701d2400768e40d2cbb9532f3c4ae33377c27f8b39f9e": (*ONE_TREE, *ONE_PAIR),
    # humanoid.xml
    "85816f372c826d2094b4a598918233bd9c5843b2439119eece2733bdc2e0d073": ONE_TREE,
    # humanoidstandup.xml
    "9f72a3c4ef956d0d8b1fb555a6ae1a5c22334c5c58cf814ef987ea4d3880e8fc": ONE_TREE,
    # inverted_double_pendulum.xml
    "2b4eadf03bd79a8772abd4c1a626b5755747f841801a694ea9528cc49211ba46": (*ONE_TREE, *ONE_PAIR),
    # inverted_pendulum.xml
    "80910a9af85cd47072be82d6f92c5e6a115d0eecc3eb464e58542b285c89fb7f": (*ONE_TREE, *ONE_PAIR),
    # reacher.xml
    "3fabc64fc738326485a8231a9a649f784090a0c3d8215f8d2ccd6038b8e60cc4": ONE_PAIR,
    # swimmer.xml
    "25b0d46bf5522920fea6a579353aee39d391ad9e2a0574b53f83704c11b21b12": (*ONE_TREE, *ONE_PAIR),
    # walker2d.xml
    "ac13373c7ac9003a5311c4704b314ed11149b3dd7600bbc02770487300f9ad2d": (*ONE_TREE, *ONE_PAIR),
    # walker2d_v5.xml
    "6bed53a6cc3ca73c4fe8ac3486d3b4228927264a6454f4ef16d3eed3c58bc09d": (*ONE_TREE, *ONE_PAIR),
}
# In these versions islands change the last bits even of one tree, in a few states: seen in
# walker2d.xml after 542 steps, and in the suite's cart with two poles.
ISLANDS_DIFFER = frozenset(("3.11.0", "3.12.0", "3.13.0", "3.14.0", "3.15.0", "3.16.0"))
PROVEN_VERSIONS = frozenset(
    (
        *("3.1.0", "3.1.1", "3.1.2", "3.1.3", "3.1.4", "3.1.5", "3.1.6", "3.2.0", "3.2.1"),
        *("3.2.2", "3.2.3", "3.2.4", "3.2.5", "3.2.6", "3.2.7", "3.3.0", "3.3.1", "3.3.2"),
        *("3.3.3", "3.3.4", "3.3.5", "3.3.6", "3.3.7", "3.4.0", "3.5.0", "3.6.0", "3.7.0"),
        *("3.8.0", "3.8.1", "3.9.0", "3.10.0", "3.11.0", "3.12.0", "3.13.0", "3.14.0", "3.15.0"),
        *("3.16.0", "3.17.0", "4.0.0"),
    )
)


class Link(str):
    """The text that C reads, with a reference to the model that its addresses belong to.

    Attributes:
        model: the MjModel.
        model_options: the options that determine the model, and their values.
        kept: what else its addresses belong to.
    """

    model: Any
    kept: Any = None
    model_options: dict[str, Any]


def fill_options(definition: Definition, options: Mapping[str, Any]) -> dict[str, Any]:
    """Loads the model of `xml_file`. Returns the options under the names of the definition, with
    the model's link and digest added.

    Raises:
        MissingDependencyError: mujoco is not installed, or lacks a function.
        OSError: the file does not exist.
        TypeError, ValueError: a value is wrong, or MuJoCo refuses the file.
    """
    completed = rename(definition, options)

    def make(chosen: Mapping[str, Any]) -> tuple[Any, bytes, str]:
        path = find_file(str(chosen["xml_file"]))
        model, digest = load(path, bool(chosen["speed_switches"]))
        return model, digest, make_link(model, state_spec(INPUTS))

    completed, model = add_link(definition, completed, ("xml_file", "speed_switches"), make)
    number_body(completed, model)
    return completed


def add_link(
    definition: Definition,
    options: Mapping[str, Any],
    names: Sequence[str],
    make: Callable[[Mapping[str, Any]], tuple[Any, bytes, str]],
) -> tuple[dict[str, Any], Any]:
    """Returns the options with the link and the digest of their model, and the model.

    Args:
        definition: of the environment.
        options: under the names of the definition.
        names: the options that determine the model.
        make: loads the model of such options; returns it, its digest and the text of its link.

    Raises:
        MissingDependencyError: mujoco is not installed, or lacks a function.
        OSError, TypeError, ValueError: as `fill_options` does.
    """
    completed = dict(options)
    model_options = {
        name: option.check(completed.get(name, option.default))
        for name, option in definition.options.items()
        if name in names
    }
    filled_in = {name: completed.pop(name) for name in ("_link", "model_digest") if name in options}
    before = filled_in.get("_link")
    if isinstance(before, Link):
        if before.model_options == model_options:
            return {**completed, **filled_in}, before.model
    elif filled_in:
        # wrong addresses would crash the process
        raise TypeError(f"{definition.id}: {', '.join(filled_in)} can't be given: leave it out")

    # a missing mujoco is reported before a missing file
    import_mujoco()
    model, digest, text = make(model_options)
    link = Link(text)
    link.model = model
    link.model_options = model_options
    return {**completed, "_link": link, "model_digest": digest}, model


def number_body(options: dict[str, Any], model: Any) -> None:
    """Replaces the name of the main body, if one is given, by its number."""
    mujoco, body = import_mujoco(), options.get("main_body")
    if isinstance(body, str):
        options["main_body"] = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, body)
        if options["main_body"] < 0:
            raise ValueError(f"main_body={quote(body)}: the model has no body of that name")


def rename(definition: Definition, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options under the names of the definition. Unknown names stay, to be refused."""
    renamed = dict(options)

    def put(name: str, ours: str, value: Any) -> None:
        if ours in options:
            raise TypeError(f"{name} and {ours} are the same: give one of them")
        renamed[ours] = value

    for name, ours in ALIASES.items():
        if name in options and ours in definition.options:
            put(name, ours, renamed.pop(name))
    for name, ends in RANGES.items():
        if name in options and ends[0] in definition.options:
            for end, value in zip(ends, _pair(name, renamed.pop(name)), strict=True):
                put(name, end, value)
    return renamed


def _pair(name: str, value: Any) -> tuple[Any, Any]:
    try:
        low, high = value
    except (TypeError, ValueError):
        raise TypeError(f"{name}={quote(value)}: give two numbers, lower and upper bound") from None
    return low, high


def import_mujoco(install: str = INSTALL) -> Any:
    """Returns the package; raises MissingDependencyError if it can't be imported.

    Args:
        install: the command that installs it.
    """
    try:
        import mujoco  # type: ignore[import-untyped]
    # mujoco imports the backend of MUJOCO_GL; PyOpenGL raises AttributeError for missing libraries
    except Exception as error:
        backend = os.environ.get("MUJOCO_GL")
        if backend and importlib.util.find_spec("mujoco"):
            raise MissingDependencyError(
                f"mujoco can't be imported with MUJOCO_GL={backend}"
                f" ({type(error).__name__}: {error}): {OPENGL}"
            ) from error
        raise MissingDependencyError(mismatch() or _why_not(error, install)) from error
    return mujoco


def mismatch() -> str | None:
    """Returns a sentence if the installed mujoco and mujoco-core have different versions.

    mujoco refuses to be imported with another version of mujoco-core.
    """
    outer, core = _installed("mujoco"), _installed("mujoco-core")
    if outer is None or core is None or outer == core or "mujoco-core" not in _packages(outer):
        return None
    return (
        f"mujoco {outer} and mujoco-core {core} are installed, which must have the same version:"
        f" pip install 'mujoco=={outer}' 'mujoco-core=={outer}'"
    )


def _installed(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _packages(version: str) -> tuple[str, ...]:
    """Returns the packages of which a version of mujoco consists.

    Since 4.0 the library with its bindings is one of its own (mujoco-core).
    """
    return PACKAGES if int(version.partition(".")[0]) >= 4 else PACKAGES[:1]


def _why_not(error: Exception, install: str) -> str:
    """Returns why mujoco can't be imported, and the command that mends it."""
    version = _installed("mujoco")
    if version is None or (isinstance(error, ModuleNotFoundError) and error.name == "mujoco"):
        return f"MuJoCo is not installed ({error}): {install}"
    packages = " ".join(f"'{name}=={version}'" for name in _packages(version))
    reason = " ".join(str(error).split())
    return (
        f"mujoco {version} is installed, but can't be imported ({type(error).__name__}: {reason}):"
        f" pip install --force-reinstall --no-deps {packages}"
    )


# ------------------------------------------------------------------------------------- models --


def assets() -> Path:
    """Returns the folder that contains Gymnasium's models."""
    # importing gymnasium.envs.mujoco would load all of its environments
    spec = importlib.util.find_spec("gymnasium")
    assert spec is not None and spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / "envs" / "mujoco" / "assets"


def find_file(
    xml_file: str, folder: Callable[[], Path] = assets, models: str = "a Gymnasium model"
) -> Path:
    """Returns the path of a model: a package's file, unless it begins with "/", "." or "~".

    Args:
        xml_file: as users give it.
        folder: returns that of the package's models.
        models: what these are called, in the message.

    Raises:
        MissingDependencyError: of `folder`, whose package is not installed.
        OSError: the file does not exist.
    """
    is_path = xml_file.startswith((".", "/", "~"))
    # pathlib's expanduser raises RuntimeError for an unknown user
    path = Path(os.path.expanduser(xml_file)) if is_path else folder() / xml_file
    if not path.is_file():
        raise OSError(
            f"xml_file={quote(xml_file)}: File {path} does not exist: give a path that begins with"
            f" '/', '.' or '~', or the name of {models}"
        )
    return path


def load(path: Path, switches: bool, warns: bool = True) -> tuple[Any, bytes]:
    """Loads a model. Returns a new MjModel and the SHA-256 of its compiled form.

    MuJoCo's warnings about a user's own file become Python warnings. Those about Gymnasium's files,
    which the user can't change, are dropped.

    Args:
        path: the XML file.
        switches: set the options of `SWITCHES` if they are proven for this file and version.
        warns: pass on MuJoCo's warnings.

    Raises:
        ValueError: MuJoCo refuses the file, or the model has plugins.
    """
    mujoco = import_mujoco()
    with capture_warnings() as texts:
        try:
            model = mujoco.MjModel.from_xml_path(str(path))
        except (ValueError, mujoco.FatalError, mujoco.UnexpectedError) as error:
            raise ValueError(f"{path}: MuJoCo refuses it: {error}") from error
    if warns and not path.is_relative_to(assets()):
        for text in texts:
            warnings.warn(f"{path}: {text}", stacklevel=2)
    if switches:
        disable(model, SWITCHES.get(hashlib.sha256(path.read_bytes()).hexdigest(), ()))
    if model.nplugin:
        raise ValueError(f"{path}: models with plugins are not supported: choose another xml_file")
    return model, digest(model)


def disable(model: Any, names: Sequence[str]) -> None:
    """Sets those flags of `SWITCHES` that the imported version has, and that are proven there."""
    mujoco = import_mujoco()
    if mujoco.__version__ not in PROVEN_VERSIONS:
        return
    for name in names:
        if name not in ONE_TREE or mujoco.__version__ not in ISLANDS_DIFFER:
            model.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, name, 0))


def digest(model: Any) -> bytes:
    """Returns the SHA-256 of a compiled model."""
    mujoco = import_mujoco()
    image = np.empty(mujoco.mj_sizeModel(model), np.uint8)
    mujoco.mj_saveModel(model, None, image)
    return hashlib.sha256(image.tobytes()).digest()


# MuJoCo's mjLogMessage, since 3.10, begins with level (int), topic (int) and text
LOG_TEXT = 8
LOG_WARNING = 2


@contextmanager
def capture_warnings() -> Iterator[list[str]]:
    """Collects MuJoCo's warnings in this thread. Otherwise they are written to a MUJOCO_LOG.TXT.

    Errors are not affected: Python's bindings raise them as exceptions, and pass all other messages
    to the thread's previous handler.
    """
    texts: list[str] = []

    def take(text: int) -> None:
        texts.append(ctypes.string_at(text).decode(errors="replace"))

    def take_message(message: int) -> None:
        if ctypes.c_int.from_address(message).value == LOG_WARNING:
            take(message + LOG_TEXT)

    addresses = function_addresses()
    handler = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    set_and_return = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
    if "set_log" in addresses:
        listener = handler(take_message)
        install: Any = set_and_return(addresses["set_log"])
        before = install(ctypes.cast(listener, ctypes.c_void_p))
    else:
        listener = handler(take)
        install = handler(addresses["set_warning"])
        before = ctypes.CFUNCTYPE(ctypes.c_void_p)(addresses["get_warning"])()
        install(ctypes.cast(listener, ctypes.c_void_p))
    try:
        yield texts
    finally:
        install(before)


# --------------------------------------------------------------------------------------- link --


@cache
def library() -> ctypes.CDLL:
    """Returns the MuJoCo library that Python's mujoco has loaded.

    A symbol is also searched for in the libraries that an opened one was linked with. So opening
    the bindings finds the library that they use, whatever else lies in their folder: an upgrade may
    leave the library of an earlier version there.
    """
    return ctypes.CDLL(import_mujoco()._functions.__file__)


class DlInfo(ctypes.Structure):
    """The result of dladdr: in which library an address lies."""

    _fields_ = (
        ("path", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


@cache
def library_path() -> Path:
    """Returns the path of MuJoCo's library, as the dynamic linker has loaded it."""
    info = DlInfo()
    ctypes.CDLL(None).dladdr(ctypes.c_void_p(function_addresses()["mj_step"]), ctypes.byref(info))
    return Path(os.fsdecode(info.path))


@cache
def headers() -> Path:
    """Returns the folder of MuJoCo's headers; raises MissingDependencyError if there is none."""
    mujoco = import_mujoco()
    folder = Path(mujoco.__file__).parent / "include"
    if not (folder / "mujoco" / "mujoco.h").is_file():
        raise MissingDependencyError(
            f"mujoco {mujoco.__version__} has no headers in {folder}: install a version from"
            f" {VERSIONS}"
        )
    return folder


def address_of(name: str) -> int | None:
    try:
        return ctypes.cast(getattr(library(), name), ctypes.c_void_p).value
    except AttributeError:
        return None


@cache
def function_addresses() -> Mapping[str, int]:
    """Returns the addresses of the library's functions by their names in the link."""
    handlers = HANDLERS if address_of(HANDLERS["set_log"]) else OLDER_HANDLERS
    symbols = {**{name: name for name in FUNCTIONS}, **handlers}
    found = {name: address_of(symbol) for name, symbol in symbols.items()}
    lacking = [symbols[name] for name, address in found.items() if address is None]
    if lacking:
        raise MissingDependencyError(
            f"mujoco {import_mujoco().__version__} has no {', '.join(lacking)}:"
            f" install a version from {VERSIONS}"
        )
    return found  # type: ignore[return-value]


# The offset at which each pointer, and the time, was found last: a search takes milliseconds, and a
# process has only one version of MuJoCo.
found_offsets: dict[str, int] = {}
UNIQUE_TIME = 0.7281690140845070
UNIQUE_FLAGS = 0x5A17C3


def _pointer(data: Any, offset: int) -> int:
    """Returns the pointer at this offset in mjData, in bytes."""
    return ctypes.c_void_p.from_address(data._address + offset).value or 0


def find_offsets(data: Any, names: Iterable[str] = POINTERS) -> dict[str, int]:
    """Returns the offsets in mjData, or in mjModel, of the pointers to these fields, in bytes.

    Each version of MuJoCo has its own layout, so this searches mjData for the pointers, whose
    values are the addresses of Python's arrays. The search ends inside mjData because it contains
    them all. Offsets found with an earlier model are checked again, because one of them may be
    that of another pointer: mjData also points to the buffer that holds all arrays, and this
    pointer equals that of the first array with elements. The offset of a field without elements is
    0, as nothing reads it.
    """
    arrays = {name: getattr(data, name) for name in names}
    waiting = {
        array.ctypes.data: name
        for name, array in arrays.items()
        if array.size and _pointer(data, found_offsets.get(name, 0)) != array.ctypes.data
    }
    offset = 0
    while waiting:
        name = waiting.pop(_pointer(data, offset), None)
        if name is not None:
            found_offsets[name] = offset
        offset += 8
    return {name: found_offsets[name] if array.size else 0 for name, array in arrays.items()}


def make_link(model: Any, spec: int, more: Mapping[str, int] | None = None) -> str:
    """Returns the text that C reads.

    Args:
        model: the MjModel.
        spec: the parts of mjData that an environment keeps, as bits of mjtState.
        more: further lines, by name.
    """
    data = import_mujoco().MjData(model)
    numbers = {
        **function_addresses(),
        **find_offsets(data),
        **{name: getattr(model, name) for name in SIZES},
        "model": model._address,
        "body_mass": model.body_mass.ctypes.data,
        "actuator_ctrlrange": model.actuator_ctrlrange.ctypes.data,
        "state_spec": spec,
        **find_state_parts(model, data, spec),
        **find_cursors(model, spec),
        "timestep": struct.unpack("<q", struct.pack("<d", model.opt.timestep))[0],
        "fuses_dot": int(fuses_dot()),
        "mjcb_time": address_of("mjcb_time") or 0,
        **(more or {}),
    }
    return "\n".join(f"{name}={number}" for name, number in numbers.items())


def state_spec(inputs: Iterable[str] = ()) -> int:
    """Returns the parts of mjData that an environment keeps between steps, as bits of mjtState.

    Args:
        inputs: the parts of MuJoCo's integration state that it does not keep.
    """
    parts = import_mujoco().mjtState
    spec = int(parts.mjSTATE_INTEGRATION)
    for name in inputs:
        spec &= ~int(getattr(parts, f"mjSTATE_{name}"))
    return spec


def find_state_parts(model: Any, data: Any, spec: int) -> dict[str, int]:
    """Returns the offsets and sizes in mjData of the parts of a state, in the order of mj_getState.

    There are no parts if the state has one that is not in `STATE_ARRAYS`. C then calls mj_getState.
    """
    mujoco = import_mujoco()
    offsets = find_offsets(data, STATE_ARRAYS.values())
    parts: list[tuple[int, int, int]] = []
    for bit in sorted(mujoco.mjtState.__members__.values(), key=int):
        size = mujoco.mj_stateSize(model, int(bit)) if int(bit) & spec else 0
        name = bit.name.removeprefix("mjSTATE_")
        # members with several bits are combinations of the others
        if not size or int(bit).bit_count() > 1:
            continue
        if name == "TIME":
            parts.append((time_offset(data), 1, size))
        elif name in STATE_ARRAYS:
            parts.append((offsets[STATE_ARRAYS[name]], 0, size))
        else:
            parts = []
            break
    numbers = {"state_parts": len(parts)}
    for i, (offset, is_inline, size) in enumerate(parts):
        numbers |= {f"part{i}": offset, f"part{i}_inline": is_inline, f"part{i}_size": size}
    return numbers


def find_cursors(model: Any, spec: int) -> dict[str, int]:
    """Returns the numbers of a state that MuJoCo uses as indices, and what they index.

    They are in the ring buffers of actuators and sensors with a delay, which newer versions have. A
    buffer is a number of the user's, the cursor, the times and the values.
    """
    mujoco = import_mujoco()
    found: list[tuple[int, int]] = []
    if getattr(model, "nhistory", 0):
        history = int(mujoco.mjtState.mjSTATE_HISTORY)
        start = mujoco.mj_stateSize(model, spec & (history - 1))
        for kind in ("actuator", "sensor"):
            addresses = getattr(model, f"{kind}_historyadr")
            lengths = getattr(model, f"{kind}_history")[:, 0]
            pairs = zip(addresses.tolist(), lengths.tolist(), strict=True)
            found += [(start + address + 1, length) for address, length in pairs if address >= 0]
    numbers = {"cursors": len(found)}
    for i, (place, length) in enumerate(found):
        numbers |= {f"cursor{i}": place, f"cursor{i}_length": length}
    return numbers


def find_names(model: Any) -> dict[str, int]:
    """Returns where the model has what it names, as "body:torso": the index of a body, geom, site
    or light; with qpos, qvel or sensor the place of a joint's or sensor's first number."""
    lines: dict[str, int] = {}
    for kind, count in (
        *(("body", model.nbody), ("geom", model.ngeom), ("site", model.nsite)),
        ("light", model.nlight),
    ):
        lines |= {f"{kind}:{getattr(model, kind)(i).name}": i for i in range(count)}
    for i in range(model.njnt):
        name = model.joint(i).name
        lines[f"qpos:{name}"] = int(model.jnt_qposadr[i])
        lines[f"qvel:{name}"] = int(model.jnt_dofadr[i])
    for i in range(model.nsensor):
        lines[f"sensor:{model.sensor(i).name}"] = int(model.sensor_adr[i])
    return lines


def time_offset(data: Any) -> int:
    """Returns the offset of the time in mjData, found by a value that no other field has."""
    data.time = UNIQUE_TIME
    # twenty thousand numbers are in front of it
    return find_number("time", data, UNIQUE_TIME)


def flags_offset(model: Any) -> int:
    """Returns the offset of disableflags in mjModel, found by a value that no other field has."""
    flags = model.opt.disableflags
    model.opt.disableflags = UNIQUE_FLAGS
    found = find_number("disableflags", model, UNIQUE_FLAGS)
    model.opt.disableflags = flags
    return found


def find_number(name: str, struct_of: Any, value: float) -> int:
    """Returns the offset in mjData, or in mjModel, of a number that has a value as no other has.

    Args:
        name: of the number, under which its offset is remembered.
        struct_of: the MjData or MjModel.
        value: a float for a double, an integer for an int.
    """
    number = ctypes.c_double if isinstance(value, float) else ctypes.c_int32

    def is_there(offset: int) -> bool:
        return bool(number.from_address(struct_of._address + offset).value == value)

    if not is_there(found_offsets.get(name, 0)):
        found_offsets[name] = next(filter(is_there, itertools.count(0, ctypes.sizeof(number))))
    return found_offsets[name]
