"""One file a command: it parses options, calls the rooms below and prints. Commands do not import each other."""
