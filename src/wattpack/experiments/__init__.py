"""Which runs to do: experiments and their scenarios, executors, the results folder, summaries."""
