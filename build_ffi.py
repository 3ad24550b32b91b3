"""Builds `parallel_pool._core`, the C engine, as a cffi module for every Python from 3.11 on.

pip calls the class `build_ext` below (see pyproject.toml). By hand:

    python build_ffi.py                              # build in place, for an editable install
    python build_ffi.py build --build-lib DIR        # Python files and the module into DIR
    python build_ffi.py --compiler                   # the command that compiles a file of csrc

The environment chooses the kind of build:

    PP_DEBUG=1                    -O0 -g3
    PP_SANITIZE=address,undefined or PP_SANITIZE=thread
    PP_WERROR=1                   warnings are errors (for our own checks)
    PP_JOBS=N                     compilers at once, default: the cores of this process
    CC, CFLAGS, LDFLAGS           as everywhere

To build for another machine (.ci/wheels.py does), name its compiler in CC, and:

    _PYTHON_HOST_PLATFORM=linux-aarch64   the machine, in the words of sysconfig.get_platform()
    PP_NUMPY=FOLDER                       where the machine's own NumPy is unpacked
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import platform
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import sysconfig
import warnings
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cffi
import numpy
from setuptools import errors, setup
from setuptools.command.bdist_wheel import bdist_wheel as setuptools_bdist_wheel
from setuptools.command.build_ext import build_ext as setuptools_build_ext

ROOT = Path(__file__).resolve().parent
CSRC = ROOT / "csrc"
PUBLIC_HEADERS = tuple(
    CSRC / "include" / name for name in ("pp_env.h", "pp_pool.h", "pp_worker.h", "pp_xla.h")
)
MODULE = "parallel_pool._core"

# One function of these files is so large that a sanitizer's optimised build of it takes minutes.
LARGE = tuple(
    CSRC / "envs" / "atari" / "console" / name for name in ("machine.c", "machine_banked.c")
)

# An environment is found by this line and by nothing else. [N]: a table of N environments, where N
# is a number or a constant that a header of csrc/envs defines as `N = number`.
DEFINITION = re.compile(r"^const pp_env_def (pp_env_\w+)(?:\[(\w+)\])? = \{", re.MULTILINE)


def unsupported() -> str | None:
    """Returns one sentence that says why this system cannot build the engine; None if it can."""
    sentence = runpy.run_path(str(ROOT / "parallel_pool" / "_system.py"))["unsupported"]()
    return None if sentence is None else str(sentence)


def untested() -> str | None:
    """Returns one sentence that warns of a system where only the build works; None on others."""
    if platform.system() != "Darwin":
        return None
    return (
        "parallel_pool is experimental on macOS: its engine compiles, but no Mac has run its tests"
        " yet."
    )


def words(variable: str, default: str = "") -> list[str]:
    """Returns the words of a variable of the environment, split as a shell does."""
    given = os.environ.get(variable) or default
    try:
        return shlex.split(given)
    except ValueError as error:
        raise errors.SetupError(f"{variable}={given}: {error}: close the quote") from None


def c_files() -> list[Path]:
    """Returns the C files of the engine and its environments, in the same order on every system."""
    return sorted(CSRC.rglob("*.c"))


def cdef() -> str:
    """Returns the declarations for cffi: the public headers without preprocessor lines."""
    lines = "\n".join(header.read_text() for header in PUBLIC_HEADERS).splitlines()
    return "\n".join(line for line in lines if not line.startswith("#"))


def length(size: str) -> int:
    """Returns the number of environments that a definition's [size] stands for."""
    if size.isdecimal():
        return int(size)
    pattern = re.compile(rf"\b{size} = (\d+)\b")
    headers = sorted((CSRC / "envs").rglob("*.h"))
    found = [number for path in headers for number in pattern.findall(path.read_text())]
    if len(found) != 1:
        raise errors.SetupError(
            f"[{size}] has {len(found)} values in the headers of csrc/envs: define it once, as in"
            f" enum {{ {size} = 3 }};"
        )
    return int(found[0])


