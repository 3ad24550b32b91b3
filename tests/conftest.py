"""What holds for all tests."""

import signal

# Shells start background jobs with Ctrl-C ignored, and Python then leaves it so: tests of Ctrl-C
# would wait for ever. Processes that tests start inherit what is set here.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
