"""The program `moot`, which the wheel installs."""

import signal
import sys

from moot import _moot


def main() -> None:
    """Runs the program with the arguments of this process, and exits with its code."""
    # Python's own handler would wait for Python code to run. Commands that can be continued install theirs.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_moot.main(["moot", *sys.argv[1:]]))
