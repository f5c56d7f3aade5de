"""Power switches: what turns a machine off and on. `switch.py` is the contract, `registry.py` the table of them."""
