"""Toolchain: the system's compiler, and the commands that make a library of one source file."""

from __future__ import annotations

import functools
import os
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy

from parallel_pool._engine.arguments import named, quote
from parallel_pool._include import get_include
from parallel_pool._source import files, program, robot
from parallel_pool.errors import MissingDependencyError, SourceError

# An environment is found by this line and by nothing else, as in build_ffi.py.
DEFINITION = re.compile(
    r'^(?P<extern>extern "C" )?const pp_env_def (?P<name>pp_env_\w+)(?P<table>\[\w*\])? = \{',
    re.MULTILINE,
)
EXTERN = 'extern "C" '
# bytes of a source file; compilers need a hundred times as much memory
MAX_SOURCE = 64 << 20
C_SUFFIXES = (".c",)
CPP_SUFFIXES = (".cpp", ".cc", ".cxx")

# build_ffi.py compiles the built-in environments with these; results must have the same bits
COMMON = ("-O3", "-fPIC", "-pthread", "-Wall")
# they follow the user's: results must not depend on the processor, and gcc 12 turns two conversions
# of float64 to float32 and back into none where it makes vectors of statements
SAME_BITS = ("-ffp-contract=off", "-fno-tree-slp-vectorize")
# a callback with another ABI's arguments must not compile; newer compilers and C++ refuse it anyway
C_ERRORS = ("-Werror=incompatible-pointer-types",)
SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
# without optimization, which would merge lines
COVERAGE = ("--coverage", "-fprofile-update=atomic", "-O0")
# only definitions leave the library: a function named like one of libc's is not replaced by that,
# and variables of C++ templates are not shared with an older version of the library
EXPORTS = "{ global: pp_env_*; local: *; };\n"


@dataclass(frozen=True)
class Compiler:
    """The compiler of one language.

    Attributes:
        command: with the arguments that CC or CXX gives.
        flags: of every compilation, those of CFLAGS or CXXFLAGS included.
        version: what the compiler says of itself.
    """

    command: tuple[str, ...]
    flags: tuple[str, ...]
    version: str

    def runtime(self, name: str) -> str | None:
        """Returns the path of a library of the compiler's, such as "libasan.so"; None without."""
        done = program.run([*self.command, f"-print-file-name={name}"])
        path = done.out.strip()
        # -print-file-name echoes its argument if the file is missing
        return path if done.status == 0 and os.path.isabs(path) else None


def is_cpp(source: Path) -> bool:
    """Returns whether a file is C++; raises SourceError if it is neither that nor C."""
    suffix = source.suffix.lower()
    if suffix not in C_SUFFIXES + CPP_SUFFIXES:
        # Python has its own translator, before this
        known = ", ".join((".py", *C_SUFFIXES, *CPP_SUFFIXES))
        raise SourceError(f"{named(source)}: choose a name that ends in one of {known}")
    return suffix in CPP_SUFFIXES


def compiler(*, cpp: bool) -> Compiler:
    """Returns the compiler that CC or CXX names, or the first that is installed.

    Raises:
        MissingDependencyError: there is none.
        SourceError: a variable can't be split into words, or the compiler does not run.
    """
    variable, language = ("CXX", "C++") if cpp else ("CC", "C")
    names = ("c++", "g++", "clang++") if cpp else ("cc", "gcc", "clang")
    given = words(variable)
    if given and shutil.which(given[0]) is None:
        raise MissingDependencyError(
            f"{variable}={quote(given[0])}: there is no such program: name a {language} compiler,"
            f" or unset {variable}"
        )
    found = given or next(([name] for name in names if shutil.which(name)), [])
    if not found:
        raise MissingDependencyError(
            f"an environment of your own needs a {language} compiler, and none of"
            f" {', '.join(names)} is installed: install gcc or clang, or name one in {variable}"
        )
    own = words("CXXFLAGS" if cpp else "CFLAGS")
    standard = "-std=c++20" if cpp else "-std=c11"
    # NumPy's folder is the last: it holds more than the header that base/normal.c includes
    folders = (f"-I{get_include()}", f"-I{numpy.get_include()}")
    errors = () if cpp else C_ERRORS
    flags = (standard, *COMMON, *errors, *own, *SAME_BITS, *folders)
    path = shutil.which(found[0]) or found[0]
    return Compiler(tuple(found), flags, _version(path, os.stat(path).st_mtime_ns))


