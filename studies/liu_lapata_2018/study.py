"""The study: its grid and its other measurements."""

from studies.liu_lapata_2018.figures import WANTED, draw_figures, shown_figures
from studies.liu_lapata_2018.grid import GRID
from studies.liu_lapata_2018.shipped import CANDIDATES, ship, shown_shipped
from studies.liu_lapata_2018.speed import RUNS as SPEED_RUNS
from studies.liu_lapata_2018.speed import measure_speed, shown_speed
from studies.liu_lapata_2018.statistics import count, shown_counts
from studies.liu_lapata_2018.trees import (
    DOCUMENT_RUNS,
    SENTENCE_RUN,
    document_trees,
    sentence_trees,
    shown_documents,
    shown_tables,
)
from studies.study import Measure, Study

MEASURES = {
    "statistics": Measure("Data sets", (), count, shown_counts),
    "sentence-trees": Measure(
        "Trees of words: SNLI's test sentences", [SENTENCE_RUN], sentence_trees, shown_tables
    ),
    "document-trees": Measure(
        "Trees of sentences: test documents", list(DOCUMENT_RUNS.values()), document_trees, shown_documents
    ),
    "figures": Measure(
        "Figures", [SENTENCE_RUN, *(DOCUMENT_RUNS[name] for name in WANTED)], draw_figures, shown_figures
    ),
    "snli-speed": Measure(
        "Speed: seconds an instance of SNLI's test set", list(SPEED_RUNS.values()), measure_speed, shown_speed
    ),
    "shipped": Measure(
        "Models that ship", [run for runs in CANDIDATES.values() for run in runs], ship, shown_shipped, again=True
    ),
}  # fmt: skip
STUDY = Study(GRID, MEASURES)