def environment_table() -> str:
    """Returns the C source of the table in which the engine finds its environments."""
    found: dict[str, tuple[Path, int]] = {}  # 0: a single definition, not a table
    for path in sorted((CSRC / "envs").rglob("*.c")):
        for name, size in DEFINITION.findall(path.read_text()):
            if name in found:
                raise errors.SetupError(
                    f"{name} is defined in {found[name][0]} and again in {path}"
                )
            found[name] = path, length(size) if size else 0
    externs = "".join(
        f"extern const pp_env_def {name}{f'[{count}]' if count else ''};"
        f" /* {path.relative_to(ROOT).as_posix()} */\n"
        for name, (path, count) in found.items()
    )
    elements = [
        f"{name}[{i}]" if count else name
        for name, (_, count) in found.items()
        for i in range(count or 1)
    ]
    entries = "".join(f"    &{element},\n" for element in elements)
    return (
        "/* The built-in environments. Generated by build_ffi.py: do not edit. */\n"
        '#include "pp_pool.h"\n\n'
        f"{externs}\n"
        # C has no empty array, hence the closing null
        f"static const pp_env_def *const table[] = {{\n{entries}    NULL,\n}};\n\n"
        "const pp_env_def *const *pp_env_table(int32_t *count) {\n"
        f"  *count = {len(elements)};\n"
        "  return table;\n"
        "}\n"
    )


def numpy_core() -> Path:
    """Returns the folder of NumPy's headers and archives, for the machine that is built for."""
    given = os.environ.get("PP_NUMPY")
    if not given:
        return Path(numpy.get_include()).parent
    core = Path(given, "numpy", "_core")
    if not (core / "lib" / "libnpymath.a").exists():
        raise errors.SetupError(f"PP_NUMPY={given}: unpack a wheel of NumPy 2 there")
    return core


def numpy_libraries() -> list[Path]:
    """Returns NumPy's archives of its random distributions, which it ships for programs in C."""
    core = numpy_core()
    return [
        core.parent / "random" / "lib" / "libnpyrandom.a",
        core / "lib" / "libnpymath.a",
    ]


