"""The policy `ocs`, our best one. `policy.py` has the formula; the other files have its prices and statistics."""
