"""The demonstration: a gateway and the toolbox as processes of their own, and an agent that tries things."""
