"""The Atari translator's assembler writes what GNU's assembler makes of the same instructions."""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.c_library import CSRC

FORMS = Path(__file__).with_name("assembler_forms.c")
TRANSLATION = CSRC / "envs" / "atari" / "console" / "translation"
# each instruction begins at a multiple of so many bytes, so that both sides' jumps have one target
SPACE = 16

pytestmark = pytest.mark.skipif(
    not (shutil.which("as") and shutil.which("objdump")) or platform.machine() != "x86_64",
    reason="needs GNU binutils on x86-64",
)


def output(*command: str | Path) -> str:
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def forms(folder: Path, translation: Path = TRANSLATION) -> list[tuple[str, str]]:
    """Returns the bytes and the text of every form."""
    program = folder / "forms"
    source = folder / "forms.c"
    own = "envs/atari/console/translation/assembler.h"
    source.write_text(FORMS.read_text().replace(own, str(translation / "assembler.h")))
    compiler = shlex.split(os.environ.get("CC") or "cc")
    flags = ["-std=c11", "-O0", "-Wall", "-Wextra", "-Werror", f"-I{CSRC}"]
    output(*compiler, *flags, source, translation / "assembler.c", "-o", program)
    lines = [line.split("|") for line in output(program).splitlines()]
    return [(code, text) for code, text in lines]


def disassembled(instructions: Sequence[str], folder: Path) -> list[str]:
    """Assembles one instruction after another; returns how objdump shows each."""
    source, target = folder / "code.s", folder / "code.o"
    lines = [f".balign {SPACE}\n{each}\n" for each in instructions]
    source.write_text(".intel_syntax noprefix\n" + "".join(lines))
    output("as", "--64", source, "-o", target)
    shown = output("objdump", "-d", "-M", "intel", "--no-show-raw-insn", target)
    found = []
    for address, text in re.findall(r"^ *([0-9a-f]+):\t(.*)$", shown, re.MULTILINE):
        if int(address, 16) % SPACE:
            continue
        text = re.sub(r"^rex ", "", re.sub(r"\s+", " ", text.strip()))
        found.append(f"{address}: {text.replace('+0x0]', ']')}")
    return found


def differences(found: Sequence[tuple[str, str]], folder: Path) -> list[str]:
    ours = disassembled([f".byte {', '.join(f'0x{b:02x}' for b in bytes.fromhex(code))}"
                         for code, _ in found], folder)  # fmt: skip
    theirs = disassembled([text for _, text in found], folder)
    assert len(ours) == len(theirs) == len(found)
    return [
        f"{text}: {code} is {our}, not {their}"
        for (code, text), our, their in zip(found, ours, theirs, strict=True)
        if our != their
    ]


@pytest.mark.slow
def test_every_form_is_what_gnu_as_makes_of_it(tmp_path: Path) -> None:
    found = forms(tmp_path)
    assert len(found) > 7_000
    assert all(0 < len(code) // 2 <= SPACE - 1 for code, _ in found)
    assert differences(found, tmp_path) == []


def test_no_form_is_left_out() -> None:
    header = re.sub(r"/\*.*?\*/", "", (TRANSLATION / "assembler.h").read_text(), flags=re.DOTALL)
    names = set(re.findall(r"\b((?:as|OP|IMM|SHIFT|IF)_\w+)\b", header))
    internal = {"as_byte", "as_word"}
    tested = set(re.findall(r"\b\w+\b", FORMS.read_text()))
    assert len(names) > 60
    assert names - internal - tested == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(base > 7)", "(base > 8)"),
        ("(p.base & 7) == RSP", "p.base == RSP"),
        pytest.param("OP_SBB8 = 0x1a", "OP_SBB8 = 0x12", marks=pytest.mark.slow),
        pytest.param("p.disp >= -128", "p.disp >= -129", marks=pytest.mark.slow),
        pytest.param("IF_ABOVE = 7", "IF_ABOVE = 6", marks=pytest.mark.slow),
        pytest.param("opcode == 0xfe ||", "false ||", marks=pytest.mark.slow),
    ],
)
def test_a_wrong_byte_is_found(tmp_path: Path, old: str, new: str) -> None:
    texts = {name: (TRANSLATION / name).read_text() for name in ("assembler.h", "assembler.c")}
    assert sum(old in text for text in texts.values()) == 1
    for name, text in texts.items():
        (tmp_path / name).write_text(text.replace(old, new))
    assert differences(forms(tmp_path, tmp_path), tmp_path)
