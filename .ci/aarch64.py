"""Runs tests of the aarch64 wheel under qemu, on any Linux machine.

    python .ci/aarch64.py prepare                downloads a Debian for aarch64 and Python packages
    python .ci/aarch64.py pytest TREE ARG ...    runs pytest in a tree with the unpacked wheel

A test that needs a package which has no wheel for aarch64, or takes a gigabyte there, is skipped.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import foreign_root

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path(sys.prefix) / "aarch64"
SUITE = "bookworm"
# Debian's Python is the oldest that we support
DEBIAN = ("python3", "libpython3.11-stdlib", "libstdc++6", "gcc", "libc6-dev", "coreutils", "dash")
PACKAGES = (
    *("numpy", "gymnasium", "cffi", "cloudpickle", "mujoco", "imageio", "packaging", "ale-py"),
    *("pettingzoo", "mpe2", "dm-env", "pytest", "pytest-xdist", "hypothesis"),
)
# tests that import one of these are skipped
MISSING = (
    "Box2D",
    "cv2",
    "envpool",
    "jax",
    "multi_agent_ale_py",
    "ray",
    "stable_baselines3",
    "torch",
)


def prepare() -> None:
    """Downloads what the tests need, unless it is there."""
    if FOLDER.exists():
        return
    partial = FOLDER.with_name("aarch64.partial")
    shutil.rmtree(partial, ignore_errors=True)
    tools = partial / "tools"
    foreign_root.tool("qemu-aarch64-static", "qemu-user-static", tools)
    foreign_root.make(partial / "root", SUITE, "arm64", DEBIAN, tools)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # pip takes no range of platforms
    platforms = [f"--platform=manylinux_2_{minor}_aarch64" for minor in range(36, 16, -1)]
    only = ["--platform=manylinux2014_aarch64", "--python-version=3.11", "--only-binary=:all:"]
    wanted = [f"{name}=={version(name)}" for name in PACKAGES]
    target = ["--target", partial / "packages", "--no-compile"]
    subprocess.run([*pip, *platforms, *only, *target, *wanted], check=True)
    partial.rename(FOLDER)


def main(arguments: list[str]) -> int:
    if arguments[:1] != ["pytest"] and arguments != ["prepare"]:
        print(__doc__)
        return 2
    try:
        if arguments == ["prepare"]:
            prepare()
            return 0
        if not FOLDER.exists():
            raise foreign_root.Unavailable("python .ci/aarch64.py prepare did not succeed")
        tree = Path(arguments[1]).resolve()
        qemu = foreign_root.tool("qemu-aarch64-static", "qemu-user-static", FOLDER / "tools")
        env = {
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": f"{tree}:{FOLDER / 'packages'}:{ROOT / '.ci'}",
            "PP_MISSING": ",".join(MISSING),
        }
        options = ["-p", "no:cacheprovider", "-p", "skip_missing", f"--rootdir={tree}"]
        command = ["/usr/bin/python3", "-m", "pytest", *options, *arguments[2:]]
        return foreign_root.run(FOLDER / "root", command, ROOT, tree, env, qemu)
    except foreign_root.Unavailable as reason:
        print(f"skipped: {reason}")
        return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
