"""Random draws: the methods of self.np_random, with NumPy's bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from parallel_pool._translator import (
    arrays,
    containers,
    indexing,
    library,
    numpy_arguments,
    storage,
)
from parallel_pool._translator.arguments import all_taking
from parallel_pool._translator.types import (
    FLOAT,
    INT,
    NP_FLOAT,
    NP_INT,
    Empty,
    List,
    Number,
    Text,
)
from parallel_pool._translator.values import (
    Arr,
    Dim,
    Fixed,
    Lst,
    Num,
    Txt,
    Value,
    as_number,
    cast,
)

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body

Keywords = dict[str, Value]
RNG = "c->rng"


def draw(body: Body, name: str, given: list[Value], keywords: Keywords) -> Value:
    """Returns self.np_random.name(...)."""
    function = DRAWS.get(name)
    if function is None:
        raise body.refuse(f"self.np_random.{name}() is not translated")
    return function(body, given, keywords)


def _size(body: Body, value: Value | None) -> tuple[Dim, ...] | None:
    if value is None or (isinstance(value, Fixed) and value.value is None):
        return None
    return numpy_arguments.shape_of(body, value)


def _drawn(body: Body, item: Number, dims: tuple[Dim, ...] | None, one: Callable[[], str]) -> Value:
    """Returns one draw, or an array of them."""
    if dims is None:
        return body.number(item, one())
    result = arrays.new(body, item, dims)
    with arrays.indices(body, dims) as at:
        c = one()
        body.emit(f"{result.at(at)} = {c};")
    return result


def _float(body: Body, value: Value | None, default: float) -> str:
    if value is None:
        return repr(default)
    number = body.as_num(value, "an argument of a draw")
    c = cast(number.c, FLOAT, number.number)
    return body.temporary("double", c)


def _check_no_sign(body: Body, c: str, name: str) -> None:
    """Raises what NumPy raises for a parameter that must not be negative, nor -0."""
    body.check(f"isnan({c}) || !signbit({c})", "ValueError", f"{name} < 0")


def _check_range(body: Body, low: str, high: str) -> None:
    body.check(
        f"isfinite({high} - {low})", "OverflowError", "high - low range exceeds valid bounds"
    )
    body.check(f"{high} >= {low}", "ValueError", "high - low < 0")


def _random(body: Body, given: list[Value], keywords: Keywords) -> Value:
    dims = _size(body, numpy_arguments.argument(given, keywords, 0, "size"))
    dtype = numpy_arguments.dtype_of(
        body, numpy_arguments.argument(given, keywords, 1, "dtype"), NP_FLOAT
    )
    if dtype != NP_FLOAT:
        raise body.refuse("random() of another dtype than float64 is not translated")
    # Generator.random() is a Python float, an array's items are NumPy's
    item = FLOAT if dims is None else NP_FLOAT
    return _drawn(body, item, dims, lambda: f"pp_rng_double({RNG})")


def _uniform(body: Body, given: list[Value], keywords: Keywords) -> Value:
    low_value = numpy_arguments.argument(given, keywords, 0, "low")
    high_value = numpy_arguments.argument(given, keywords, 1, "high")
    dims = _size(body, numpy_arguments.argument(given, keywords, 2, "size"))
    bounds = [body.plain(each) for each in (low_value, high_value) if each is not None]
    if any(as_number(each) is None for each in bounds):
        low_array = body.array(low_value if low_value is not None else Fixed(0.0))
        high_array = body.array(high_value if high_value is not None else Fixed(1.0))
        shape = dims or arrays.common_shape(body, [low_array.dims, high_array.dims])
        low_array = arrays.broadcast(body, low_array, shape)
        high_array = arrays.broadcast(body, high_array, shape)
        result = arrays.new(body, NP_FLOAT, shape)
        with arrays.indices(body, shape) as at:
            a = cast(low_array.at(at), FLOAT, low_array.item)
            b = cast(high_array.at(at), FLOAT, high_array.item)
            _check_range(body, a, b)
        with arrays.indices(body, shape) as at:
            a = cast(low_array.at(at), FLOAT, low_array.item)
            b = cast(high_array.at(at), FLOAT, high_array.item)
            body.emit(f"{result.at(at)} = pp_rng_uniform({RNG}, {a}, {b});")
        return result
    low, high = _float(body, low_value, 0.0), _float(body, high_value, 1.0)
    _check_range(body, low, high)
    item = FLOAT if dims is None else NP_FLOAT
    return _drawn(body, item, dims, lambda: f"pp_rng_uniform({RNG}, {low}, {high})")


def _integers(body: Body, given: list[Value], keywords: Keywords) -> Value:
    low = numpy_arguments.argument(given, keywords, 0, "low")
    high = numpy_arguments.argument(given, keywords, 1, "high")
    dims = _size(body, numpy_arguments.argument(given, keywords, 2, "size"))
    dtype = numpy_arguments.dtype_of(
        body, numpy_arguments.argument(given, keywords, 3, "dtype"), NP_INT
    )
    endpoint = numpy_arguments.argument(given, keywords, 4, "endpoint")
    assert dtype is not None and low is not None
    first, last = "0", ""
    if high is None or (isinstance(high, Fixed) and high.value is None):
        last = body.as_int(low, "a bound of integers()")
    else:
        if as_number(body.plain(low)) is None or as_number(body.plain(high)) is None:
            raise body.refuse("integers() with arrays as bounds is not translated")
        first = body.temporary("int64_t", body.as_int(low, "a bound of integers()"))
        last = body.as_int(high, "a bound of integers()")
    if endpoint is not None and body.known(endpoint, "endpoint"):
        last = f"({last} + 1)"
    last = body.temporary("int64_t", last)
    if dtype.kind == "b" or dtype.bits < 32:
        return _narrow_integers(body, dtype, dims, first, last)
    body.check(f"{first} < {last}", "ValueError", "low >= high")
    # without another dtype and a size it is a NumPy number, too
    return _drawn(body, dtype, dims, lambda: f"({dtype.c})pp_rng_integers({RNG}, {first}, {last})")


def _narrow_integers(
    body: Body, dtype: Number, dims: tuple[Dim, ...] | None, first: str, last: str
) -> Value:
    """integers() of fewer than 32 bits, several of which one random number gives."""
    width = 1 if dtype.kind == "b" else dtype.bits
    least = -(1 << width - 1) if dtype.kind == "i" else 0
    body.check(f"{first} >= {least}", "ValueError", f"low is out of bounds for {dtype.dtype}")
    most = least + (1 << width)
    body.check(f"{last} <= {most}", "ValueError", f"high is out of bounds for {dtype.dtype}")
    body.check(f"{first} < {last}", "ValueError", "low >= high")
    rest = body.c_variable("t", "pp_rng_rest")
    body.emit(f"memset(&{rest}, 0, sizeof({rest}));")
    one = f"({dtype.c})pp_rng_narrow({RNG}, &{rest}, {width}, {first}, {last})"
    return _drawn(body, dtype, dims, lambda: one)


def _normal(body: Body, given: list[Value], keywords: Keywords) -> Value:
    body.program.needs_distributions = True
    loc_value = numpy_arguments.argument(given, keywords, 0, "loc")
    scale_value = numpy_arguments.argument(given, keywords, 1, "scale")
    dims = _size(body, numpy_arguments.argument(given, keywords, 2, "size"))
    for each in (loc_value, scale_value):
        if each is not None and as_number(body.plain(each)) is None:
            return _normal_of_arrays(body, loc_value, scale_value, dims)
    loc, scale = _float(body, loc_value, 0.0), _float(body, scale_value, 1.0)
    _check_no_sign(body, scale, "scale")
    item = FLOAT if dims is None else NP_FLOAT
    return _drawn(body, item, dims, lambda: f"({loc} + {scale} * pp_rng_normal({RNG}))")


def _normal_of_arrays(
    body: Body, loc: Value | None, scale: Value | None, dims: tuple[Dim, ...] | None
) -> Value:
    means = body.array(loc if loc is not None else Fixed(0.0))
    scales = body.array(scale if scale is not None else Fixed(1.0))
    shape = dims or arrays.common_shape(body, [means.dims, scales.dims])
    means = arrays.broadcast(body, means, shape)
    scales = arrays.broadcast(body, scales, shape)
    result = arrays.new(body, NP_FLOAT, shape)
    with arrays.indices(body, shape) as at:
        _check_no_sign(body, cast(scales.at(at), FLOAT, scales.item), "scale")
    with arrays.indices(body, shape) as at:
        a = cast(means.at(at), FLOAT, means.item)
        b = cast(scales.at(at), FLOAT, scales.item)
        body.emit(f"{result.at(at)} = {a} + {b} * pp_rng_normal({RNG});")
    return result


def _standard_normal(body: Body, given: list[Value], keywords: Keywords) -> Value:
    body.program.needs_distributions = True
    dims = _size(body, numpy_arguments.argument(given, keywords, 0, "size"))
    dtype = numpy_arguments.dtype_of(
        body, numpy_arguments.argument(given, keywords, 1, "dtype"), NP_FLOAT
    )
    if dtype != NP_FLOAT:
        raise body.refuse("standard_normal() of another dtype than float64 is not translated")
    item = FLOAT if dims is None else NP_FLOAT
    return _drawn(body, item, dims, lambda: f"pp_rng_normal({RNG})")


def _of_array(
    body: Body,
    value: Value,
    dims: tuple[Dim, ...] | None,
    item: Number,
    check: Callable[[str], None],
    one: Callable[[str], str],
) -> Value:
    """Returns a draw for each element of a parameter; all are checked before the first draw."""
    given = body.array(value)
    shape = dims or given.dims
    given = arrays.broadcast(body, given, shape)
    result = arrays.new(body, item, shape)
    parameter = body.c_variable("t", "double")
    for is_drawn in (False, True):
        with arrays.indices(body, shape) as at:
            body.emit(f"{parameter} = {cast(given.at(at), FLOAT, given.item)};")
            if is_drawn:
                body.emit(f"{result.at(at)} = {one(parameter)};")
            else:
                check(parameter)
    return result


def _scaled(function: str, checks: str = "") -> Callable[..., Value]:
    def translate(body: Body, given: list[Value], keywords: Keywords) -> Value:
        body.program.needs_distributions = True
        value = numpy_arguments.argument(given, keywords, 0, "scale")
        dims = _size(body, numpy_arguments.argument(given, keywords, 1, "size"))
        if value is not None and as_number(body.plain(value)) is None:
            return _of_array(
                *(body, value, dims, NP_FLOAT),
                lambda each: _check_no_sign(body, each, "scale"),
                lambda each: f"{each} * {function}({RNG})",
            )
        scale = _float(body, value, 1.0)
        _check_no_sign(body, scale, "scale")
        item = FLOAT if dims is None else NP_FLOAT
        return _drawn(body, item, dims, lambda: f"({scale} * {function}({RNG}))")

    return translate


def _counted(function: str, name: str, default: float, condition: str) -> Callable[..., Value]:
    def translate(body: Body, given: list[Value], keywords: Keywords) -> Value:
        body.program.needs_distributions = True
        value = numpy_arguments.argument(given, keywords, 0, name)
        dims = _size(body, numpy_arguments.argument(given, keywords, 1, "size"))

        def check(c: str) -> None:
            body.check(condition.replace("x", c), "ValueError", f"{name} is out of range")

        if value is not None and as_number(body.plain(value)) is None:
            return _of_array(
                *(body, value, dims, NP_INT, check), lambda each: f"{function}({RNG}, {each})"
            )
        argument = _float(body, value, default)
        check(argument)
        item = INT if dims is None else NP_INT
        return _drawn(body, item, dims, lambda: f"{function}({RNG}, {argument})")

    return translate


def _cont(function: str, names: list[str], item: Number, *defaults: float) -> Callable[..., Value]:
    """Returns what translates a distribution of floats with some parameters."""

    def translate(body: Body, given: list[Value], keywords: Keywords) -> Value:
        body.program.needs_distributions = True
        arguments = []
        missing = len(names) - len(defaults)
        for i, name in enumerate(names):
            value = numpy_arguments.argument(given, keywords, i, name)
            if value is None and i < missing:
                raise body.refuse(f"{name} of this draw is missing")
            if value is not None and as_number(body.plain(value)) is None:
                raise body.refuse(f"a draw with an array as {name} is not translated")
            arguments.append(_float(body, value, defaults[i - missing] if i >= missing else 0.0))
        dims = _size(body, numpy_arguments.argument(given, keywords, len(names), "size"))
        for name, c in zip(names, arguments, strict=True):
            if name in ("df", "a", "b"):
                body.check(f"{c} > 0", "ValueError", f"{name} <= 0")
            elif name in ("scale", "shape", "sigma"):
                _check_no_sign(body, c, name)
        if names[0] == "left":
            left, mode, right = arguments
            body.check(f"!({left} > {mode})", "ValueError", "left > mode")
            body.check(f"!({mode} > {right})", "ValueError", "mode > right")
            body.check(f"{left} != {right}", "ValueError", "left == right")
        of = item if dims is None else NP_FLOAT
        return _drawn(body, of, dims, lambda: f"{function}({', '.join([RNG, *arguments])})")

    return translate


def _binomial(body: Body, given: list[Value], keywords: Keywords) -> Value:
    body.program.needs_distributions = True
    count = numpy_arguments.argument(given, keywords, 0, "n")
    chance = numpy_arguments.argument(given, keywords, 1, "p")
    assert count is not None
    n = body.temporary("int64_t", body.as_int(count, "n"))
    p = _float(body, chance, 0.5)
    dims = _size(body, numpy_arguments.argument(given, keywords, 2, "size"))
    body.check(f"{n} >= 0", "ValueError", "n < 0")
    body.check(f"{p} >= 0 && {p} <= 1", "ValueError", "p < 0, p > 1 or p contains NaNs")
    item = INT if dims is None else NP_INT
    return _drawn(body, item, dims, lambda: f"pp_rng_binomial({RNG}, {p}, {n})")


def _shuffle(body: Body, given: list[Value], keywords: Keywords) -> Value:
    value = body.plain(given[0])
    if isinstance(value, Lst):
        size = f"sizeof(*{value.c}->v)"
        body.changed(value)
        body.items_moved(value)
        body.emit(f"pp_rng_shuffle({RNG}, {value.c}->v, {value.c}->count, {size});")
        return Fixed(None)
    if isinstance(value, Arr):
        indexing.writable(body, value)
        if not value.pointer:
            raise body.refuse("shuffle() of this view is not translated")
        rest = " * ".join(str(dim) for dim in value.dims[1:]) or "1"
        size = f"(size_t)({rest}) * sizeof(*{value.pointer})"
        body.emit(f"pp_rng_shuffle({RNG}, {value.pointer}, {value.dims[0]}, {size});")
        return Fixed(None)
    raise body.refuse(f"shuffle() of {value.type} is not translated: give it a name first")


def _permutation(body: Body, given: list[Value], keywords: Keywords) -> Value:
    value = body.plain(given[0])
    if _is_list_of_texts(value) or containers.known_texts(value) is not None:
        made = containers.copied(body, body.as_list(value, List(Text())))
        body.emit(f"pp_rng_shuffle({RNG}, {made.c}->v, {made.c}->count, sizeof(*{made.c}->v));")
        return made
    if as_number(value) is not None:
        is_known = isinstance(value, Fixed) or (isinstance(value, Num) and value.attribute)
        count = max(0, int(body.known(value, "n"))) if is_known else None
        array = body.fresh(arrays.arange(body, "0", body.as_int(value, "n"), "1", count))
        body.emit(f"pp_rng_shuffle({RNG}, {array.pointer}, {array.dims[0]}, 8);")
        return array
    array = body.fresh(body.array(value))
    rest = " * ".join(str(dim) for dim in array.dims[1:]) or "1"
    size = f"(size_t)({rest}) * sizeof(*{array.pointer})"
    body.emit(f"pp_rng_shuffle({RNG}, {array.pointer}, {array.dims[0]}, {size});")
    return array


def _choice(body: Body, given: list[Value], keywords: Keywords) -> Value:
    value = body.plain(given[0])
    dims = _size(body, numpy_arguments.argument(given, keywords, 1, "size"))
    replace = numpy_arguments.argument(given, keywords, 2, "replace")
    chances = numpy_arguments.argument(given, keywords, 3, "p")
    replaces = replace is None or bool(body.known(replace, "replace"))
    if chances is not None and isinstance(chances, Fixed) and chances.value is None:
        chances = None
    source: Arr | None = None
    texts: tuple[str, ...] | None = None
    is_text = False
    if as_number(value) is not None:
        count = body.temporary("int64_t", body.as_int(value))
    else:
        if isinstance(value, Lst) and isinstance(value.list_type.item, Empty):
            body.fail("ValueError", "a cannot be empty unless no samples are taken")
            return Num(NP_INT, "0")
        texts = containers.known_texts(value)
        if isinstance(value, Lst) and _is_list_of_texts(value):
            codes = Number("i", 32), (f"{value.c}->count",), f"{value.c}->v"
            source, is_text = storage.memory_array(*codes), True
        else:
            source = body.array(value) if texts is None else _codes(body, texts)
        count = body.temporary("int64_t", str(source.dims[0]))
    body.check(f"{count} > 0", "ValueError", "a cannot be empty unless no samples are taken")
    if chances is not None:
        chosen = _weighted(body, body.array(chances), count, dims, replaces)
    elif replaces or dims is None:
        chosen = _drawn(body, NP_INT, dims, lambda: f"pp_rng_integers({RNG}, 0, {count})")
    else:
        chosen = _without_replacement(body, count, dims)
    if source is None:
        return chosen
    if isinstance(chosen, Num) and (is_text or texts is not None):
        return Txt(body.temporary("int32_t", source.at([chosen.c])))
    if is_text or texts is not None:
        return _chosen_texts(body, source, body.array(chosen))
    if isinstance(chosen, Num):
        found = arrays.row(body, source, chosen.c)
        return body.kept(found) if isinstance(found, Num) else found
    return indexing.subscript(body, source, [chosen])


def _is_list_of_texts(value: Value) -> bool:
    return isinstance(value, Lst) and isinstance(value.list_type.item, Text)


def _chosen_texts(body: Body, source: Arr, chosen: Arr) -> Lst:
    """Returns several texts; NumPy's array of them is a list here."""
    if len(chosen.dims) != 1:
        raise body.refuse("choice() of texts is translated for one axis only")
    count, index = str(chosen.dims[0]), body.c_variable("i", "int64_t")
    made = containers.new_list(body, List(Text(), is_tuple=True), f"{count} + 1")
    with body.block(f"for ({index} = 0; {index} < {count}; {index}++) {{"):
        body.emit(f"{made.c}->v[{index}] = {source.at([chosen.at([index])])};")
    body.emit(f"{made.c}->count = {count};")
    return made


