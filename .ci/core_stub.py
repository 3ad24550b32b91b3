"""Writes parallel_pool/_core.pyi, the types of the C module, from the header that cffi reads.

python .ci/core_stub.py           rewrite the stub (make format)
python .ci/core_stub.py --check   fail when it differs from the header (make lint)
"""

from __future__ import annotations

import keyword
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STUB = ROOT / "parallel_pool" / "_core.pyi"
sys.path.insert(0, str(ROOT))

from build_ffi import cdef  # noqa: E402

HEAD = '''\
"""The C engine as cffi shows it. Written from csrc/include by .ci/core_stub.py: do not edit."""

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Final, TypeAlias, final

# a C value: pointer, array, structure, or number with a C type
@final
class CData:
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...
    def __getitem__(self, index: int | slice) -> Any: ...
    def __setitem__(self, index: int | slice, value: Any) -> None: ...
    def __add__(self, other: int) -> CData: ...
    def __sub__(self, other: int) -> CData: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __bool__(self) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __enter__(self) -> CData: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...

# bytes seen through the buffer protocol; numpy.frombuffer takes it
@final
class Buffer:
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __getitem__(self, index: int | slice) -> bytes: ...
    def __setitem__(self, index: int | slice, value: bytes) -> None: ...
    def __len__(self) -> int: ...

@final
class CType:
    @property
    def cname(self) -> str: ...
    @property
    def kind(self) -> str: ...
    def __getattr__(self, name: str) -> Any: ...

# inside FFI the plain names are its attributes
_CData: TypeAlias = CData
_CType: TypeAlias = CType

class FFI:
    NULL: Final[_CData]
    CData: Final[type]
    CType: Final[type]
    error: Final[type[Exception]]
    errno: int
    def addressof(self, cdata: _CData | Lib, /, *fields: str | int) -> _CData: ...
    def buffer(self, cdata: _CData, size: int = -1) -> Buffer: ...
    def callback(
        self, cdecl: str, python_callable: Callable[..., Any], *, error: Any = ...
    ) -> _CData: ...
    def cast(self, ctype: str | _CType, value: Any) -> _CData: ...
    def dlopen(self, name: str | None, flags: int = 0) -> Any: ...
    def from_buffer(
        self, ctype: str | _CType | Any, buffer: Any = ..., require_writable: bool = False
    ) -> _CData: ...
    def from_handle(self, handle: _CData) -> Any: ...
    def gc(
        self, cdata: _CData, destructor: Callable[[_CData], Any] | None, size: int = 0
    ) -> _CData: ...
    def memmove(self, dest: Any, src: Any, n: int) -> None: ...
    def new(self, ctype: str | _CType, init: Any = None) -> _CData: ...
    def new_handle(self, value: Any) -> _CData: ...
    def offsetof(self, ctype: str | _CType, /, *fields: str | int) -> int: ...
    def release(self, cdata: _CData) -> None: ...
    def sizeof(self, cdata: str | _CType | _CData) -> int: ...
    def string(self, cdata: _CData, maxlen: int = -1) -> bytes: ...
    def typeof(self, cdecl: str | _CData) -> _CType: ...
    def unpack(self, cdata: _CData, length: int) -> Any: ...

class Lib:
'''

TAIL = "\nffi: Final[FFI]\nlib: Final[Lib]\n"

PROTOTYPE = re.compile(
    r"^(?P<result>\w[\w *]*?[ *])(?P<name>pp_\w+)\((?P<args>[^()]*)\);", re.MULTILINE
)
ENUM = re.compile(r"^enum\b[^{;]*\{(?P<body>[^}]*)\}", re.MULTILINE)


def python_type(declaration: str) -> str:
    """Returns the Python type of a C declaration."""
    # cffi accepts bytes for const char * and const void *
    if re.fullmatch(r"\s*const (char|void) \*\w*", declaration):
        return "CData | bytes"
    if "*" in declaration:
        return "CData"
    base = re.sub(r"\bconst\b", "", declaration).split()[0]
    return {"void": "None", "double": "float", "float": "float"}.get(base, "int")


def parameter(declaration: str) -> str:
    """Converts one C parameter: `const pp_row *rows` becomes `rows: CData`."""
    name = re.search(r"(\w+)\s*(\[\w*\])?$", declaration.strip())
    assert name is not None, declaration
    word = f"{name[1]}_" if keyword.iskeyword(name[1]) else name[1]
    return f"{word}: {python_type(declaration.replace('[', ' *['))}"


def stub() -> str:
    """Returns the text of the stub, not yet formatted."""
    source = re.sub(r"/\*.*?\*/", "", cdef(), flags=re.DOTALL)
    lines = []
    for enum in ENUM.finditer(source):
        names = re.findall(r"\b(PP_\w+)\b\s*(?:=[^,]*)?(?:,|$)", enum["body"].strip())
        lines += [f"    {name}: Final[int]" for name in names]
    for function in PROTOTYPE.finditer(source):
        arguments = " ".join(function["args"].split())
        parts = [] if arguments in ("", "void") else [parameter(a) for a in arguments.split(",")]
        result = python_type(function["result"]).replace(" | bytes", "")
        listed = ", ".join(["self", *parts, "/"])
        lines.append(f"    def {function['name']}({listed}) -> {result}: ...")
    return HEAD + "\n".join(lines) + "\n" + TAIL


def main() -> int:
    # ruff wraps long lines, so that `ruff format --check` accepts the stub
    ruff = str(Path(sys.executable).parent / "ruff")
    command = [ruff, "format", f"--stdin-filename={STUB}", "-"]
    done = subprocess.run(command, input=stub(), stdout=subprocess.PIPE, text=True, check=True)
    text = done.stdout
    if sys.argv[1:] == ["--check"]:
        if STUB.exists() and STUB.read_text() == text:
            return 0
        print(f"{STUB.relative_to(ROOT)} differs from csrc/include: run make format")
        return 1
    STUB.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
