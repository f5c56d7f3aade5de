"""The decision in six steps and the state it changes."""
