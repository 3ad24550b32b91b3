"""The hash of the C sources that a proof of a game is about.

A row of the table of proofs holds the hash of the sources with which its game was played. It covers
what decides what the console shows and how a game is scored:

- all games share `console/` with its folder `translation/`, the table's code (`games/games.*`,
  `games/rules/rule.h`), the palettes (`picture/palette.*`) and the random numbers
  (`csrc/base/mt19937.*`);
- a game has its row of `games/table.def` and its rule, `games/rules/<game>.c`, so a new game, or a
  change of one game's rule, makes no other proof old;
- a game of several players has its rows of `roms.def` and `pettingzoo.def` instead, its ROM's rule
  in `multiplayer/rules/`, and shares the code beside them.

What the proof does not compare is left out: resized pictures, and the options of the APIs. Tests in
`tests/parity` compare those.

A file is hashed as its tokens, so comments, white space and formatting do not count. Nor do names
of files and folders, except in an #include, of which the last part counts. The number of games
(`PP_GAME_COUNT`), which changes with each new one, is left out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

import parallel_pool
from parallel_pool import _native
from parallel_pool._engine import registry
from parallel_pool._families import atari_players

# where the sources are in a checkout; an installed package has none
CSRC = Path(parallel_pool.__file__).parents[1] / "csrc"

ATARI = Path("envs", "atari")
SHARED = (
    "envs/atari/console/*",
    "envs/atari/console/translation/*",
    "envs/atari/games/games.*",
    "envs/atari/games/rules/rule.h",
    "envs/atari/picture/palette.*",
    "base/mt19937.*",
)
SHARED_BY_PLAYERS = ("envs/atari/games/multiplayer/roms.[ch]", "envs/atari/games/multiplayer/*.h")

# constants whose values are not hashed
COUNTS = frozenset({"PP_GAME_COUNT", "PP_MULTIPLAYER_ROM_COUNT", "PP_MULTIPLAYER_GAME_COUNT"})

HEX_DIGITS = 16


def digest(name: str, root: Path = CSRC) -> str | None:
    """Returns the hash for a game, by ale_py's name or PettingZoo's; None without sources."""
    if not (root / ATARI / "console" / "console.c").exists():
        return None
    game, _, version = name.rpartition("_v")
    if f"atari/{name}" in registry.builtin():
        parts = [shared(root, (*SHARED, *SHARED_BY_PLAYERS)), *_players(root, game, version)]
    else:
        games = root / ATARI / "games"
        parts = [
            shared(root, SHARED),
            _hash(row(tokens_of(games / "table.def"), "GAME", name)),
            _hash(tokens_of(games / "rules" / f"{name}.c")),
        ]
    return _hash(parts)[:HEX_DIGITS]


def _players(root: Path, game: str, version: str) -> list[str]:
    folder, rom = root / ATARI / "games" / "multiplayer", atari_players.rom_of(game)
    return [
        _hash(row(tokens_of(folder / "pettingzoo.def"), "GAME", game, version)),
        _hash(row(tokens_of(folder / "roms.def"), "ROM", rom)),
        _hash(tokens_of(folder / "rules" / f"{rom}.c")),
    ]


@cache
def shared(root: Path, patterns: tuple[str, ...]) -> str:
    """Returns the hash of all files of these patterns, whatever their names and their order."""
    paths = {path for pattern in patterns for path in root.glob(pattern) if path.is_file()}
    return _hash(sorted(_hash(tokens_of(path)) for path in paths))


def row(tokens: Sequence[str], macro: str, *first: str) -> Sequence[str]:
    """Returns a call of a macro, found by its first arguments: the row of a table.

    Raises:
        LookupError: the table has no such row.
    """
    head = [macro, "(", *(each for argument in first for each in (argument, ","))]
    for i in range(len(tokens)):
        if list(tokens[i : i + len(head)]) != head:
            continue
        depth = 0
        for end in range(i, len(tokens)):
            depth += (tokens[end] == "(") - (tokens[end] == ")")
            if depth == 0 and tokens[end] == ")":
                return tokens[i : end + 1]
    raise LookupError(f"no row {macro}({', '.join(first)}, ...) in this table")


def newer_than_module() -> Path | None:
    """Returns a source that was changed after the module was compiled; None if there is none."""
    compiled = _native.path().stat().st_mtime
    sources = sorted(path for path in (CSRC / ATARI).rglob("*") if path.is_file())
    return next((path for path in sources if path.stat().st_mtime > compiled), None)


# ------------------------------------------------------------------------------------- tokens --

TOKEN = re.compile(
    r"""
      (?P<space>\s+) | (?P<comment>//[^\n]*|/\*.*?\*/)
    | (?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    | (?P<word>[A-Za-z_]\w*)
    | (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
    | (?P<sign><<=|>>=|\.\.\.|->|\+\+|--|&&|\|\||[-+*/%&|^=!<>]=|<<|>>|\#\#|.)
    """,
    re.VERBOSE | re.DOTALL,
)


@cache
def tokens_of(path: Path) -> Sequence[str]:
    """Returns the tokens of a file."""
    return tuple(tokens(path.read_text()))


def tokens(source: str) -> Iterator[str]:
    """Yields the tokens of a C source, without comments; a line break only ends a directive."""
    # the tokens of the directive so far; empty outside of one
    directive: list[str] = []
    last = ("", "")
    for match in TOKEN.finditer(source.replace("\\\n", "") + "\n"):
        kind, token = match.lastgroup, match.group()
        if kind == "comment":
            continue
        if kind == "space":
            if directive and "\n" in token:
                directive.clear()
                yield "\n"
            continue
        if directive or token == "#":
            if directive == ["#", "include"] and kind == "text":
                token = '"' + token.strip('"').rpartition("/")[2] + '"'
            directive.append(token)
        if not (kind == "number" and last[0] in COUNTS and last[1] == "="):
            yield token
        last = (last[1], token)


def _hash(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
