"""Liu and Lapata, Learning Structured Text Representations, TACL 2018: its tables and figures, run anew."""
