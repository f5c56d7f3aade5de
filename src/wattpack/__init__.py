"""wattpack: power- and fragmentation-aware scheduling for GPU datacenters."""

__version__ = "0.1.0"
