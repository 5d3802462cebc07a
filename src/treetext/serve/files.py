"""The files of the web page, with those of `treetext.show` that draw trees."""

from importlib.resources import files

from starlette.responses import Response

OWN = ("page.css", "copies.js", "examples.js", "page.js")
SHOWN = ("trees.css", "trees.js")
KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript"}


def page_files() -> dict[str, Response]:
    """The response for each path."""
    names = {"/": ("serve", "index.html")}
    names |= {f"/static/{name}": ("serve", name) for name in OWN}
    names |= {f"/static/{name}": ("show", name) for name in SHOWN}
    return {path: _file(*name) for path, name in names.items()}


def _file(package: str, name: str) -> Response:
    content = (files(f"treetext.{package}") / "page" / name).read_bytes()
    return Response(content, media_type=KINDS[name.rpartition(".")[2]])
