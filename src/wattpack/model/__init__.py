"""What things ARE: nodes, tasks, the target workload, fit, power, fragmentation. No files, clock or random numbers."""
