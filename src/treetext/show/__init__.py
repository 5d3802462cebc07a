"""Trees and results for human eyes: in the terminal, as SVG, for GraphViz, and as a report in HTML."""

from treetext.show._documents import Document
from treetext.show._dot import to_dot
from treetext.show._report import report, report_page
from treetext.show._svg import arcs_svg, document_svg, heat_map, sentence_arcs, sentence_svg
from treetext.show._terminal import draw, draw_parsed, head_shares

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
