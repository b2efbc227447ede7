"""What a page says of its own making: the day it shows, and the versions that its numbers may hang on."""

import os
import platform
from collections.abc import Sequence
from datetime import UTC, date, datetime
from importlib.metadata import PackageNotFoundError, version


def today() -> date:
    """Return the date in UTC, or that of SOURCE_DATE_EPOCH, so that a build can be repeated byte for byte."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    return (datetime.fromtimestamp(int(epoch), tz=UTC) if epoch.isdecimal() else datetime.now(tz=UTC)).date()


def shown_day(rendered: str) -> date:
    """Return the date that was given, as 2026-01-31; else that of today.

    Examples
    --------
    >>> shown_day("2026-01-31")
    datetime.date(2026, 1, 31)
    """
    return date.fromisoformat(rendered) if rendered else today()


def package_versions(packages: Sequence[str]) -> str:
    """Name the version of Python and of each package that is installed."""
    found = [f"Python {platform.python_version()}"]
    for name in packages:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)
