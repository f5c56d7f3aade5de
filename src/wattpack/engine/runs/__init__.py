"""Runs: tasks that arrive and leave, and the record of their placements."""
