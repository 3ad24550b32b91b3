"""Program: the text of a Python program of some lines that repeats a difference.

It needs parallel_pool, Gymnasium and NumPy, and its exit status is 0 only if nothing differs.
"""

from __future__ import annotations

import base64
import keyword
import math
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from parallel_pool._engine.buffers import Array
from parallel_pool._engine.registry import Origin
from parallel_pool._prover.comparison import Attribute
from parallel_pool._prover.comparison import Path as Place
from parallel_pool._prover.match import CONSTRUCTION, Finding
from parallel_pool._prover.player import AFTER, ERROR, OF_RESET, OF_STEP, PICTURES, PROCESS
from parallel_pool._prover.script import Case, Reset, Script
from parallel_pool._prover.target import (
    LIBRARIES,
    RENDER_MODE,
    SOURCES,
    Native,
    Reference,
    value_of,
)

# characters of a list of actions, which is packed if it is longer
MAX_LIST_LETTERS = 2000
# seconds after which a program counts as endless
MAX_PROGRAM_SECONDS = 20

COMPARISON = """\
one, other = map(np.asarray, found)
print("ours", repr(one), "reference", repr(other))
sys.exit((one.dtype, one.shape, one.tobytes()) != (other.dtype, other.shape, other.tobytes()))
"""


def program_text(finding: Finding, ours: tuple[Native, str], theirs: Any, sentence: str) -> str:
    """Returns the program.

    Args:
        finding: the difference.
        ours: our side and its id.
        theirs: a `Reference`, or a native side and its id.
        sentence: what it shows, for its first line.
    """
    # an error of an environment may hold anything
    said = sentence.replace("\\", "\\\\").replace('"', '\\"')
    head = f'"""{said}"""\n\n'
    if isinstance(theirs, Reference):
        return head + _in_one_process(finding, ours, theirs)
    return head + _in_two_processes(finding, ours, theirs)


def _in_one_process(finding: Finding, ours: tuple[Native, str], theirs: Reference) -> str:
    case, count = finding.script.case, finding.script.num_envs
    lines = ["import sys", *_watch(finding), "import gymnasium, numpy as np, parallel_pool"]
    if theirs.folder:
        lines.append(f"sys.path.insert(0, {theirs.folder!r})")
    if not theirs.task_id:
        lines.append(_import(theirs))
    lines += [*_load(*ours), f"ours = {_make_native(ours[1], case, count)}"]
    lines += [f"theirs = {_make_reference(theirs, case, count)}", "found = []"]
    lines += ["for envs in (ours, theirs):", *_body(finding), ""]
    return "\n".join(lines) + COMPARISON


def _in_two_processes(
    finding: Finding, ours: tuple[Native, str], theirs: tuple[Native, str]
) -> str:
    """Both sides may have the same id, so each has a process."""
    case, count = finding.script.case, finding.script.num_envs
    lines = ["import multiprocessing, sys", *_watch(finding), "import numpy as np, parallel_pool"]
    for name, side in (("ours", ours), ("theirs", theirs)):
        made = f"return {_make_native(side[1], case, count)}"
        lines += [f"def {name}():", *(f"    {line}" for line in (*_load(*side), made))]
    lines += ["def play(make):", "    envs, found = make(), []", *_body(finding)]
    lines += ["    return found[0]", 'if __name__ == "__main__":']
    start = 'with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as processes:'
    calls = "found = [processes.apply(play, (make,)) for make in (ours, theirs)]"
    lines += [f"    {start}", f"        {calls}"]
    return "\n".join([*lines, *(f"    {line}" for line in COMPARISON.splitlines()), ""])


def _watch(finding: Finding) -> list[str]:
    if finding.difference.kind != PROCESS:
        return []
    return [
        f"import faulthandler; faulthandler.dump_traceback_later({MAX_PROGRAM_SECONDS}, exit=True)"
    ]


def _import(theirs: Reference) -> str:
    if theirs.name and all(map(_is_name, theirs.module.split("."))):
        return f"from {theirs.module} import {theirs.name} as Reference"
    if theirs.name:
        # of a file such as my-env.py
        module = f'__import__("importlib").import_module({theirs.module!r})'
        return f"Reference = getattr({module}, {theirs.name!r})"
    return "Reference = None  # a function that no program can import: write here what makes one"


def _is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text)


def _load(target: Native, task_id: str) -> list[str]:
    if target.origin is not None:
        return [_load_again(target.origin)]
    if not target.file:
        return []
    if Path(target.file).suffix in LIBRARIES:
        return [f"parallel_pool.load({target.file!r}, {target.name!r})"]
    return [f"parallel_pool.load_source({target.file!r})"]


def _load_again(origin: Origin) -> str:
    if Path(origin.source).suffix.lower() in SOURCES:
        return f"parallel_pool.load_source({origin.source!r})"
    # of a class in Python: its file does not say with which id and options it was compiled
    made = f"  # made of {origin.source}" if origin.source else ""
    return f"parallel_pool.load({os.fsdecode(origin.library)!r}, {origin.symbol!r}){made}"


