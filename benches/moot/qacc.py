"""The 60 questions of QACC of the results of `moot`, half of them with conflicting pages.

    python benches/moot/qacc.py ConflictQA_train_dev.json qacc60.json

They were drawn at random before the method ran on them; the draw itself was not kept, so their positions are listed.
"""

import json
import sys
from pathlib import Path

POSITIONS = [
    678, 742, 784, 638, 41, 798, 685, 441, 271, 579, 674, 483, 729, 744, 748, 156, 589, 711, 424, 440, 294, 54, 143,
    519, 505, 596, 740, 404, 549, 791, 161, 60, 364, 130, 190, 471, 707, 458, 205, 230, 736, 552, 159, 465, 719, 238,
    727, 600, 273, 203, 553, 724, 176, 269, 622, 434, 304, 413, 3, 540,
]


def main():
    """Writes the questions in the order in which they were asked."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    questions = json.loads(Path(sys.argv[1]).read_text())
    Path(sys.argv[2]).write_text(json.dumps([questions[position] for position in POSITIONS]))


if __name__ == "__main__":
    main()
