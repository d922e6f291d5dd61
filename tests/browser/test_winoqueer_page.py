import pytest

pytestmark = pytest.mark.browser


def test_the_demo_report_opens_offline_with_figures_and_search(demo_run, open_page):
    page = open_page(demo_run("winoqueer").html)
    figures = page.locator("main img")
    assert figures.count() >= 1
    for figure in figures.all():
        assert figure.evaluate("image => image.complete && image.naturalWidth > 300")
        assert len(figure.get_attribute("alt")) > 20
    table = page.locator("section[aria-label^='Sentence pairs']")
    table.locator("input[type=search]").fill("zie is very loyal")
    page.wait_for_function("document.body.innerText.includes('(filtered from 5,452 total entries)')")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")
