"""How far one can go: the bound, the offline search, and moves of tasks that are placed already."""
