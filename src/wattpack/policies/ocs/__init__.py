"""The policy `ocs`, our own best. `policy.py` has the formula, the other files its prices and what they rest on."""
