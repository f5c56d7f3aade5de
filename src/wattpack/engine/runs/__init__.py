"""Runs: tasks that arrive and leave, and the record of what became of them."""