@functools.cache
def _version(path: str, changed: int) -> str:
    return program.run([path, "--version"]).out


def link_flags() -> tuple[str, ...]:
    """Returns the user's flags for the linker."""
    return tuple(words("LDFLAGS"))


def words(variable: str) -> list[str]:
    """Returns the words of a variable of the environment, split as a shell does.

    Raises:
        SourceError: a quote in it is not closed.
    """
    given = os.environ.get(variable, "")
    try:
        return shlex.split(given)
    except ValueError as error:
        raise SourceError(
            f"{variable}={quote(given)} can't be split into words: {error}: close the quote, or"
            " write a backslash before a character that is meant itself"
        ) from None


def symbols(source: Path) -> list[str]:
    """Returns the names of the definitions in a file.

    Raises:
        SourceError: the file can't be read, or holds no definition that can be loaded.
    """
    name = named(source)
    try:
        text = files.read(source, MAX_SOURCE).decode(errors="replace")
    except OSError as error:
        raise SourceError(f"{name} can't be read: {error.strerror}: name a C file") from None
    except ValueError as error:
        raise SourceError(f"{name} can't be read: {error}: name a C file") from None
    if "\n" in str(source):
        # a compiler's list of dependencies can't hold it
        raise SourceError(f"{name}: the name holds a line break: choose another")
    cpp = is_cpp(source)
    found = list(DEFINITION.finditer(text))
    if not found:
        line = f"{EXTERN if cpp else ''}const pp_env_def pp_env_NAME = {{"
        raise SourceError(f"{name} defines no environment: a line of it must begin with {line}")
    for each in found:
        if each["table"]:
            raise SourceError(
                f"{name}: {each['name']}{each['table']} is a table, which only built-in families"
                " have: write one definition for each environment"
            )
        if cpp and not each["extern"]:
            raise SourceError(
                f"{name}: in C++ a const is visible in its file alone: write {EXTERN}const"
                f" pp_env_def {each['name']} = {{"
            )
        if not cpp and each["extern"]:
            raise SourceError(f'{name}: extern "C" is C++: leave it out, or name the file .cpp')
    return [each["name"] for each in found]


def exported(library: Path) -> list[str]:
    """Returns the names of what may be definitions in a library.

    Raises:
        ValueError: there is none.
    """
    try:
        data = library.read_bytes()
    except OSError as error:
        raise ValueError(f"{named(library)} can't be read: {error.strerror}") from None
    found = dict.fromkeys(re.findall(rb"(?<=\0)pp_env_\w+(?=\0)", data))
    names = [name.decode() for name in found]
    if not names:
        raise ValueError(f"{named(library)} has no symbol pp_env_NAME: is the definition static?")
    return names


