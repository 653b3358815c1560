"""Running commands to completion."""

import json
import os
import subprocess
import sys


def run(command, prefix=(), environment=None, errors=False, folder=None):
    """What a command prints, with `errors` to its standard error, run after the words of `prefix`, in `folder` if one is
    given. Ends this program, showing why, where it fails."""
    command = [*prefix, *map(str, command)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    try:
        # Not subprocess.run, which kills at Ctrl-C: the terminal tells the command too, and it ends what it started.
        with subprocess.Popen(command, env={**os.environ, **(environment or {})}, cwd=folder, **pipes) as child:
            out, err = child.communicate()
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")
    if child.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with {child.returncode}:\n{(out + err)[-2000:]}")
    return err if errors else out


def lines(out):
    """The JSON objects of an output, one a line; other lines are passed over."""
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]