def _codes(body: Body, texts: tuple[str, ...]) -> Arr:
    """Returns the numbers that stand for texts."""
    numbers = [body.program.texts.number(each) for each in texts]
    return body.program.tables.array(np.array(numbers, np.int32))


def _weighted(
    body: Body, chances: Arr, count: str, dims: tuple[Dim, ...] | None, replaces: bool
) -> Value:
    if not replaces and dims is not None:
        raise body.refuse("choice() with p and without replacement is not translated")
    if len(chances.dims) != 1:
        raise body.refuse("p of choice() must have one axis")
    body.check(f"{chances.dims[0]} == {count}", "ValueError", "a and p must have same size")
    chances = body.in_memory(chances, NP_FLOAT)
    total = body.c_variable("t", "double")
    index = body.c_variable("i", "int64_t")
    sums = arrays.new(body, NP_FLOAT, chances.dims)
    body.emit(f"{total} = 0;")
    with body.block(f"for ({index} = 0; {index} < {count}; {index}++) {{"):
        each = chances.at([index])
        body.check(f"{each} >= 0", "ValueError", "Probabilities are not non-negative")
        body.emit(f"{total} = {index} ? {total} + {each} : {each};")
        body.emit(f"{sums.at([index])} = {total};")
    body.check(
        f"fabs({total} - 1) <= 1.4901161193847656e-08",
        "ValueError",
        "Probabilities do not sum to 1. See Notes section of docstring for more information.",
    )
    with body.block(f"for ({index} = 0; {index} < {count}; {index}++) {{"):
        body.emit(f"{sums.at([index])} /= {total};")

    def one() -> str:
        at, number = body.c_variable("t", "int64_t"), body.c_variable("t", "double")
        body.emit(f"{number} = pp_rng_double({RNG});")
        body.emit(f"for ({at} = 0; {at} < {count} && {sums.at([at])} <= {number}; {at}++) {{}}")
        return at

    return _drawn(body, NP_INT, dims, one)


