"""A slow, plain second implementation of runs in time: dicts, lists, ints and fractions, moment by moment.

It is written from the specification of time alone and imports nothing of wattpack. One decision is that of
`reference.py`. It reads no files and checks no input; it checks itself after every moment.
"""
