"""Loading libraries: any file and any symbol is loaded or refused; nothing hangs or crashes."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parallel_pool._engine import registry
from parallel_pool._engine.pool import Pool
from tests.support.c_library import build_library

SOURCE = r"""
#include "pp_env.h"
static const pp_field fields[] = {{.name = "obs", .dtype = PP_INT64, .low = 0, .high = 9}};
static int reset(pp_env *env, pp_reset *how) {
  (void)env, (void)how;
  return PP_OK;
}
static int step(pp_env *env, const void *action, pp_result *result) {
  (void)env, (void)action, (void)result;
  return PP_OK;
}
static int observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)env, (void)is_reset;
  if (rows[0]) *(int64_t *)rows[0] = 7;
  return PP_OK;
}
int a_function(void);
int a_function(void) { return 0; }
const int a_number = 5;
const uint32_t another_abi[2] = {12345, 6};
const pp_env_def DEFINITION = {
    .abi = PP_ENV_ABI, .size = sizeof(pp_env_def), .id = "NAME", .state_size = 8,
    .num_fields = 1, .fields = fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 2},
    .reset = reset, .step = step, .observe = observe,
};
"""


@pytest.fixture(autouse=True)
def registry_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test loads is known to that test alone."""
    monkeypatch.setattr(registry, "loaded_by_id", {})


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    source = SOURCE.replace("NAME", "mine/Load-v0").replace("DEFINITION", "pp_env_load")
    return build_library(source, folder)


def segments(image: bytes) -> list[tuple[int, int]]:
    """Returns where each segment begins and ends in the file."""
    start, size, count = *struct.unpack_from("<Q", image, 32), *struct.unpack_from("<HH", image, 54)
    found = []
    for i in range(count):
        offset, _, _, length = struct.unpack_from("<QQQQ", image, start + size * i + 8)
        found.append((offset, offset + length))
    return found


def test_a_library_is_loaded(library: Path) -> None:
    definition = registry.load(library, "pp_env_load")
    with Pool(definition, 2) as pool:
        assert pool.reset()[0].tolist() == [7, 7]
    # a second time, with the path as bytes
    assert registry.load(os.fsencode(library), "pp_env_load").raw == definition.raw  # type: ignore[arg-type]


