"""Puts the gateway, as a sidecar, into pods that ask for it (K8S-1). Pure but for `files`: no Kubernetes client."""
