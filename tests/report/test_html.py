"""Reports: what the page says, and what is refused before it is written."""

import base64

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from biaslib.report import ReportError, check_report, render, to_html, to_mathml

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def display(data, **metadata):
    return new_output("display_data", data=data, metadata=metadata)


def write(folder, *cells, **metadata):
    cells = [new_markdown_cell(cell) if isinstance(cell, str) else cell for cell in cells]
    path = folder / "paper.ipynb"
    nbformat.write(new_notebook(cells=cells, metadata=metadata), path)
    return path


def page_of(folder, *cells, **how):
    return BeautifulSoup(render(write(folder, *cells), **how), "html.parser")


def code(*outputs, source="show()", **metadata):
    return new_code_cell(source, outputs=list(outputs), metadata=metadata)


def text_of(page, selector="main"):
    return " ".join(page.select_one(selector).get_text().split())


def test_page_has_title_language_and_folded_code(tmp_path):
    page = page_of(tmp_path, "# Bias *in* models & $x_1$", code(source="print(1)"))
    assert page.title.string == "Bias in models & x1"
    assert page.html["lang"] == "en"
    assert "width=device-width" in page.find("meta", attrs={"name": "viewport"})["content"]
    assert "print(1)" in page.select_one("details.code:not([open])").get_text()
    assert page.find(id="contents") is None
    assert page_of(tmp_path, "no heading").title.string == "paper"
    assert page_of(tmp_path, "# First", title="Given <b>").title.string == "Given <b>"


def test_parameter_cells_are_labelled(tmp_path):
    page = page_of(tmp_path, code(tags=["parameters"]), code(tags=["injected-parameters"]), code())
    labels = [summary.get_text().strip() for summary in page.select("details.code summary")]
    assert labels == ["Parameters by default", "Parameters of this run", "Code"]


def test_contents_list_second_and_third_headings_with_working_links(tmp_path):
    page = page_of(tmp_path, "# T\n\n## Same\n\n### Same\n\n## A $x^2$ & `b`\n\n```\n## not one\n```", "## Same<br>")
    links = page.select("nav#contents a")
    assert [link.get_text() for link in links] == ["Same", "Same", "A x2 & b", "Same"]
    targets = [link["href"][1:] for link in links]
    assert len(set(targets)) == 4
    assert all(page.find(id=target).name in ("h2", "h3") for target in targets)


def test_formulas_become_mathml_and_the_rest_stays_text(tmp_path):
    page = page_of(
        tmp_path,
        r"It costs \$5, or $5 and $6. Code `$c_1$`, formula $a_1*b*c_2$, *then* $p < q$.",
        "```\n$$fenced$$\n```\n\n    $indented$\n",
        "$$\\bar{p}(w) =\n\\frac{1}{n}\\sum_i p_i$$",
        "| a | b |\n|---|---|\n| $P(a \\mid b)$ | 2 |",
        "\\begin{equation}e = mc^2\\end{equation}",
        code(display({"text/latex": "$\\displaystyle y_1$", "text/plain": "y"})),
        code(display({"text/markdown": "and $z_1$", "text/plain": "z"})),
    )
    assert len(page.find_all("math")) == 7
    assert text_of(page).startswith("It costs $5, or $5 and $6. Code $c_1$, formula a1*b*c2, then p<q.")
    assert [c.get_text().strip() for c in page.select(".jp-MarkdownOutput code")] == [
        "$c_1$",
        "$$fenced$$",
        "$indented$",
    ]
    assert len(page.select("math[display=block]")) == 2
    assert page.select_one("td math") is not None


@pytest.mark.parametrize(
    "latex",
    [
        r"\foo{x}",
        r"\begin{aligned}a&=b\\c&=d\end{aligned}",
        r"\text{a\_b}",
        r"\frac{1}",
        "x^",
        "{",
        "}",
        "a & b",
        "",
        r"\left( x",
    ],
)
def test_formulas_that_cannot_be_drawn_are_named(latex):
    with pytest.raises(ReportError, match="the formula") as caught:
        to_mathml(latex)
    assert " ".join(latex.split()) in str(caught.value)


@pytest.mark.parametrize(
    "latex",
    [
        r"r(w) = \ln\frac{\bar p_{\text{object}}(w)}{\bar p_{\text{human}}(w)}",
        r"\mathrm{TMR}(i,j)=\frac{|S_i\cap S_j|}{\min(|S_i|,|S_j|)}",
        r"\mathbf{1}[p > q] - 100\% \cdot \sqrt[3]{x_1^2}",
        r"\begin{cases}1 & x \le 0\\0 & \text{else}\end{cases}",
        r"\sum_{i=1}^{n}\alpha_i\,\ell_i \ne \{a, b\} \ \ \vec{v}",
        r"\hat{\theta} \approx \operatorname{mean}_{w \in A}\cos(\vec w, \vec a)",
    ],
)
def test_formulas_of_the_papers_are_drawn(latex):
    assert to_mathml(latex, display="block").startswith('<math display="block">')


def test_a_bad_formula_stops_the_page_but_not_that_of_a_failed_run(tmp_path):
    path = write(tmp_path, r"# T" + "\n\n" + r"$\foo x$")
    with pytest.raises(ReportError, match=r"paper\.ipynb: the formula \$.foo x\$"):
        to_html(path, tmp_path / "page.html")
    with pytest.raises(ReportError, match="foo"):
        check_report(nbformat.read(path, as_version=4), path)
    assert not (tmp_path / "page.html").exists()
    page = BeautifulSoup(render(path, failed="ValueError: <no>"), "html.parser")
    assert r"\foo x" in text_of(page)
    assert text_of(page, "#failed").startswith("FAILED")
    assert "ValueError: <no>" in text_of(page, "#failed")


