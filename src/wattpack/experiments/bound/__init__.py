"""The bound beside policies: its curve over load, at each policy's own service, kept in the results folder."""
