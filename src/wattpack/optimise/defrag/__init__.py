"""Defragmentation: which tasks that are placed already should move, in which order, and what that brings."""
