"""How well the default recipes do on files of all sizes, beside linear models."""
