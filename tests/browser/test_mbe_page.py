import pytest

pytestmark = pytest.mark.browser


def test_the_demo_report_opens_offline_with_figures_and_search(demo_run, open_page):
    page = open_page(demo_run("mbe").html)
    figures = page.locator("main img")
    assert figures.count() >= 3
    for figure in figures.all():
        assert figure.evaluate("image => image.complete && image.naturalWidth > 300")
        assert len(figure.get_attribute("alt")) > 20
    table = page.locator("section[aria-label^='Sentences taken']")
    table.locator("input[type=search]").fill("opera chorus")
    page.wait_for_function("document.body.innerText.includes('(filtered from 202 total entries)')")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")
