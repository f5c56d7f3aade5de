"""Engine entry points for the live service."""
