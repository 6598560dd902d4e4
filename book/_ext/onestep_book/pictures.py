"""The pictures of the chapters with 256 colours, which a drawing does not exceed: a third of the bytes."""

from pathlib import Path

from PIL import Image
from sphinx.application import Sphinx

COLOURS = 256


def connect(app: Sphinx) -> None:
    app.connect("build-finished", cut_colours)


def cut_colours(app: Sphinx, exception: Exception | None) -> None:
    """Rewrite every picture that has more; those of a page that was not read again have been cut before."""
    if exception is None and app.builder.format == "html":
        for path in (Path(app.outdir) / app.builder.imagedir).glob("*.png"):
            rewrite(path)


def rewrite(path: Path) -> None:
    with Image.open(path) as picture:
        if picture.mode == "P":
            return
        full = picture.convert("RGBA")
    full.quantize(COLOURS, method=Image.Quantize.FASTOCTREE).save(path, optimize=True)
