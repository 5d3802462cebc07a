"""The paper's tables, run anew: training, measuring, and the page of results."""

from treetext.reproduce._measures import MEASURES, take
from treetext.reproduce._page import page
from treetext.reproduce._plan import SOURCES, TABLES, Run, Source, Table
from treetext.reproduce._runs import Places, do, recipe_of, result_of

__all__ = [
    "MEASURES",
    "SOURCES",
    "TABLES",
    "Places",
    "Run",
    "Source",
    "Table",
    "do",
    "page",
    "recipe_of",
    "result_of",
    "take",
]
