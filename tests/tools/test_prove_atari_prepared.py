"""prove-atari --carry: a change of what the translator writes is found in the cartridges."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from parallel_pool._families import atari
from parallel_pool._prove_atari import prepared
from parallel_pool._prove_atari.prepared import CartridgesDiffer
from tests.support import c_programs
from tests.support.c_library import CSRC

FLAVOUR = "plain"
pytestmark = [
    pytest.mark.slow,  # the first test compiles the engine, as tests/c does
    pytest.mark.proven("csrc/envs/atari"),
]


def program(folder: Path, changed: Path | None = None, beside: Path = CSRC) -> Path:
    """Returns the program that prints cartridges.

    Args:
        changed: a source in place of the engine's.
        beside: the folder of headers that the original includes from beside it.
    """
    tools = c_programs.toolchain(FLAVOUR)
    made = folder / "cartridges"
    inputs = [CSRC.parent / prepared.PROGRAM, c_programs.engine(FLAVOUR)]
    if changed is not None:
        target = changed.with_suffix(".o")
        tools.run([*tools.cc, *tools.own_flags, f"-I{beside}", "-c", changed, "-o", target])
        inputs.insert(1, target)
    c_programs.link("cartridges", tools, inputs, made)
    return made


@pytest.fixture(scope="module")
def roms(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A few ROMs, as the program's input."""
    folder = tmp_path_factory.mktemp("roms")
    few = [each for each in prepared.roms() if each.game in ("pong", "warlords")]
    assert len(few) > 60
    return prepared.write(folder, few)


@pytest.fixture(scope="module")
def lines(roms: str, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return list(prepared.lines_of(program(tmp_path_factory.mktemp("program")), roms))


def test_equal_trees_make_equal_cartridges(roms: str, lines: list[str], tmp_path: Path) -> None:
    assert not any("refused" in line and " v4 " not in line for line in lines)
    prepared.compare(lines, prepared.lines_of(program(tmp_path), roms))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="programs are translated on x86-64")
@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("translation/read.c", "case IN_RCO: *cycles = 4", "case IN_RCO: *cycles = 5"),
        ("translation/jump.c", "k->has_zn = !k->is_wide;", "k->has_zn = true;"),
        ("translation/block.c", "SHORTEST_ENTRY = 3", "SHORTEST_ENTRY = 4"),
        ("cartridge.c", "near ? 7 : 8", "near ? 8 : 7"),
    ],
)
def test_another_cartridge_is_found(
    roms: str, lines: list[str], tmp_path: Path, name: str, old: str, new: str
) -> None:
    path = CSRC / "envs" / "atari" / "console" / name
    text = path.read_text()
    assert text.count(old) == 1
    changed = tmp_path / path.name
    changed.write_text(text.replace(old, new))
    with pytest.raises(CartridgesDiffer, match="another cartridge: "):
        prepared.compare(lines, prepared.lines_of(program(tmp_path, changed, path.parent), roms))


def test_roms_are_the_same_in_each_call() -> None:
    first, second = list(prepared.roms()), list(prepared.roms())
    assert first == second
    assert len({each.name for each in first}) == len(first)
    assert atari.read_rom("pong") in {each.program for each in first}


def test_a_missing_line_is_a_difference() -> None:
    with pytest.raises(CartridgesDiffer, match=r"another cartridge: None, where it was b 2"):
        prepared.compare(["a 1", "b 2"], ["a 1"])
