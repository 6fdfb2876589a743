"""Text formats that become grammars, one module each; see ``regex.py`` and its neighbours."""
