"""Hook: names what PyInstaller does not find of this package in its imports.

The engine's module imports cffi's from C. Public names and the functions of worker processes are
imported at run time. Ids name Gymnasium's classes in a text; native environments have their
metadata. Tables and the sources of new environments are files.
"""

from PyInstaller.utils.hooks import (  # type: ignore[import-untyped]
    collect_data_files,
    collect_submodules,
)

# Gymnasium's environments in JAX, of which none is native
IN_JAX = tuple(f"gymnasium.envs.{name}" for name in ("functional_jax_env", "phys2d", "tabular"))

# a hook's own names, which PyInstaller reads
hiddenimports = [
    "_cffi_backend",
    *collect_submodules("parallel_pool"),
    *collect_submodules("gymnasium.envs", filter=lambda name: not name.startswith(IN_JAX)),
]
datas = collect_data_files("parallel_pool")
