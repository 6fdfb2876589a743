"""Tickets: a small HTTP service, tools for it, and an agent that may be wrong but says so.

===========  ========================================================================
``store``    the service's tables and transactions (SQLite)
``service``  its HTTP interface (Starlette), and a server on loopback (uvicorn)
``tools``    what an agent may ask for, as tools over HTTP (httpx)
``agent``    from a request in words to a report of what the evidence supports
``writer``   the bundled model, which chooses under a grammar
===========  ========================================================================

``make demo-tools`` runs it. Tested by tests/test_ticket_service.py and test_ticket_agent.py.
"""
