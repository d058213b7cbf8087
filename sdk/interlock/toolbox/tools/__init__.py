"""The tools of the toolbox, one module each. Every one of them works through `interlock.toolbox.operations` alone."""
