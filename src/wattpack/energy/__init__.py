"""What a run in time costs: energy, carbon, money."""
