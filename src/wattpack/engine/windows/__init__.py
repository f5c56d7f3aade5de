"""Batch windows: tasks that are held and placed together."""
