"""Where the program `evalstats` begins: an installation that does not even import ends with the status of a fault, too."""

import sys
from traceback import print_exc

from evalstats.errors import OUR_FAULT


def main() -> None:
    """Import the commands and run the one that was asked for."""
    try:
        from evalstats.cli.main import main as run
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BaseException:  # noqa: BLE001 - whatever it is, Python would end with 1, which says that a gate failed
        print_exc()
        print("error: this installation of evalstats does not import; install it again", file=sys.stderr)
        raise SystemExit(OUR_FAULT) from None
    run()
