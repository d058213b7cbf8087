"""The engine `opa`: an OPA server decides, over its REST API (ENG-1, ENG-3)."""
