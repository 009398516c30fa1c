"""What tests of pictures share."""

import io


def png(figure):
    """Draws the figure, and so proves that it can be drawn."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=40)
    return file.getvalue()


def texts(axes):
    return [text.get_text() for text in axes.texts]
