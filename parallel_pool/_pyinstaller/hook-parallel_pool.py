"""Hook: names what PyInstaller does not find of this package in its imports.

The engine's module imports cffi's from C. Public names and the functions of worker processes are
imported at run time. Tables and the sources of new environments are files.
"""

from PyInstaller.utils.hooks import (  # type: ignore[import-untyped]
    collect_data_files,
    collect_submodules,
)

# a hook's own names, which PyInstaller reads
hiddenimports = ["_cffi_backend", *collect_submodules("parallel_pool")]
datas = collect_data_files("parallel_pool")
