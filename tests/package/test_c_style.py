"""The style of C that clang-format leaves open: comments, include guards, increments, sizeof.

In tests/c only the ends of comments are checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CSRC = ROOT / "csrc"


def c_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in (".c", ".h", ".inl", ".def"))


FILES = c_files(CSRC)

TEXT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/', re.DOTALL)


def without_texts(source: str) -> str:
    """Returns a source without strings and comments of the form /* */, line by line."""
    return TEXT.sub(lambda match: '""' + "\n" * match.group().count("\n"), source)


def outside_functions(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yields the lines that are not in a function's body, as clang-format writes it."""
    is_inside = False
    for number, line in enumerate(lines, 1):
        if is_inside:
            is_inside = not line.startswith("}")
        elif line.endswith(") {") and not line.startswith("#"):
            is_inside = True
        else:
            yield number, line


def open_ends(source: str) -> list[str]:
    """Returns comments whose end stands alone, and rulers that are longer than a line."""
    found = []
    for number, line in enumerate(source.split("\n"), 1):
        if line.strip() == "*/":
            found.append(f"{number}: */ alone on its line: end the line before with it")
        if re.match(r" *(?:/\*|\*) -{3}", line) and not line.endswith("*/"):
            found.append(f"{number}: a ruler of two lines: shorten it")
    return found


def faults(path: Path, source: str) -> list[str]:
    """Returns what is not the house's style in a file: the line, and what to write."""
    lines = without_texts(source).split("\n")
    found = [
        f"{number}: // outside a function: write /* */"
        for number, line in outside_functions(lines)
        if "//" in line and "clang-format" not in line
    ]
    found += open_ends(source)
    if not source.startswith("/* "):
        found.append("1: no comment at the start that says what the file is for")
    if path.suffix == ".h":
        # users include the public headers by their names, which begin with pp_
        public = path.name if path.name.startswith("pp_") else ""
        parts = "/".join(("PP", *path.relative_to(CSRC).parts))
        guard = re.sub(r"\W", "_", public or parts).upper()
        given = re.search(r"^#ifndef (\w+)\n#define (\w+)\n", source, re.MULTILINE)
        if not given or given[1] != given[2] or given[1] != guard:
            found.append(f"1: the include guard is not {guard}")
    for number, line in enumerate(lines, 1):
        if re.match(r"#endif +\S", line):
            found.append(f"{number}: #endif with a comment")
        if re.search(r"(?:^ +|[;)] )(?:\+\+|--)[a-zA-Z_][\w.>\[\]-]*[;)]", line):
            found.append(f"{number}: write i++")
        if re.search(r"\bsizeof [a-zA-Z_*]", line):
            found.append(f"{number}: write sizeof(x)")
    return found


def test_files_have_the_house_style() -> None:
    """One test: a test for each of hundreds of files would take longer than what it looks for."""
    found = [
        f"{path.relative_to(CSRC)}:{fault}"
        for path in FILES
        for fault in faults(path, path.read_text())
    ]
    assert found == []


def test_comments_of_tests_end_on_their_last_line() -> None:
    files = {path.name: open_ends(path.read_text()) for path in c_files(ROOT / "tests" / "c")}
    assert files
    assert {name: found for name, found in files.items() if found} == {}


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("// a remark\nint a;", "1: // outside a function"),
        ("/* F */\nint a;  // one\n", "2: // outside a function"),
        ("/* F */\nint f(void) {\n  return 1;\n}\n// two\n", "5: // outside a function"),
        ("/* F */\nint f(int i) {\n  ++i;\n}\n", "3: write i++"),
        ("/* F */\nint f(int i) {\n  for (; i < 3; ++i) g();\n}\n", "3: write i++"),
        ("/* F */\nint f(int i) {\n  return sizeof i;\n}\n", "3: write sizeof(x)"),
        ("#include <a.h>\n", "1: no comment at the start"),
        ("/* F\n *\n * G\n */\nint a;\n", "4: */ alone on its line"),
        ("/* F */\nint f(void) {\n  /* a\n   */\n  return 1;\n}\n", "4: */ alone on its line"),
        ("/* F */\n/* --- a\n * ------ */\n", "2: a ruler of two lines"),
    ],
)
def test_other_styles_are_found(source: str, words: str) -> None:
    (found,) = faults(CSRC / "a.c", source) if words[3] != "/" else faults(CSRC / "a.c", source)[:1]
    assert found.startswith(words)


@pytest.mark.parametrize(
    "source",
    [
        "/* F */\n#ifndef PP_BASE_A_H_\n#define PP_BASE_A_H_\n#endif\n",
        "/* F */\n#ifndef PP_BASE_A_H\n#define PP_BASE_A_H\n#endif  // PP_BASE_A_H\n",
        "/* F */\n#ifndef PP_BASE_B_H\n#define PP_BASE_B_H\n#endif\n",
        "/* F */\nint a;\n",
    ],
)
def test_other_guards_are_found(source: str) -> None:
    assert faults(CSRC / "base" / "a.h", source)


def test_what_is_allowed() -> None:
    source = (
        "/* F */\n"
        "static const char *const url = \"http://a\";\n"
        "// clang-format off\n"
        "int f(int i) {\n"
        "  // in a function\n"
        "  a[++i] = sizeof(i);\n"
        "  return ++i;\n"
        "}\n"
    )  # fmt: skip
    assert faults(CSRC / "a.c", source) == []