def test_files_that_are_cut_off_are_refused(library: Path, tmp_path: Path) -> None:
    """Access to a mapped page beyond the end of its file raises SIGBUS, which ended the process."""
    image = library.read_bytes()
    end = max(end for _, end in segments(image))
    sizes = {0, 1, 4, 16, 63, 64, 65, 120, 4095, 4096, 4097, end // 2, end - 1}
    sizes |= {at for pair in segments(image) for at in pair if at < end}
    for size in sorted(sizes):
        cut = tmp_path / f"cut{size}.so"
        cut.write_bytes(image[:size])
        with pytest.raises(ValueError, match=rf"cut{size}\.so (is cut off|can't be loaded): "):
            registry.load(cut, "pp_env_load")
    cut = tmp_path / "half.so"
    cut.write_bytes(image[: end // 2])
    message = f"it has {end // 2} bytes, and its segments end at {end}: build or copy it anew"
    with pytest.raises(ValueError, match=message):
        registry.load(cut, "pp_env_load")


@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        (4, b"\x01", "can't be loaded"),  # of 32 bits
        (5, b"\x02", "can't be loaded"),  # big-endian
        (18, b"\xf3\x00", "can't be loaded"),  # RISC-V
        (32, struct.pack("<Q", 2**64 - 8), "is cut off"),  # where its segments are listed
        (32, struct.pack("<Q", 2**40), "is cut off"),
        (56, b"\xff\xff", "is cut off"),  # how many there are
        (54, b"\x01\x00", "can't be loaded"),
    ],
)
def test_damaged_headers_are_refused(
    library: Path, tmp_path: Path, at: int, value: bytes, message: str
) -> None:
    image = bytearray(library.read_bytes())
    image[at : at + len(value)] = value
    wrong = tmp_path / "wrong.so"
    wrong.write_bytes(image)
    with pytest.raises(ValueError, match=rf"wrong\.so {message}"):
        registry.load(wrong, "pp_env_load")


def text(path: Path) -> None:
    path.write_text("hello\n" * 100)


def loop(path: Path) -> None:
    path.symlink_to(path)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "can't be opened: No such file or directory: give a shared library"),
        (os.mkfifo, "is not a regular file: give a shared library"),
        (os.mkdir, "is not a regular file: give a shared library"),
        (lambda path: path.symlink_to("/dev/zero"), "is not a regular file"),
        (lambda path: path.symlink_to("/dev/null"), "is not a regular file"),
        (loop, "can't be opened: Too many levels of symbolic links"),
        (Path.touch, "can't be loaded: file too short"),
        (text, "can't be loaded: invalid ELF header"),
    ],
)
def test_files_that_are_no_libraries_are_refused(
    make: Callable[[Path], Any], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "thing.so"
    make(path)
    with pytest.raises(ValueError, match=rf"thing\.so {message}"):
        registry.load(path, "pp_env_load")


def test_a_library_with_an_undefined_symbol_is_refused(tmp_path: Path) -> None:
    source = SOURCE.replace("NAME", "mine/Undefined-v0").replace("DEFINITION", "pp_env_load")
    source = source.replace("int a_function(void) {", "int nowhere(void);\nint a_function(void) {")
    source = source.replace("return 0; }", "return nowhere(); }")
    with pytest.raises(ValueError, match=r"can't be loaded: undefined symbol: nowhere"):
        registry.load(build_library(source, tmp_path), "pp_env_load")


@pytest.mark.parametrize(
    ("symbol", "message"),
    [
        ("pp_env_lode", "has no definition named pp_env_lode: is it static, or hidden?"),
        ("reset", "has no definition named reset"),
        ("a_function", r"a_function of .* is not a pp_env_def: name one"),
        # of the C library
        ("malloc", "malloc of .* is not a pp_env_def|has no definition named malloc"),
        ("a_number", r"a_number of .* is not a pp_env_def: name one"),
        ("another_abi", "the definition has ABI 12345 and 6 bytes, this engine ABI"),
        ("", "symbol='': give the name of a pp_env_def in C"),
        ("pp_env_load\0x", r"symbol='pp_env_load\\x00x': give the name"),
        ("pp env", "symbol='pp env': give the name"),
        ("\ud800", "give the name of a pp_env_def in C"),
    ],
)
def test_wrong_symbols_are_refused(library: Path, symbol: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        registry.load(library, symbol)


@pytest.mark.parametrize("path", ["dice.so\0", b"dice.so\0x"])
def test_paths_with_a_zero_byte_are_refused(path: Any) -> None:
    with pytest.raises(ValueError, match="holds a zero byte: give the name of a file"):
        registry.load(path, "pp_env_load")


@pytest.mark.parametrize("path", [None, 3, ["dice.so"]])
def test_other_types_than_paths_are_type_errors(path: Any) -> None:
    with pytest.raises(TypeError, match=r"expected str, bytes or os\.PathLike object"):
        registry.load(path, "pp_env_load")


def test_paths_need_not_be_utf8(library: Path, tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/d\xf4me.so"
    with pytest.raises(ValueError, match="can't be opened"):
        registry.load(name, "pp_env_load")  # type: ignore[arg-type]
    with open(name, "wb") as file:
        file.write(SOURCE.encode())
    with pytest.raises(ValueError, match="can't be loaded: invalid ELF header"):
        registry.load(name, "pp_env_load")  # type: ignore[arg-type]


def test_the_error_gives_the_reason_for_a_long_path(tmp_path: Path) -> None:
    folder = tmp_path / ("a" * 200) / ("b" * 200)
    folder.mkdir(parents=True)
    path = folder / "long.so"
    text(path)
    with pytest.raises(ValueError, match=r"bbb/long\.so can't be loaded: invalid ELF header"):
        registry.load(path, "pp_env_load")
