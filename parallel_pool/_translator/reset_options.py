"""Reset options: what a program asks of the `options` of its reset, which are numbers by name."""

from __future__ import annotations

import ast
import keyword
import linecache
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from parallel_pool._translator.choice import Choice
from parallel_pool._translator.refusal import Dead, Refusal, Restart
from parallel_pool._translator.types import BOOL, FLOAT, INT, Number, Optional
from parallel_pool._translator.values import Fixed, Num, Opt, Options, Value, as_number

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body

# of each type: the kind of the pp_option, and what else it has
KINDS = {
    BOOL: "PP_OPT_BOOL",
    INT: "PP_OPT_INT",
    # a float32 would compute other bits, and a large int is no float
    FLOAT: "PP_OPT_FLOAT, .keeps = 1 << PP_PYTHON,"
    " .refuses = PP_ALL_ACTION_DTYPES & ~(1 << PP_FLOAT64)",
}


class ResetOptions:
    """The options that the reset of a program asks for, each a number of one type.

    A default says of which, or another value of the name or attribute that gets the option. Of some
    nothing says it: those that are a condition are bools, and others floats, or ints if the program
    can't be translated so.

    Attributes:
        names: of the options, in C's order.
        is_used: whether the program looks at them at all.
        refused: why some can't be given, by name: the program needs more of them than a number.
        why_none: why none can be given; "" otherwise.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, Number] = {}
        self._tested: set[str] = set()
        self.refused: dict[str, str] = {}
        self.why_none = ""
        self.names: list[str] = []
        self.is_used = False

    def begin(self) -> None:
        """Forgets the names, as the program is translated once more; the types remain."""
        self.names, self.is_used = [], False

    def number(self, name: str) -> Number:
        """Returns the type of an option."""
        return self._numbers.get(name, FLOAT)

    def place(self, name: str) -> int:
        """Returns the place of an option among the values in C."""
        if name not in self.names:
            self.names.append(name)
        return self.names.index(name)

    def settle(self, name: str, number: Number) -> Number:
        """Returns the type of an option that is used as a number of this type.

        Raises:
            Restart: it was translated as a float so far.
        """
        wanted = {"b": BOOL, "f": FLOAT}.get(number.kind, INT)
        if name not in self._numbers:
            self._numbers[name] = wanted
            if wanted != FLOAT:
                raise Restart
        return self._numbers[name]

    def meet(self, values: Sequence[Value]) -> None:
        """Settles the types of options that are one of several values of something."""
        for value in values:
            name = option_of(value)
            for other in values if name else ():
                number = as_number(other)
                if number is not None and other is not value and not option_of(other):
                    self.settle(name, number.number)

    def test(self, value: Value) -> None:
        """Notes that a value is a condition."""
        if option_of(value):
            self._tested.add(option_of(value))

    def finish(self) -> None:
        """Makes bools of those that are conditions and nothing else.

        Raises:
            Restart: there are such; they were translated as floats so far.
        """
        unknown = self._tested - self._numbers.keys()
        self._numbers.update(dict.fromkeys(unknown, BOOL))
        if unknown:
            raise Restart

    def refuse(self, name: str, why: str) -> NoReturn:
        """Notes that an option can't be given: for the program it is never there.

        Raises:
            Restart: always.
        """
        self.refused[name] = why
        raise Restart

    def yield_to(self, refusal: Refusal) -> bool:
        """Returns whether the program may be translated if it asks for less than before.

        Args:
            refusal: why it is not translated now.
        """
        unknown = [name for name in self.names if name not in self._numbers]
        if unknown:
            self._numbers.update(dict.fromkeys(unknown, INT))
            return True
        line = linecache.getline(refusal.file, refusal.line)
        names = [name for name in self.names if name not in self.refused]
        here = [name for name in names if f"'{name}'" in line or f'"{name}"' in line]
        self.refused.update(dict.fromkeys(here or names, str(refusal)))
        if names or self.why_none:
            return bool(names)
        self.why_none = str(refusal)
        return True

    def parameter(self) -> Value:
        """Returns what the argument of reset() is."""
        return Fixed(None) if self.why_none else Options("options")

    # -------------------------------------------------------------------------------- C --

    def declarations(self) -> list[str]:
        """Returns the lines that functions need which look at options."""
        if not self.is_used:
            return []
        return [
            f"enum {{ NUM_RESET_OPTIONS = {len(self.names) + 1} }};",
            "/* options={} */",
            "static const pp_value no_options[NUM_RESET_OPTIONS];",
            "",
        ]

    def members(self) -> str:
        """Returns what a definition says of its reset options."""
        if not self.is_used:
            return ""
        count = ".num_reset_options = NUM_RESET_OPTIONS,"
        return f"\n    .reset_options = reset_options,\n    {count}"

    def definitions(self, owner: str) -> str:
        """Returns the pp_options; owner: the class that asks for them."""
        if not self.is_used:
            return ""
        lines = [
            f'    {{.name = "{name}", .type = {KINDS[self.number(name)]},'
            f' .doc = "asked for by {owner}.reset"}},'
            for name in self.names
        ]
        return "\n".join(
            [
                "static const pp_option reset_options[NUM_RESET_OPTIONS] = {",
                *lines,
                # Definition.tells_no_options looks at this one
                '    {.name = "_given", .type = PP_OPT_BOOL, .doc = "options={} is not None"},',
                "};",
                "",
                "",
            ]
        )


def option_of(value: Value) -> str:
    """Returns the name of the option that a value was read from, "" for others."""
    return value.option if isinstance(value, (Num, Opt)) else ""


# ------------------------------------------------------------------------------ expressions --


def compare(body: Body, op: ast.cmpop, one: Value, other: Value) -> Value:
    """Returns `key in options`, or `options is None`."""
    body.program.reset_options.is_used = True
    if isinstance(op, (ast.In, ast.NotIn)) and isinstance(other, Options):
        _check_dict(body, other, "TypeError", "argument of type 'NoneType' is not iterable")
        name = _name(body, one)
        if name in body.program.reset_options.refused:
            return Fixed(isinstance(op, ast.NotIn))
        c = _is_given(body, other, name)
        return Num(BOOL, c if isinstance(op, ast.In) else f"(!{c})")
    options, none = (one, other) if isinstance(one, Options) else (other, one)
    is_equal = isinstance(op, (ast.Is, ast.Eq))
    is_known = isinstance(op, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq))
    if isinstance(options, Options) and isinstance(none, Fixed) and none.value is None and is_known:
        return Num(BOOL, f"({options.c} {'==' if is_equal else '!='} NULL)")
    raise body.refuse("options of reset() can be compared with None only: ask for each by its name")


def truth(body: Body, options: Options) -> str:
    """Returns whether there are any options."""
    body.program.reset_options.is_used = True
    return f"pp_python_has_options({options.c}, NUM_RESET_OPTIONS)"


def item(body: Body, options: Options, key: Value) -> Value:
    """Returns options[key]."""
    body.program.reset_options.is_used = True
    name = _name(body, key)
    if name in body.program.reset_options.refused:
        raise Dead(repr(name))
    if name not in options.known:
        _check_dict(body, options, "TypeError", "'NoneType' object is not subscriptable")
        body.check(_is_given(body, options, name), "KeyError", repr(name))
    return _number(body, options, name)


def method(
    body: Body, options: Options, name: str, given: Sequence[Value], keywords: dict[str, Value]
) -> Value:
    """Returns options.get(key, default)."""
    if name != "get" or keywords or not 1 <= len(given) <= 2:
        raise body.refuse(
            f"{name}() of the options of reset() is not translated: ask for each by its name, as in"
            ' options.get("low", 0.0)'
        )
    body.program.reset_options.is_used = True
    key = _name(body, given[0])
    default = given[1] if len(given) == 2 else Fixed(None)
    _check_dict(body, options, "AttributeError", "'NoneType' object has no attribute 'get'")
    if key in body.program.reset_options.refused:
        return default
    if key in options.known:
        return _number(body, options, key)
    if isinstance(default, Fixed) and default.value is None:
        return _optional(body, options, key)
    number = as_number(default)
    if number is None:
        line = f"{body.function.file}:{getattr(body.at, 'lineno', 0)}"
        body.program.reset_options.refuse(key, f"{line}: its default is {default.type}")
    _check_alike(body, key, number.number)
    result = Choice(body)
    result.branch(
        _is_given(body, options, key), lambda: _number(body, options, key), lambda: default
    )
    return result.value()


def _check_alike(body: Body, name: str, number: Number) -> None:
    """Refuses a default of another type than the option has elsewhere."""
    have = body.program.reset_options.settle(name, number)
    if have.kind != ("i" if number.kind == "u" else number.kind):
        raise body.refuse(
            f"the default of the option {name!r} is {number} here, and the option is {have}"
            " elsewhere: write numbers of one type, as 1.0 for 1"
        )


def _optional(body: Body, options: Options, name: str) -> Value:
    """Returns options.get(name)."""
    number = _number(body, options, name)
    of = Optional(number.number)
    place = body.variable("t", of)
    body.emit(f"{place}.some = {_is_given(body, options, name)};")
    body.emit(f"{place}.v = {number.c};")
    return Opt(of, place, option=name)


def _name(body: Body, key: Value) -> str:
    """Returns the name of the option that a key means."""
    if not isinstance(key, Fixed) or not isinstance(key.value, str):
        raise body.refuse(
            "a key of the options of reset() must be known: write it as a text, as in"
            ' options["low"]'
        )
    name = key.value
    if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
        raise body.refuse(f"an option can't be named {name!r}: choose a name that a variable has")
    return name


def _is_given(body: Body, options: Options, name: str) -> str:
    return f"{options.c}[{body.program.reset_options.place(name)}].given"


def _number(body: Body, options: Options, name: str) -> Num:
    asked = body.program.reset_options
    number, c = asked.number(name), f"{options.c}[{asked.place(name)}]"
    if number == FLOAT:
        return Num(FLOAT, f"{c}.f", option=name)
    return Num(number, f"({c}.i != 0)" if number == BOOL else f"{c}.i", option=name)


def _check_dict(body: Body, options: Options, name: str, text: str) -> None:
    """Raises an exception in the program if the options are None."""
    if not options.known:
        body.check(f"{options.c} != NULL", name, text)
