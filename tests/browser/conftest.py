"""A real browser without a network: whatever a page asks of one fails the test."""

import os
from pathlib import Path

import pytest

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium():
    missing = None if CHROMIUM.exists() else f"no Chromium at {CHROMIUM} (Debian: apt-get install chromium)"
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing = "playwright is not installed (pip install .[test])"
    if missing and os.environ.get("BIASLIB_REQUIRE_BROWSER") == "1":
        pytest.fail(missing)
    if missing:
        pytest.skip(missing)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), headless=True, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium):
    """Give a function that opens a local file; afterwards no request and no error may have been seen."""
    problems, contexts = [], []

    def note_request(request):
        if not request.url.startswith(("file:", "data:", "blob:")):
            problems.append(f"request: {request.url[:200]}")

    def open_file(path, **settings):
        context = chromium.new_context(offline=True, **settings)
        contexts.append(context)
        page = context.new_page()
        page.on("request", note_request)
        page.on("requestfailed", lambda request: problems.append(f"failed: {request.url[:200]}"))
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on("console", lambda note: problems.append(note.text) if note.type == "error" else None)
        page.goto(Path(path).resolve().as_uri())
        return page

    yield open_file
    for context in contexts:
        context.close()
    assert problems == []
