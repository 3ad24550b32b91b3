"""The contract of environments: its rules, guard zones around rows, and what plays them."""
