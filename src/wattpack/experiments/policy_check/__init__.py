"""The check of a policy of your own before its first run."""
