"""What is measured: environments, players of libraries, and loops in C."""
