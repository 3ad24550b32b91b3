"""The Python side of those families of environments that need one."""
