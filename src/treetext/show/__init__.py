"""Trees and results for human eyes: in the terminal, as SVG, for GraphViz, in Markdown, and as a report in HTML."""

from treetext.show.documents import Document
from treetext.show.dot import to_dot
from treetext.show.reports import report, report_page
from treetext.show.scores import CALIBRATION, points, score_tables, scored_texts
from treetext.show.svg import arcs_svg, document_svg, heat_map, sentence_arcs, sentence_svg
from treetext.show.tables import Bounds, Published, Table, agreement_tables, analysis_tables
from treetext.show.terminal import draw, draw_parsed, draw_tables, head_shares

__all__ = [
    "CALIBRATION",
    "Bounds",
    "Document",
    "Published",
    "Table",
    "agreement_tables",
    "analysis_tables",
    "arcs_svg",
    "document_svg",
    "draw",
    "draw_parsed",
    "draw_tables",
    "head_shares",
    "heat_map",
    "points",
    "report",
    "report_page",
    "score_tables",
    "scored_texts",
    "sentence_arcs",
    "sentence_svg",
    "to_dot",
]
