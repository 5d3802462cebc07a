"""Chromium, driven by playwright."""

import os
import shutil
import time
from contextlib import contextmanager

import pytest
from playwright.sync_api import sync_playwright

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"]


@contextmanager
def chromium():
    """A browser; without one, a test is skipped or, with TREETEXT_BROWSER=required, fails.

    As long as it runs, there can be no other event loop on this thread.
    """
    if CHROMIUM is None:
        end = pytest.fail if os.environ.get("TREETEXT_BROWSER") == "required" else pytest.skip
        end("no Chromium here; on Debian: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield browser
        browser.close()


@contextmanager
def new_page(browser, address, **options):
    """A page at an address, on which nothing fails and which fetches nothing from elsewhere.

    `page.problems` has what did: a test that expects it takes it from there.
    """
    context = browser.new_context(viewport={"width": 1200, "height": 900}, **options)
    page = context.new_page()
    page.set_default_timeout(20_000)
    page.problems = problems = []
    home = "file:" if address.startswith("file:") else "/".join(address.split("/")[:3]) + "/"
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda told: told.type in ("error", "warning") and problems.append(told.text))
    page.on("request", lambda sent: sent.url.startswith((home, "data:", "blob:")) or problems.append(sent.url))
    page.goto(address)
    yield page
    assert problems == [], "nothing is fetched from elsewhere, and nothing fails"
    context.close()


def every(page, selector, what):
    """A property of all elements of a kind."""
    return page.eval_on_selector_all(selector, f"(all) => all.map((found) => found.{what})")


def wait(page, condition):
    """Until a condition holds in a page, whose own policy does not let playwright wait there."""
    late = time.monotonic() + 20
    while not page.evaluate(condition):
        assert time.monotonic() < late, condition
        page.wait_for_timeout(20)
