"""A reproduction of the tables and figures of Liu and Lapata, Learning Structured Text Representations, TACL 2018."""
