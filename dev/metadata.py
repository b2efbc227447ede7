"""What an index shows of the package: the README with whole addresses, and where the project lives.

A checkout does not know its own address; whoever publishes says it in EVALSTATS_REPOSITORY, such as https://HOST/OWNER/NAME.
Without it, the README stands as it is and no address is claimed.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)")


def whole_addresses(text: str, repository: str, version: str) -> str:
    """Let relative links of Markdown lead to the files of this version, pictures to their bytes.

    >>> whole_addresses("[Install](docs/install.md), ![a page](docs/a.png)", "https://h/o/n", "1.2.3")
    '[Install](https://h/o/n/blob/v1.2.3/docs/install.md), ![a page](https://h/o/n/raw/v1.2.3/docs/a.png)'
    """
    return _LINK.sub(
        lambda link: f"{link[1]}[{link[2]}]({repository}/{'raw' if link[1] else 'blob'}/v{version}/{link[3]})", text
    )


class CustomMetadataHook(MetadataHookInterface):
    """Fills in `readme` and `urls`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set what `dynamic` leaves open."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        repository = os.environ.get("EVALSTATS_REPOSITORY", "").rstrip("/")
        if repository:
            text = whole_addresses(text, repository, metadata["version"])
            metadata["urls"] = {
                "Source": repository,
                "Documentation": f"{repository}/tree/v{metadata['version']}/docs",
                "Changelog": f"{repository}/blob/v{metadata['version']}/CHANGELOG.md",
                "Issues": f"{repository}/issues",
            }
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
