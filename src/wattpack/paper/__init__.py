"""The paper, again: its statements as checks, its tables, and the comparison with the FGD authors' published runs."""
