"""Proofs at small sizes: by algebra for identities, by Z3 for what is polynomial with absolute values and maxima."""