def usable_cores() -> int:
    """Returns how many cores this process may use; all of the machine's if that is unknown."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def write_if_changed(path: Path, text: str) -> None:
    """Writes a file if its text changes: an unchanged file keeps its time and is not recompiled."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class Toolchain:
    """The commands that compile and link one kind of build, and the folder of its objects.

    Args:
        environ: chooses the kind of build.
    """

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        on = {"1", "yes", "true", "on"}
        debug = environ.get("PP_DEBUG", "").lower() in on
        sanitize = environ.get("PP_SANITIZE", "")
        if not re.fullmatch(r"(address|undefined|thread|,)*", sanitize):
            raise errors.SetupError(
                f"PP_SANITIZE={sanitize}: choose from address, undefined, thread"
            )
        self.cc = words("CC", sysconfig.get_config_var("CC") or "cc")
        if shutil.which(self.cc[0]) is None:
            raise errors.CompileError(
                f"parallel_pool needs a C compiler, and {self.cc[0]!r} was not found:"
                " install gcc or clang, or name one in CC."
            )
        # Python's own CFLAGS are not used: -fwrapv would hide overflows from the sanitizer, and
        # others would change bits. -ffp-contract=off follows the user's CFLAGS and overrides them,
        # because results must equal the references bit by bit.
        common = ["-std=c11", "-O3", "-fvisibility=hidden", "-fPIC", "-pthread"]
        self.link_flags = ["-pthread"]
        if sanitize:
            # -g1: reports need lines, but not where variables are, which takes long to compute
            common += [f"-fsanitize={sanitize}", "-fno-omit-frame-pointer", "-O1", "-g1"]
            self.link_flags += [f"-fsanitize={sanitize}"]
            if "undefined" in sanitize:
                common += ["-fno-sanitize-recover=undefined"]
        if debug:
            common += ["-O0", "-g3"]
        common += [*words("CFLAGS"), "-ffp-contract=off"]
        # NumPy's folder is the last: it holds more than the headers that we include
        common += [f"-I{CSRC / 'include'}", f"-I{CSRC}", f"-I{numpy_core() / 'include'}"]
        warnings = ["-Wall", "-Wextra", "-Wshadow"]
        self.own_flags = common + warnings
        # without optimization, a sanitizer finds no less
        self.large_flags = [*self.own_flags, "-O0"] if sanitize else self.own_flags
        # no warnings for the code that cffi generates
        self.cffi_flags = [*common, "-w", f"-I{sysconfig.get_path('include')}"]

        # the module must not export the symbols of NumPy's archives
        is_macos = sysconfig.get_platform().startswith("macosx")
        if is_macos:
            self.link_flags += ["-bundle", "-undefined", "dynamic_lookup"]
        else:
            self.link_flags += ["-shared", "-Wl,--exclude-libs,ALL"]
        self.link_flags += words("LDFLAGS")

        # without -Werror, which changes no object
        identity = repr((self.cc, self.own_flags, self.cffi_flags, self.link_flags))
        if sanitize:
            identity += repr(self.large_flags)
        kind = sanitize.replace(",", "-") or "release"
        kind += "-debug" if debug else ""
        digest = hashlib.sha256(identity.encode()).hexdigest()[:8]
        self.folder = ROOT / "build" / f"{kind}-{digest}"
        # cffi's code names its file, and the same sources shall give the same module in any folder
        self.cffi_flags += [f"-ffile-prefix-map={self.folder}=build"]
        if is_macos:
            exported = self.folder / "generated" / "exported"
            write_if_changed(exported, "_PyInit__core\n")
            self.link_flags += [f"-Wl,-exported_symbols_list,{exported}"]
        if environ.get("PP_WERROR", "").lower() in on:
            for flags in (self.own_flags, self.large_flags):
                flags += ["-Werror"]

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Excludes other builds of this kind: two at once would write the same objects."""
        import fcntl  # here, because Windows lacks it, and `unsupported` must be called first

        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def compile_engine(self, *generated: tuple[Path, list[str]]) -> list[Path]:
        """Compiles what changed of the engine, and generated files with their flags.

        Returns the objects.
        """
        table_file = self.folder / "generated" / "env_table.c"
        write_if_changed(table_file, environment_table())
        # those that compile longest first: files that include others, and cffi's
        own = sorted(c_files(), key=lambda path: '.inl"' not in path.read_text())
        work = [
            (path, self.large_flags if path in LARGE else self.own_flags)
            for path in (*own, table_file)
        ]
        work[1:1] = generated
        jobs = int(os.environ.get("PP_JOBS", 0)) or usable_cores()
        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(lambda item: self.compile(*item), work))

    def compile(self, source: Path, flags: list[str]) -> Path:
        """Compiles a file, unless its object is newer than everything it was made from."""
        base = self.folder if source.is_relative_to(self.folder) else ROOT
        target = self.folder / "obj" / source.relative_to(base)
        object_file, depend_file = target.with_suffix(".o"), target.with_suffix(".d")
        if not is_stale(object_file, depend_file):
            return object_file
        target.parent.mkdir(parents=True, exist_ok=True)
        # the object gets its name only when the compiler has succeeded
        partial = target.with_suffix(".partial")
        self.run([*self.cc, *flags, "-MMD", "-MF", depend_file, "-c", source, "-o", partial])
        partial.replace(object_file)
        return object_file

    def link(self, objects: list[Path], output: Path) -> None:
        """Links the objects; a process that has the old module loaded keeps its old file."""
        output.parent.mkdir(parents=True, exist_ok=True)
        partial = output.with_suffix(".partial")
        self.run(
            [*self.cc, *self.link_flags, *objects, *numpy_libraries(), "-lm", "-ldl", "-o", partial]
        )
        partial.replace(output)

    @staticmethod
    def run(command: list[str | Path]) -> None:
        words = [str(word) for word in command]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            raise errors.CompileError(f"{shlex.join(words)}\n{done.stdout}{done.stderr}")
        if done.stderr:
            print(done.stderr, file=sys.stderr, end="")


def is_stale(object_file: Path, depend_file: Path) -> bool:
    """Returns whether an object is missing, or older than a file in the compiler's own list."""
    try:
        made = object_file.stat().st_mtime_ns
        listed = depend_file.read_text().replace("\\\n", " ").partition(": ")[2]
        # the compiler writes a space inside a name as "\ "
        names = re.split(r"(?<!\\)\s+", listed.strip())
        return any(Path(name.replace("\\ ", " ")).stat().st_mtime_ns >= made for name in names)
    except OSError:
        return True


def build_module(output: Path) -> None:
    """Compiles what changed and links the extension module to output."""
    tools = Toolchain()
    with tools.locked():
        ffi = cffi.FFI()
        ffi.cdef(cdef())
        source = '#include "pp_pool.h"\n#include "pp_worker.h"\n#include "pp_xla.h"'
        ffi.set_source(MODULE, source, py_limited_api=True)
        module_file = tools.folder / "generated" / "_core.c"
        module_file.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.redirect_stdout(io.StringIO()):
            ffi.emit_c_code(str(module_file))  # does not write an unchanged file
        tools.link(tools.compile_engine((module_file, tools.cffi_flags)), output)


def include_files() -> dict[str, Path]:
    """Returns the files for environments outside this tree, by their path under get_include()."""
    files = {path.name: path for path in sorted((CSRC / "include").glob("*.h"))}
    base = [path for path in sorted((CSRC / "base").rglob("*")) if path.suffix in (".h", ".c")]
    return files | {path.relative_to(CSRC).as_posix(): path for path in base}


