"""The placement rules of schedulers that people run: one file a program, each rule read in the program's source."""
