"""How tools are reached: one port, and the processes behind it."""
