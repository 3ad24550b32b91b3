"""The contract of environments: rules, guard zones, the process and the command of `check`."""
