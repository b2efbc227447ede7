"""Make the pictures of the README and the start page from today's pages, so that they are never outdated: `make pictures`."""

import shutil
import tempfile
from pathlib import Path

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def main() -> None:
    """Picture the first screen of the comparison report."""
    from playwright.sync_api import sync_playwright

    from evalstats.report.examples import example
    from evalstats.report.render import report

    program = next((found for name in PROGRAMS if (found := shutil.which(name))), None)
    if program is None:
        raise SystemExit(f"no Chromium on this machine; looked for {', '.join(PROGRAMS)}")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        (page,) = report(example("compare"), Path(folder, "page.html"), engine="embedded")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        shown = browser.new_page(viewport={"width": 1200, "height": 820})
        shown.goto(page.as_uri())
        shown.screenshot(path=IMAGES / "comparison-report.png")
        browser.close()


if __name__ == "__main__":
    main()
