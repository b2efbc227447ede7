"""`python -m tests.frozen [CASE...]`: write the frozen numbers anew. Only where a statistic was changed on purpose."""

import sys

from tests.frozen.cases import CASES
from tests.frozen.values import FOLDER, write


def main(wanted: list[str]) -> None:
    """Write the files of the cases wanted, or of all, and name those that changed."""
    FOLDER.mkdir(exist_ok=True)
    changed = [name for name, make in CASES.items() if (not wanted or name in wanted) and write(name, make())]
    print("\n".join(changed) or "nothing changed")  # what a script prints
    if changed:
        print("These numbers are now the frozen ones: say in the commit which statistic was changed, and why.")


if __name__ == "__main__":
    main(sys.argv[1:])
