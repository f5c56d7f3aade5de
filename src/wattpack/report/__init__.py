"""How results look: figures, tables in the terminal, one offline HTML page. Reads results; runs nothing."""
