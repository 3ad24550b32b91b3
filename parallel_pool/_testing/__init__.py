"""The command `check`: its process, and what it prints. And `inspect`, of pools."""
