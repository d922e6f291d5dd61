"""Tables, figures and notices of a report."""

import html
import io

import pandas as pd

from biaslib.plots.style import DPI, figure_style

# A cell with text from right to left (Arabic) runs and begins on that side.
_EITHER_DIRECTION = "function(cell) { cell.dir = 'auto'; cell.style.textAlign = 'start'; }"


def show(figure, alt):
    """Give a figure as an image for the report, and close it.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    alt : str
        What the figure shows, for readers who can't see it.

    Returns
    -------
    IPython.display.Image
        A PNG; `alt` is its alternative text and in its own metadata.

    Raises
    ------
    ValueError
        If `alt` is empty.
    """
    from IPython.display import Image
    from matplotlib import pyplot

    if not isinstance(alt, str) or not alt.strip():
        raise ValueError("alt is empty: say in a sentence what the figure shows")
    png = io.BytesIO()
    with figure_style():
        figure.savefig(png, format="png", dpi=DPI, metadata={"Description": alt, "Software": None})
    pyplot.close(figure)
    return Image(data=png.getvalue(), format="png", alt=alt)


def table(frame, caption):
    """Give a frame as a table that can be searched and sorted without a network, with all its rows.

    Parameters
    ----------
    frame : pandas.DataFrame
    caption : str

    Returns
    -------
    IPython.display.HTML
        Needs `use_tables` once in the notebook.

    Raises
    ------
    ValueError
        If the caption is empty.
    """
    from IPython.display import HTML
    from itables import JavascriptFunction, to_html_datatable

    if not isinstance(caption, str) or not caption.strip():
        raise ValueError("caption is empty: say what the table holds")
    heading = f'<p class="table-caption"><strong>{html.escape(caption)}</strong></p>'
    if frame.empty:
        return HTML(f"{heading}<p>No row.</p>")
    is_number = [pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes]
    with pd.option_context("display.float_format", "{:.4g}".format):
        drawn = to_html_datatable(
            frame,
            classes="display compact",
            columnDefs=[
                {"className": "dt-right", "targets": [n for n, number in enumerate(is_number) if number]},
                {
                    "className": "dt-left",
                    "targets": [n for n, number in enumerate(is_number) if not number],
                    "createdCell": JavascriptFunction(_EITHER_DIRECTION),
                },
            ],
            pageLength=15,
            lengthMenu=[15, 50, 200, {"value": -1, "label": "all"}],
            connected=False,
            maxBytes=0,
            maxRows=0,
            maxColumns=0,
            showIndex=False,
            allow_html=False,
            display_logo_when_loading=False,
        )
    return HTML(f'<section aria-label="{html.escape(caption)}">{heading}{drawn}</section>')


def notice(described):
    """Say which of a run's models are for trying out only.

    Parameters
    ----------
    described : list of dict
        From `biaslib.scoring.open_models`: what ``describe()`` returns.

    Returns
    -------
    IPython.display.Markdown
        Empty if there is none.
    """
    from IPython.display import Markdown

    trial = [model["name"] for model in described if model["for_trying_out"]]
    if not trial:
        return Markdown("")
    return Markdown(
        f"> **For trying out, not for findings.** The model `{trial[0]}` is a BERT of two layers that was trained for "
        "an hour, mostly on old novels. It shows how the measure works; it says nothing about models that people use."
    )


def use_tables():
    """Make `table` work in this notebook and in its HTML, offline; plain frames stay as they are."""
    from itables import init_notebook_mode

    init_notebook_mode(all_interactive=False, connected=False)
