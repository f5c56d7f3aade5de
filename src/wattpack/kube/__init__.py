"""The same decisions for a live Kubernetes cluster: what is read of it, the cluster under a policy, the service."""
