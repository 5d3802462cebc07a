"""Models over HTTP: a JSON API that answers requests in batches, and a web page that shows trees."""

from treetext.serve.app import make_app
from treetext.serve.queue import Limits
from treetext.serve.server import serve

__all__ = ["Limits", "make_app", "serve"]
