"""Tuning: which policy expression suits a datacenter and a trace, and how sure that is."""
