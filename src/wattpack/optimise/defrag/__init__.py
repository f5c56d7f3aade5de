"""Defragmentation: which placed tasks should move, in which order, and what that gains."""
