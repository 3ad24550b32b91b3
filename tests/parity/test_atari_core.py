"""The Atari core equals ale-py bit for bit: a short form of ``atari_core.py``'s proof."""

from __future__ import annotations

import importlib.util
import platform
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.proven("csrc/envs/atari")


def load_helper() -> ModuleType:
    """Imports atari_core.py, which is in this folder and not part of a package."""
    path = Path(__file__).with_name("atari_core.py")
    spec = importlib.util.spec_from_file_location("atari_core", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["atari_core"] = module
    spec.loader.exec_module(module)
    return module


core = load_helper()
GAMES = ("pong", "breakout")


@pytest.fixture(scope="module")
def library() -> core.Library:
    return core.Library(core.build())


@pytest.mark.quick(1)
@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("draw", ["all", "two", "chance"])
def test_play_is_identical(library: core.Library, game: str, draw: str) -> None:
    case = core.Case(game, 0, 0, 400, hold=6, draw=draw, reset_every=190)
    assert core.compare(library, case, seed=3) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
def test_every_mode_and_difficulty_is_identical(library: core.Library, game: str) -> None:
    for mode, difficulty in core.settings(game):
        case = core.Case(game, mode, difficulty, 40, hold=3)
        core.compare(library, case, seed=mode)


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
def test_sticky_actions_are_identical(library: core.Library, game: str) -> None:
    case = core.Case(game, 0, 0, 400, hold=2, sticky=0.25, draw="two", full_actions=True)
    core.compare(library, case, seed=11)


@pytest.mark.quick(1)
@pytest.mark.parametrize("build", core.BUILDS)
def test_builds_are_identical(library: core.Library, build: str) -> None:
    case = core.Case("breakout", 0, 0, 150, hold=5, build=build)
    try:
        core.compare(library, case, seed=5)
    except ValueError:
        # only the base build runs everywhere
        assert build != "base"
        flags = Path("/proc/cpuinfo")
        known = flags.exists() and platform.machine() == "x86_64"
        # /proc/cpuinfo calls BMI bmi1, and does not name LZCNT
        wanted = compiled_for(build) - {"bmi", "lzcnt"}
        assert not known or not wanted <= set(flags.read_text().split())


def test_translated_programs_need_no_vector_instructions(library: core.Library) -> None:
    """As on processors without AVX2, whose television chip is plain C."""
    game, shape = "breakout", (210, 160)
    played = []
    for isa, interprets in ((0, False), (0, True)):
        console = core.Console(library, game, seed=3, isa=isa, interprets=interprets)
        console.reset_game()
        states = []
        for frame in range(120):
            console.act(1 + frame // 7 % 4, True)
            states.append((console.ram().tobytes(), console.screen(shape).tobytes()))
        played.append(states)
        console.close()
    assert played[0] == played[1]


def compiled_for(build: str) -> set[str]:
    """Returns the processor features that a build uses."""
    name = {"v3": "avx2", "v4": "avx512"}[build]
    source = (core.ROOT / f"csrc/envs/atari/console/tia_{name}.c").read_text()
    (found,) = re.findall(r'#pragma GCC target\("(.*)"\)', source)
    return set(found.split(","))


def test_builds_run_only_with_all_features_they_need() -> None:
    """On a processor that lacks one of the features, the build would crash."""
    source = (core.ROOT / "csrc/base/isa.c").read_text()
    asked = set(re.findall(r'__builtin_cpu_supports\("(\w+)"\)', source))
    # compilers cannot check LZCNT, which comes with BMI
    assert asked == (compiled_for("v3") | compiled_for("v4")) - {"lzcnt"}


def test_comparison_can_fail(library: core.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    act: Callable[..., int] = core.Console.act
    monkeypatch.setattr(core.Console, "act", lambda self, a, draw: act(self, 3, draw))
    case = core.Case("breakout", 0, 0, 60)
    with pytest.raises(core.Difference):
        core.compare(library, case, seed=1)


def test_wrong_arguments_are_refused(library: core.Library) -> None:
    import ctypes

    for size, game in ((4096, b"no_such_game"), (8190, b"pong")):
        options = core.CartridgeOptions(bytes(size), size, game)
        cartridge = ctypes.c_void_p()
        create = library.c.pp_cartridge_create
        assert create(ctypes.byref(options), ctypes.byref(cartridge)) < 0
        assert cartridge.value is None
    with pytest.raises(ValueError, match="no mode 7"):
        core.Console(library, "pong", seed=0).set(7, 0)
    with pytest.raises(ValueError, match="no difficulty 9"):
        core.Console(library, "pong", seed=0).set(0, 9)


def test_a_program_without_frames_ends(library: core.Library) -> None:
    """A ROM of zeros never draws; every frame must end nevertheless."""
    import ctypes

    cartridge = ctypes.c_void_p()
    options = core.CartridgeOptions(bytes(2048), 2048, b"pong")
    assert library.c.pp_cartridge_create(ctypes.byref(options), ctypes.byref(cartridge)) == 0
    memory = ctypes.create_string_buffer(library.c.pp_console_size() + 64)
    library.c.pp_console_load(memory, cartridge, 1, 0.0)
    for _ in range(5):
        library.c.pp_console_act(memory, cartridge, 0, 1)
    library.c.pp_cartridge_destroy(cartridge)
