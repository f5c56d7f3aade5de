"""GPUs by resource claims (dynamic resource allocation, resource.k8s.io): what slices offer, what claims ask and hold.

Pure functions and tables: no clock, no network, no engine.
"""
