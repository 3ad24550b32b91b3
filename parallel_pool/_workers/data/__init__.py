"""What travels between the parent process and its workers."""
