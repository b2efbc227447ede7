"""What every page does when it is opened: the day it shows, names that were given, the files of its runs, how it reads."""

import os
import re
from datetime import UTC, date, datetime

from evalstats.report.again import OPEN_STORE, READ_FILES
from evalstats.report.handover import is_store
from evalstats.schema.data import EvalData


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


def files_of(data: EvalData) -> tuple[tuple[str, str], ...]:
    """Return the name of every run's file; where the file lies is nobody's business."""
    rows = data.runs.select("run", "source").drop_nulls().iter_rows()
    return tuple((run, re.split(r"[\\/]", source.rstrip("\\/"))[-1]) for run, source in rows)


def reading_of(store: str, reading: str) -> str:
    """Return the expression that reads the data of a page; nothing where the page has no data of its own."""
    if reading or not store:
        return reading
    return OPEN_STORE if is_store(store) else READ_FILES
