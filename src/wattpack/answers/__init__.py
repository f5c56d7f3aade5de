"""Questions that Python and the command line both ask: what computes the answer, its types, and its text."""
