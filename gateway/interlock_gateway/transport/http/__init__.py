"""How the gateway is reached over plain HTTP: answers to webhooks."""
