"""The same decisions for a live Kubernetes cluster: reading it, the cluster under a policy, the service."""
