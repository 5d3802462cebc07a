"""Takes the screenshots of the page of `treetext serve`, with the Debates model that ships.

    python docs/screenshots.py

It needs Chromium and playwright, and writes into docs/screenshots.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

PLACE = Path(__file__).parent / "screenshots"
PICTURES = {
    "page": {"viewport": {"width": 1100, "height": 1120}, "color_scheme": "light"},
    "marginals": {"viewport": {"width": 1100, "height": 1370}, "color_scheme": "dark"},
    "narrow": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light", "device_scale_factor": 2},
}


def main() -> None:
    """Start a server, look at its page, and stop it."""
    command = [sys.executable, "-m", "treetext", "serve", "debates", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            line = server.stderr.readline() if server.stderr else ""
            found = re.search(r"http://\S+", line)
            if not found:
                sys.exit(line)
            take(found[0])
        finally:
            server.terminate()


def take(address: str) -> None:
    """One picture of each kind: the tree, the marginals, and a small screen with the tree of a sentence."""
    PLACE.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, options in PICTURES.items():
            page = browser.new_page(**options)
            page.goto(address)
            page.click("text=A speech")
            page.wait_for_selector("#result:not([hidden])")
            page.click("#trees li:nth-child(1) button")
            page.mouse.move(0, 0)
            if name == "page":
                page.hover("#words .node >> nth=2")
            if name == "marginals":
                page.click("text=Marginals")
            if name == "narrow":
                page.evaluate("document.getElementById('trees').scrollIntoView()")
            page.screenshot(path=PLACE / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
