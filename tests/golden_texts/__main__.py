"""`python -m tests.golden_texts [NAME...]`: write the texts of results anew, and name those that changed: read their diff."""

import sys

from tests.frozen.cases import CASES
from tests.golden_texts.texts import FOLDER, texts


def main(wanted: list[str]) -> None:
    """Write the files of the cases wanted, or of all."""
    for name in wanted or CASES:
        path, text = FOLDER / f"{name}.txt", texts(name)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(name)


if __name__ == "__main__":
    main(sys.argv[1:])
