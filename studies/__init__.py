"""Studies: grids of runs that reproduce a paper or answer a question, their results, and the page of results."""