def _settings(case: Case) -> str:
    settings = {**case.options}
    if case.limit is not None:
        settings["max_episode_steps"] = case.limit
    if case.pictures:
        settings["render_mode"] = RENDER_MODE
    return "".join(f", {name}={_literal(value)}" for name, value in settings.items())


def _make_native(task_id: str, case: Case, count: int) -> str:
    fixed = f'{task_id!r}, {count}, backend="native", autoreset_mode={value_of(case.mode)!r}'
    return f"parallel_pool.make_vec({fixed}{_settings(case)})"


def _make_reference(theirs: Reference, case: Case, count: int) -> str:
    if theirs.task_id:
        one = f"gymnasium.make({theirs.task_id!r}, disable_env_checker=True{_settings(case)})"
    else:
        given = Case(case.options, pictures=case.pictures)
        one = f"Reference({_settings(given).removeprefix(', ')})"
        limit = theirs.limit if case.limit is None else case.limit
        if limit is not None:
            one = f"gymnasium.wrappers.TimeLimit({one}, {limit})"
    mode = f"autoreset_mode={value_of(case.mode)!r}"
    return f"gymnasium.vector.SyncVectorEnv([lambda: {one}] * {count}, {mode})"


def _body(finding: Finding) -> list[str]:
    """Returns the lines that play the events and take the value, for `envs` and `found`."""
    script, lines = finding.script, []
    if script.events:
        dtype = next((e.actions.dtype for e in script.events if not isinstance(e, Reset)), "int64")
        single = script.num_envs == 1
        action = "[action]" if single else "action"
        lines += [
            f"    for seeds, actions in {segments_text(script)}:",
            "        result = envs.reset(seed=seeds)",
            "        for action in actions:",
            f'            result = envs.step(np.array({action}, "{dtype}"))',
        ]
        if script.case.mode == "disabled":
            lines += [
                "            if (ended := result[2] | result[3]).any():",
                '                result += envs.reset(options={"reset_mask": ended})',
            ]
    return [*lines, f"    found.append({_value(finding)})"]


def _value(finding: Finding) -> str:
    """Returns the expression of what differs."""
    difference = finding.difference
    first, *rest = difference.path
    if first in (PROCESS, ERROR, CONSTRUCTION):
        return "None"
    if not finding.script.events:
        first = 'getattr(envs, "envs", [envs])[0].spec' if first == "spec" else f"envs.{first}"
    elif first == PICTURES:
        first = "envs.render()"
    else:
        is_reset = isinstance(finding.script.events[-1], Reset)
        names = OF_RESET if is_reset else (*OF_STEP, *(AFTER + name for name in OF_RESET))
        first = f"result[{names.index(first)}]"
    text = first + place_text(rest)
    return {"keys": f"sorted({text})", "type": f"type({text}).__name__"}.get(difference.kind, text)


def place_text(path: Place | Sequence[Any]) -> str:
    """Returns keys, indices and attributes as Python writes them."""
    return "".join(f".{each}" if isinstance(each, Attribute) else f"[{each!r}]" for each in path)


# ----------------------------------------------------------------------------------- actions --


def segments_text(script: Script) -> str:
    """Returns resets and the actions that follow them, as Python."""
    parts = []
    for seeds, actions in script.segments():
        given = None if seeds is None else list(seeds)
        rows = [each[0] if script.num_envs == 1 else each for each in actions]
        parts.append(f"({given}, {actions_text(rows)})")
    return f"[{', '.join(parts)}]"


def actions_text(rows: Sequence[Array]) -> str:
    """Returns actions as Python, equal ones in a row as a product."""
    runs: list[tuple[str, int]] = []
    for row in rows:
        text = _literal(row)
        if runs and runs[-1][0] == text:
            runs[-1] = (text, runs[-1][1] + 1)
        else:
            runs.append((text, 1))
    parts: list[str] = []
    singles: list[str] = []
    for text, count in runs:
        if count < 4:
            singles += [text] * count
            continue
        parts += [f"[{', '.join(singles)}]"] if singles else []
        parts.append(f"[{text}] * {count}")
        singles = []
    parts += [f"[{', '.join(singles)}]"] if singles or not parts else []
    joined = " + ".join(parts)
    return joined if len(joined) <= MAX_LIST_LETTERS else _packed(np.stack(rows))


def _packed(rows: Array) -> str:
    data = base64.b85encode(zlib.compress(rows.tobytes(), 9)).decode()
    unpacked = f'__import__("zlib").decompress(__import__("base64").b85decode("{data}"))'
    return f'np.frombuffer({unpacked}, "{rows.dtype}").reshape({rows.shape})'


def _literal(value: Any) -> str:
    plain = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
    if isinstance(plain, float) and not math.isfinite(plain):
        return f'float("{plain}")'
    return repr(plain)
