"""Reports: pages for people, from results. `evalstats.report(...)` renders one.

The package has the name of the public function, and importing a package binds its name in the parent; so the package
itself can be called, and `evalstats.report(...)` works whatever was imported before.
"""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any


class _Report(ModuleType):
    """A module that renders a report when it is called; see `evalstats.report.render.report`."""

    def __call__(self, *arguments: Any, **options: Any) -> tuple[Path, ...]:
        from evalstats.report.render import report

        return report(*arguments, **options)


sys.modules[__name__].__class__ = _Report
