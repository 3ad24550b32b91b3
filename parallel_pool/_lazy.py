"""Public modules: they hold names that other modules define, and import those at first use."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, TypeVar

Named = TypeVar("Named", bound=Callable[..., Any])


def lazy(
    package: str, modules: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Returns `__getattr__` and `__dir__` for a public module (PEP 562).

    Args:
        package: its `__name__`.
        modules: for each module the public names that it defines; a module without names is an
            attribute itself.
    """
    places = {name: module for module, names in modules.items() for name in names}
    places |= {module.rpartition(".")[2]: module for module, names in modules.items() if not names}

    def load(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(places[name])
        value = getattr(module, name) if modules[places[name]] else module
        publish(package, value)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        known = vars(sys.modules[package])
        return sorted({*places, *(name for name in known if name.startswith("__"))})

    return load, names


def public(path: str = "") -> Callable[[Named], Named]:
    """Returns a decorator that says in which public module a class is, or what pickles refer to.

    That is what messages, `help` and pickles show. A class says it where it is defined, because
    programs meet objects without taking their class from its public module: `gymnasium.make_vec`
    returns some. It is the outermost decorator, as `dataclass` looks for names in `__module__`.

    Args:
        path: of the public module in the package; "" for the package itself.
    """
    module = f"parallel_pool.{path}".rstrip(".")

    def name_module(named: Named) -> Named:
        # cloudpickle pickles by value what is in no loaded module; this loads a list of names
        importlib.import_module(module)
        named.__module__ = module
        return named

    return name_module


def publish(package: str, *values: Any) -> None:
    """Says of functions of private modules that they are of a public one, as `public` of classes.

    Nobody meets a function before it is taken from its public module.
    """
    for value in values:
        if isinstance(value, FunctionType) and "._" in value.__module__:
            value.__module__ = package
