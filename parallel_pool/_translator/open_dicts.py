"""OpenDict: a dict that is written empty among others, as `{agent: {}}`, and gets keys later."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from parallel_pool._translator import storage
from parallel_pool._translator.displays import EmptyDict
from parallel_pool._translator.refusal import Restart
from parallel_pool._translator.types import Entry, OpenDict, Record
from parallel_pool._translator.values import Mapping, Rec, Value

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body


def written(body: Body, tree: ast.Dict) -> Rec:
    """Returns a dict that was just written empty."""
    known = body.program.open_dicts.get(_place(body, tree))
    if known is None:
        return EmptyDict()
    of = Record(tuple(known), tuple(map(Entry, known.values())), OpenDict)
    return Rec((), (), "", of, None, OpenDict)


def _place(body: Body, tree: ast.AST) -> tuple[str, int, int]:
    return body.function.file, getattr(tree, "lineno", 0), getattr(tree, "col_offset", 0)


def set_key(body: Body, tree: ast.expr, owner: Value, key: str, value: Value) -> bool:
    """Sets a key of one of several dicts that were written empty, as in `infos[agent]["x"] = 1`.

    Returns whether it is one. If the key is new, the translation begins anew.
    """
    is_empty = isinstance(owner, Mapping) and owner.is_always_empty
    is_open = isinstance(owner, Rec) and owner.cls is OpenDict
    if not (is_empty or is_open) or not isinstance(tree, ast.Subscript):
        return False
    written = _written_empty(body, tree.value)
    if not written:
        return False
    of = storage.item_type(value)
    known = body.program.open_dicts.get(written[0], {})
    wanted = storage.join(known[key], of) if key in known else of
    if wanted != known.get(key):
        for each in written:
            body.program.open_dicts.setdefault(each, {})[key] = wanted
        raise Restart
    assert isinstance(owner, Rec) and owner.stored is not None
    at = owner.keys.index(key)
    storage.store(body, owner.stored.items[at], f"{owner.place}.f{at}", value, repr(key))
    return True


def _written_empty(body: Body, tree: ast.expr) -> list[tuple[str, int, int]]:
    """Returns the places of the empty dicts in the dicts that a name of the function means."""
    if not isinstance(tree, ast.Name):
        return []
    return [
        _place(body, part)
        for each in ast.walk(body.function.tree)
        if isinstance(each, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == tree.id for t in each.targets)
        and isinstance(each.value, (ast.Dict, ast.DictComp))
        for part in ast.walk(each.value)
        if isinstance(part, ast.Dict) and not part.keys and part is not each.value
    ]
