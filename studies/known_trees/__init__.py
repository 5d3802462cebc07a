"""Known trees: do models that are trained on labels alone recover the trees that texts were generated from?"""
