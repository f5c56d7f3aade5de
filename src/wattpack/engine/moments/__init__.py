"""Runs in time: moments, the queue of waiting tasks, patience, power budgets."""