def check_system() -> None:
    """Raises a setuptools error on a system that cannot build the engine."""
    sentence = unsupported()
    if sentence:
        raise errors.PlatformError(sentence)


def numpy_metadata() -> Path | None:
    """Returns the folder with the metadata of the NumPy whose archives are linked; None: no such.

    A build from NumPy's own source tree has none.
    """
    found = numpy_core().parent.parent.glob("numpy-*.dist-info")
    return next(found, None)


def bill_of_materials(version: str, numpy_version: str) -> dict[str, object]:
    """Returns what the wheel holds of others, in CycloneDX's format."""
    component = {"type": "library", "name": "parallel_pool", "version": version}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**component, "licenses": [{"expression": "Apache-2.0"}]}},
        "components": [
            {
                "type": "library",
                "name": "numpy",
                "version": numpy_version,
                "description": "libnpyrandom.a and libnpymath.a, linked into the engine's module",
                "licenses": [{"expression": "BSD-3-Clause AND MIT"}],
                "purl": f"pkg:pypi/numpy@{numpy_version}",
            },
            {
                "type": "library",
                "name": "cffi",
                "version": cffi.__version__,
                "description": "the code that it generates for the engine's module",
                "licenses": [{"expression": "MIT-0"}],
                "purl": f"pkg:pypi/cffi@{cffi.__version__}",
            },
        ],
    }


class bdist_wheel(setuptools_bdist_wheel):
    """Says in the wheel what it holds of others, with their licences."""

    def finalize_options(self) -> None:
        # before setuptools looks at the ABI, whose errors say less
        check_system()
        super().finalize_options()

    def write_wheelfile(self, wheelfile_base: str, *args: str, **kwargs: str) -> None:
        super().write_wheelfile(wheelfile_base, *args, **kwargs)
        numpy_info = numpy_metadata()
        if numpy_info is None:
            return
        folder = Path(wheelfile_base)
        (folder / "sboms").mkdir()
        numpy_version = numpy_info.name.removesuffix(".dist-info").partition("-")[2]
        bill = bill_of_materials(self.distribution.get_version(), numpy_version)
        text = json.dumps(bill, indent=2) + "\n"
        (folder / "sboms" / "parallel_pool.cdx.json").write_text(text)
        licenses = numpy_info / "licenses"
        for path in (licenses / "LICENSE.txt", *sorted((licenses / "numpy" / "random").rglob("*"))):
            if path.is_file():
                target = folder / "licenses" / "numpy" / path.relative_to(licenses)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)


class build_ext(setuptools_build_ext):
    """Builds the engine and puts its headers beside it."""

    def finalize_options(self) -> None:
        check_system()
        super().finalize_options()

    def run(self) -> None:
        # setuptools splits them too, and does not say which it could not split
        for variable in ("CC", "CFLAGS", "LDFLAGS"):
            words(variable)
        super().run()

    def build_extension(self, ext: object) -> None:
        warning = untested()
        if warning:
            print(f"warning: {warning}", file=sys.stderr)
        build_module(Path(self.get_ext_fullpath(MODULE)))
        for name, source in include_files().items():
            target = Path(self.build_lib, "parallel_pool", "include", name)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)

    def copy_extensions_to_source(self) -> None:
        """Makes the headers of a build in place links, so that they are always up to date."""
        super().copy_extensions_to_source()
        include = ROOT / "parallel_pool" / "include"
        wanted = {include / name: source for name, source in include_files().items()}
        for link in [path for path in include.rglob("*") if path.is_symlink()]:
            if link not in wanted:
                link.unlink()
        for link, source in wanted.items():
            link.parent.mkdir(parents=True, exist_ok=True)
            # another build of this tree may be doing the same
            with contextlib.suppress(FileExistsError):
                link.symlink_to(os.path.relpath(source, link.parent))

    def get_source_files(self) -> list[str]:
        files = [path for path in CSRC.rglob("*") if path.is_file()]
        return ["build_ffi.py", *sorted(path.relative_to(ROOT).as_posix() for path in files)]


def main(arguments: list[str]) -> None:
    os.chdir(ROOT)
    if arguments == ["--compiler"]:
        tools = Toolchain()
        print(shlex.join([*tools.cc, *tools.own_flags]))
        return
    # the rest of the project's configuration is in pyproject.toml, some of it in tables that
    # setuptools still calls experimental
    warnings.filterwarnings("ignore", message=".*experimental")
    setup(script_args=arguments or ["--quiet", "build_ext", "--inplace"])


if __name__ == "__main__":
    main(sys.argv[1:])
