"""What the live service asks of the engine between two requests."""
