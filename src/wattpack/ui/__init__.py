"""A page to look at: `wattpack ui` serves it on this machine. It asks; runs are runs of the command line."""
