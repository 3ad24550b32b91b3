"""Single questions, each with a command of its own."""
