"""What decides about calls: policies as bundles, the engines that evaluate them, and the checks they must pass."""
