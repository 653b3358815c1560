"""Programs run to their end, with the most memory that they held."""

import json
import os
import subprocess
import sys
import tempfile
from typing import NamedTuple


class Ended(NamedTuple):
    """What a program that succeeded left behind."""

    out: str
    err: str
    peak_mb: float

    def lines(self):
        """Its output's JSON objects, one a line; other lines are passed over."""
        return [json.loads(line) for line in self.out.splitlines() if line.startswith("{")]


def run(command, prefix=(), environment=None):
    """Runs a command after the words of `prefix`. Ends this program, showing what went wrong, where it fails."""
    command = [*prefix, *map(str, command)]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        try:
            child = subprocess.Popen(command, stdout=out, stderr=err, env={**os.environ, **(environment or {})})
        except OSError as error:
            sys.exit(f"{command[0]}: {error.strerror}")
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            child.terminate()
            child.wait()
            raise
        child.returncode = os.waitstatus_to_exitcode(status)  # Else it is waited for once more.
        out.seek(0)
        err.seek(0)
        ended = Ended(out.read(), err.read(), usage.ru_maxrss / 1000)
    if child.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with {child.returncode}:\n{(ended.out + ended.err)[-2000:]}")
    return ended
