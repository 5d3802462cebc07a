"""Do models find the trees that texts were generated with, when they are trained on labels alone?"""
