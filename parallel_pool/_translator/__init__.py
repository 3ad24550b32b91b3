"""Translates environments in Python to C, which has the same results bit by bit.

`reader` finds the classes of a file, `template` makes one environment in Python and looks at its
attributes, `function` and the modules that it uses translate methods, and `program` writes the C
file. `load` has it compiled and loaded, as C files of users are.
"""