def _without_replacement(body: Body, count: str, dims: tuple[Dim, ...]) -> Value:
    if len(dims) != 1:
        raise body.refuse("choice() without replacement is translated for one axis only")
    size = str(dims[0])
    body.check(
        f"{size} <= {count}",
        "ValueError",
        "Cannot take a larger sample than population when replace is False",
    )
    result = arrays.new(body, NP_INT, dims)
    body.check(f"pp_rng_sample({RNG}, {count}, {size}, {result.pointer})", "MemoryError", "")
    return result


def _multivariate_normal(body: Body, given: list[Value], keywords: Keywords) -> Value:
    mean, cov = (body.fresh(arrays.converted(body.array(each), NP_FLOAT)) for each in given[:2])
    if len(mean.dims) != 1:
        raise body.refuse("the mean of multivariate_normal() needs one axis")
    shape = _size(body, numpy_arguments.argument(given, keywords, 2, "size")) or ()
    if len(shape) > 1:
        raise body.refuse("multivariate_normal() with several axes is not translated: reshape it")
    body.program.needs_distributions = True
    dims = (shape or (1,))[0], mean.dims[0]
    normals = _drawn(body, NP_FLOAT, dims, lambda: f"pp_rng_normal({RNG})")
    found = body.program.functions.call_function(body, library.correlated, [normals, mean, cov], {})
    assert isinstance(found, Arr)
    return found if shape else indexing.subscript(body, found, [Fixed(0)])


