"""Nodes of a live cluster that go to sleep and wake: the rule of `simulate --sleep`, carried out on machines."""
