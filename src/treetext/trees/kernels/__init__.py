"""Private to `treetext.trees`: numba kernels for the CPU, and tensor operations for other devices.

From the bottom up:

| module | content |
|---|---|
| `compile` | the one decorator of all kernels |
| `threads` | runs kernels on the threads of torch |
| `lanes` | eight float64 numbers as one value (SIMD) |
| `exponential` | exp, for lanes and for floats |
| `workspaces` | memory for eight small problems side by side, one large problem, or one problem in logarithms |
| `products` | matrix products and normalisation in a workspace |
| `weights` | copies scores into a workspace as weights, and marginals out of it |
| `inverse` | non-projective marginals by the inverse of the Laplacian |
| `leave_one_out` | non-projective marginals by elimination, without subtraction |
| `shares` | divides the problems of a batch among threads |
| `nonprojective_torch` | non-projective marginals on other devices |
| `items` | the items of projective trees and the rules that combine them |
| `inside_outside` | projective marginals |
| `inside_outside_torch` | projective marginals on other devices |
| `eisner` | the best projective tree, and samples of projective trees |
| `spanning` | the best non-projective tree |
| `sampling` | samples of non-projective trees |
| `margin` | the score of the best tree minus that of the second best |
"""