@pytest.mark.parametrize(
    "markup",
    [
        '<script src="https://cdn.example/x.js"></script>',
        '<script type="module">import {a} from "https://cdn.example/x.js"</script>',
        "<script>import('https://cdn.example/x.js')</script>",
        '<link rel="stylesheet" href="//cdn.example/x.css">',
        '<img src="http://cdn.example/x.png" alt="x">',
        '<img src="data:," srcset="https://cdn.example/x.png 2x" alt="x">',
        '<iframe src="https://cdn.example/"></iframe>',
        '<p style="background: url(https://cdn.example/x.png)">x</p>',
        "<style>@import 'https://cdn.example/x.css';</style>",
        '<svg><image href="https://cdn.example/x.png"/></svg>',
    ],
)
def test_anything_from_a_network_is_refused_before_writing(tmp_path, markup):
    path = write(tmp_path, "# T", code(display({"text/html": markup})))
    with pytest.raises(ReportError, match=r"cdn\.example"):
        to_html(path, tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == [path]
    check_report(nbformat.read(path, as_version=4), path)
    assert "FAILED" in render(path, failed="x")


def test_links_to_read_are_no_requests(tmp_path):
    page = page_of(tmp_path, "See [the paper](https://example.org/x) and <https://example.org>.")
    assert len(page.select("main a[href^=https]")) == 2


def test_pictures_are_embedded_with_alternative_text(tmp_path):
    png = {"image/png": PIXEL, "text/plain": "<Figure>"}
    page = page_of(
        tmp_path,
        "## Results",
        code(display(png, **{"image/png": {"alt": 'One "quoted"', "width": 7}})),
        code(display(png, alt="Two")),
        code(display(png), alt="Three"),
        code(display(png), source="#| fig-alt: Four: a line\nplot()"),
        code(display({"image/svg+xml": "<svg xmlns='http://www.w3.org/2000/svg'/>"}, alt="Five")),
        code(display({"image/jpeg": "AAAA"})),
    )
    pictures = page.find_all("img")
    assert [picture["alt"] for picture in pictures] == [
        'One "quoted"',
        "Two",
        "Three",
        "Four: a line",
        "Five",
        "Figure in the section Results, without a description",
    ]
    assert pictures[0]["width"] == "7"
    assert all(picture["src"].startswith("data:image/") for picture in pictures)


def test_local_pictures_are_embedded_and_missing_ones_named(tmp_path):
    (tmp_path / "pixel.png").write_bytes(base64.b64decode(PIXEL))
    assert page_of(tmp_path, "![A pixel](pixel.png)").img["src"].startswith("data:image/png;base64,")
    with pytest.raises(ReportError, match=r"absent\.png"):
        page_of(tmp_path, "![x](absent.png)")
    with pytest.raises(ReportError, match="missing attachment"):
        page_of(tmp_path, "![x](attachment:gone.png)")


def test_progress_bars_and_widgets_leave_nothing(tmp_path):
    bar = " 10%|█         | 1/10 [00:00<00:01,  8.1it/s]"
    widget = {
        "application/vnd.jupyter.widget-view+json": {"model_id": "a"},
        "text/plain": "HBox(children=())",
    }
    page = page_of(
        tmp_path,
        code(
            new_output("stream", name="stderr", text=f"\r{bar}\r{bar}\n"),
            new_output("stream", name="stderr", text=f"careful\n{bar}\n"),
            display(widget),
        ),
    )
    assert "10%" not in text_of(page)
    assert "HBox" not in text_of(page)
    assert [text.get_text().strip() for text in page.select("details.messages pre")] == ["careful"]


def test_a_widget_leaves_the_html_that_it_brings(tmp_path):
    widget = {
        "application/vnd.jupyter.widget-view+json": {"model_id": "a"},
        "text/html": f'<img src="data:image/png;base64,{PIXEL}" alt="Bars"><p>Its table &lt;script&gt;</p>',
        "text/plain": "<Explorer>",
    }
    path = write(tmp_path, "# T", code(display(widget)))
    page = BeautifulSoup(render(path), "html.parser")
    assert page.img["alt"] == "Bars" and "Its table <script>" in text_of(page)
    assert "<Explorer>" not in text_of(page) and "widget-view" not in render(path)
    assert "application/vnd.jupyter.widget-view+json" in nbformat.read(path, 4).cells[1].outputs[0].data


def test_widget_state_mathjax_and_loaders_are_not_in_the_page(tmp_path):
    state = {"application/vnd.jupyter.widget-state+json": {"state": {}}}
    path = write(tmp_path, "# T", code(display({"application/javascript": "element.id"})), widgets=state)
    page = render(path)
    for word in ("MathJax", "require.min.js", "widget-state", "unpkg", "cdnjs", "jsdelivr"):
        assert word not in page
    assert nbformat.read(path, 4).metadata.widgets == state
    assert page == render(path)


def test_page_is_moved_into_place(tmp_path):
    path = write(tmp_path, "# T")
    assert to_html(path, tmp_path / "page.html") == tmp_path / "page.html"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["page.html", "paper.ipynb"]
    assert (tmp_path / "page.html").stat().st_mode & 0o444 == 0o444