HANDLERS: dict[str, Callable[..., Value]] = {
    "random": _random,
    "uniform": _uniform,
    "integers": _integers,
    "normal": _normal,
    "standard_normal": _standard_normal,
    "exponential": _scaled("pp_rng_exponential"),
    "standard_exponential": lambda body, given, keywords: _scaled("pp_rng_exponential")(
        body, [Fixed(1.0), *given], keywords
    ),
    "poisson": _counted("pp_rng_poisson", "lam", 1.0, "x >= 0 && x < 9.2e18"),
    "geometric": _counted("pp_rng_geometric", "p", 0.5, "x > 0 && x <= 1"),
    "binomial": _binomial,
    "standard_t": _cont("pp_rng_standard_t", ["df"], FLOAT),
    "standard_gamma": _cont("pp_rng_standard_gamma", ["shape"], FLOAT),
    "gamma": _cont("pp_rng_gamma", ["shape", "scale"], FLOAT, 1.0),
    "beta": _cont("pp_rng_beta", ["a", "b"], FLOAT),
    "chisquare": _cont("pp_rng_chisquare", ["df"], FLOAT),
    "laplace": _cont("pp_rng_laplace", ["loc", "scale"], FLOAT, 0.0, 1.0),
    "logistic": _cont("pp_rng_logistic", ["loc", "scale"], FLOAT, 0.0, 1.0),
    "lognormal": _cont("pp_rng_lognormal", ["mean", "sigma"], FLOAT, 0.0, 1.0),
    "gumbel": _cont("pp_rng_gumbel", ["loc", "scale"], FLOAT, 0.0, 1.0),
    "rayleigh": _cont("pp_rng_rayleigh", ["scale"], FLOAT, 1.0),
    "weibull": _cont("pp_rng_weibull", ["a"], FLOAT),
    "pareto": _cont("pp_rng_pareto", ["a"], FLOAT),
    "triangular": _cont("pp_rng_triangular", ["left", "mode", "right"], FLOAT),
    "shuffle": _shuffle,
    "permutation": _permutation,
    "choice": _choice,
    "multivariate_normal": _multivariate_normal,
}
TAKES = {
    "random": "size? dtype?",
    "uniform": "low? high? size?",
    "integers": "low high? size? dtype? endpoint?",
    "normal": "loc? scale? size?",
    "standard_normal": "size? dtype?",
    "exponential": "scale? size?",
    "standard_exponential": "size?",
    "poisson": "lam? size?",
    "geometric": "p size?",
    "binomial": "n p size?",
    "standard_t": "df size?",
    "standard_gamma": "shape size?",
    "gamma": "shape scale? size?",
    "beta": "a b size?",
    "chisquare": "df size?",
    "laplace": "loc? scale? size?",
    "logistic": "loc? scale? size?",
    "lognormal": "mean? sigma? size?",
    "gumbel": "loc? scale? size?",
    "rayleigh": "scale? size?",
    "weibull": "a size?",
    "pareto": "a size?",
    "triangular": "left mode right size?",
    "shuffle": "x | axis=0",
    "permutation": "x | axis=0",
    "choice": "a size? replace? p? | axis=0 shuffle=True",
    "multivariate_normal": "mean cov size? | check_valid='warn' tol=1e-08 method='svd'",
}
DRAWS = all_taking(TAKES, HANDLERS)
