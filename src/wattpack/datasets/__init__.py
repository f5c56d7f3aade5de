"""Where inputs COME FROM: the built-in Alibaba 2023 tables, CSV readers, the workload of a run."""
