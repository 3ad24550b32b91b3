"""Environments from source: a C or C++ file becomes a library, and its definitions are loaded.

`toolchain` runs the compiler, `cache` keeps what it made, `load` registers it, `start` writes a
first file, and `command` is the command line.
"""
