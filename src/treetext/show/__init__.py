"""Trees and results for human eyes: in the terminal, as SVG, for GraphViz, and as a report in HTML."""

from treetext.show.documents import Document
from treetext.show.dot import to_dot
from treetext.show.reports import report, report_page
from treetext.show.svg import arcs_svg, document_svg, heat_map, sentence_arcs, sentence_svg
from treetext.show.terminal import draw, draw_parsed, head_shares

__all__ = [
    "Document",
    "arcs_svg",
    "document_svg",
    "draw",
    "draw_parsed",
    "head_shares",
    "heat_map",
    "report",
    "report_page",
    "sentence_arcs",
    "sentence_svg",
    "to_dot",
]
