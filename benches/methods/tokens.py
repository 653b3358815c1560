"""Tokens of a question, prompt and generated, by a record's mean: python benches/methods/tokens.py RECORD"""

import json
import os
import subprocess
import sys


def main():
    """Prints the number."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    printed = subprocess.run([os.environ.get("MOOT", "moot"), "score", "--json", sys.argv[1]], check=True, capture_output=True)
    metrics = json.loads(printed.stdout)["records"][0]["metrics"]
    print(round(sum(metrics[name]["mean"] for name in ("prompt-tokens", "generated-tokens"))))


if __name__ == "__main__":
    main()
