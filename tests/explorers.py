"""Explorers without a browser: setting a control's value has the effect of a hand."""

from bs4 import BeautifulSoup

from biaslib.widgets import TopWordsExplorer

MARKUP = "<script>alert(1)</script>"


def top_words(lm, **options):
    return TopWordsExplorer(lm, **({"slots": {"name": "pig"}, "k": 4} | options))


def put(explorer, **values):
    """Set controls as a hand does."""
    for name, value in values.items():
        explorer.controls[name].value = value


def counted(monkeypatch, module, name):
    """Count the calls of a function where a module uses it."""
    calls, real = [], getattr(module, name)

    def count(*given, **options):
        calls.append(given)
        return real(*given, **options)

    monkeypatch.setattr(module, name, count)
    return calls


def page(explorer):
    """Return what a report shows."""
    return BeautifulSoup(explorer._repr_mimebundle_()["text/html"], "html.parser")


def live(explorer):
    """What the live notebook shows beside the controls, as HTML."""
    return "".join(part.value for part in explorer.widget.children[1:])
