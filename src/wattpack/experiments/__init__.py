"""Which runs to DO: scenarios, where they run, the results folder, and what is read from it."""
