"""Models over HTTP: a JSON interface that answers requests in batches, and a page to look at trees."""

from treetext.serve.app import make_app
from treetext.serve.queue import Limits
from treetext.serve.server import serve

__all__ = ["Limits", "make_app", "serve"]
