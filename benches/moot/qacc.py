"""The questions of QACC of the results of `moot`, half of them with conflicting pages.

    python benches/moot/qacc.py ConflictQA_train_dev.json qacc60.json           the 60 of the results
    python benches/moot/qacc.py ConflictQA_train_dev.json qacc80.json choose    80 others, for choosing

They were drawn at random before the method ran on them. The first draw was not kept, so positions are listed.
"""

import json
import sys
from pathlib import Path

CONFIRM = [
    678, 742, 784, 638, 41, 798, 685, 441, 271, 579, 674, 483, 729, 744, 748, 156, 589, 711, 424, 440, 294, 54, 143,
    519, 505, 596, 740, 404, 549, 791, 161, 60, 364, 130, 190, 471, 707, 458, 205, 230, 736, 552, 159, 465, 719, 238,
    727, 600, 273, 203, 553, 724, 176, 269, 622, 434, 304, 413, 3, 540,
]
CHOOSE = [
    5, 492, 317, 769, 322, 19, 476, 295, 139, 484, 680, 497, 521, 108, 224, 619, 608, 110, 635, 104, 486, 241, 470,
    301, 473, 126, 312, 178, 174, 714, 255, 675, 502, 214, 595, 733, 64, 260, 439, 599, 293, 617, 42, 378, 371, 215,
    722, 770, 261, 124, 474, 767, 406, 105, 597, 217, 480, 631, 565, 660, 136, 2, 543, 79, 134, 746, 361, 591, 568,
    334, 652, 590, 776, 657, 490, 708, 346, 616, 270, 588,
]


def main():
    """Writes the questions in the order in which they were asked."""
    if len(sys.argv) not in (3, 4) or sys.argv[3:] not in ([], ["choose"]):
        sys.exit(__doc__)
    positions = CHOOSE if sys.argv[3:] else CONFIRM
    questions = json.loads(Path(sys.argv[1]).read_text())
    Path(sys.argv[2]).write_text(json.dumps([questions[position] for position in positions]))


if __name__ == "__main__":
    main()
