"""The configuration LP, a bound that no policy can beat, and an offline search that checks how tight it is."""
