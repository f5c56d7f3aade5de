"""Watts of your own GPUs: measured on this machine, or fitted to what a Prometheus has recorded."""