def build(
    source: Path, folder: Path, *, sanitize: bool = False, coverage: bool = False
) -> tuple[Path, list[Path], str]:
    """Compiles a file and links it to a library.

    Args:
        source: the file.
        folder: for the library and what is made on the way.
        sanitize: with AddressSanitizer, UndefinedBehaviorSanitizer and line numbers.
        coverage: with counters for gcov, of the file and not of `base/`; they are written beside
            own.o when the process ends.

    Returns:
        The library, the files that it was made of (system headers and files in `folder` left out),
        and the compiler's warnings.

    Raises:
        SourceError: the compiler or the linker failed, and the message ends in what it printed; or
            it did not end in time, or made nothing.
        MissingDependencyError: there is no compiler.
    """
    cpp = is_cpp(source)
    found = compiler(cpp=cpp)
    # a compiler takes a name that ends in .C for C++, and one that ends in .CC for a library
    language = ("-x", "c++" if cpp else "c")
    extra = (*SANITIZE, "-O1", "-g", "-fno-omit-frame-pointer") if sanitize else ()
    objects = [folder / "own.o"]
    listed = folder / "own.d"
    # a fixed target: that of a path may contain what ends it
    command = [*found.command, *found.flags, *extra, "-MMD", "-MT", "own", "-MF", str(listed)]
    counted = COVERAGE if coverage else ()
    own_robot = robot.find(source)
    if own_robot:
        command += own_robot.compile_flags(folder)
    arguments = [*command, *counted, *language, "-c", _as_argument(source)]
    warnings = run(arguments, source, objects[0])
    depends = [path for path in dependencies(made(listed, command)) if path.parent != folder]
    if own_robot:
        depends += own_robot.dependencies()
    for helper in helpers(depends):
        # these are C, whatever the environment is
        own = compiler(cpp=False)
        objects.append(folder / f"{helper.stem}.o")
        arguments = [*own.flags, *extra, "-c", str(helper)]
        run([*own.command, *arguments], source, objects[-1])
        depends.append(helper)
    library = folder / "library.so"
    linked = [*found.command, "-shared", "-pthread", *(SANITIZE if sanitize else ()), *counted]
    if sys.platform == "darwin":
        linked += ["-undefined", "dynamic_lookup", "-Wl,-exported_symbol,_pp_env_*"]
    else:
        (folder / "exports").write_text(EXPORTS)
        # -Wl would split a path at its commas
        linked += ["-Xlinker", "--version-script", "-Xlinker", str(folder / "exports")]
    libraries = [*map(str, objects), *numpy_libraries(objects), *link_flags(), "-lm"]
    if own_robot:
        libraries += own_robot.link_flags()
    run([*linked, *libraries], source, library)
    return library, depends, warnings


def run(command: Sequence[str], source: Path, output: Path) -> str:
    """Runs a compiler that makes one file; returns what it printed, shortened if it is long.

    Raises:
        SourceError: it failed, did not end in time, or made nothing.
    """
    command = [*command, "-o", str(output)]
    done = program.run(command)
    if done.status:
        printed = f"{done.out}{done.err}".rstrip()
        how = f"it was ended by signal {-done.status}\n" if done.status < 0 else ""
        text = printed or program.command_text(command)
        raise SourceError(f"{named(source)} does not compile:\n{how}{text}")
    made(output, command)
    return done.err


def made(output: Path, command: Sequence[str]) -> Path:
    """Returns a file that a command should have made.

    Raises:
        SourceError: it is not there.
    """
    if output.is_file():
        return output
    raise SourceError(
        f"{program.command_text(command)} reports success, but has not made {output.name}: let CC"
        " and CXX name gcc or clang"
    )


def _as_argument(source: Path) -> str:
    """Returns a path that a compiler takes for one, and not for an option or a list of options."""
    text = str(source)
    return os.path.join(".", text) if text.startswith(("-", "@")) else text


def dependencies(listed: Path) -> list[Path]:
    """Returns the absolute paths of the files in a compiler's list, the source first."""
    text = listed.read_bytes().replace(b"\\\n", b" ").partition(b": ")[2]
    # written for make: a space in a name follows a backslash, and those before it are doubled
    names = re.findall(rb"(?:\\[ \t]|[^ \t\n])+", text)
    spaced = (re.sub(rb"(\\*)\1\\([ \t])", rb"\1\2", name) for name in names)
    plain = (name.replace(b"\\#", b"#").replace(b"$$", b"$") for name in spaced)
    return [Path(os.path.abspath(os.fsdecode(name))) for name in plain]


def helpers(depends: Sequence[Path]) -> list[Path]:
    """Returns the C files of `base/` whose headers an environment includes."""
    base = Path(get_include()) / "base"
    found = [path.with_suffix(".c") for path in depends if path.parent == base]
    return sorted({path for path in found if path.exists()} - set(depends))


def numpy_libraries(objects: Sequence[Path]) -> list[str]:
    """Returns NumPy's archives, which base/normal.c needs."""
    if not any(path.stem in ("normal", "distributions") for path in objects):
        return []
    package = Path(numpy.__file__).parent
    random = package / "random" / "lib" / "libnpyrandom.a"
    return [str(random), str(Path(numpy.get_include()).parent / "lib" / "libnpymath.a")]
