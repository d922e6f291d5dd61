import pytest


@pytest.fixture
def texts():
    """Give all texts of a figure, as drawn."""

    def texts_of(figure):
        figure.draw_without_rendering()
        return [artist.get_text() for artist in figure.findobj(lambda artist: hasattr(artist, "get_text"))]

    return texts_of
