"""Policy `auto`: choose an expression for a fleet, workload, power profile and regime by simulating a portfolio."""
