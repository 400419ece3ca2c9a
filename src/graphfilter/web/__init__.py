"""The endpoint of a run: an HTTP server on this machine that scores vertices, JSON in and out.

- :mod:`.scorer`: the model and its graph, in memory once: predictions for known and new vertices;
- :mod:`.asked`: what a request asks for, read from its JSON and checked;
- :mod:`.columns`: the features of new vertices, as the model takes them;
- :mod:`.limits`: how much may be asked, and the errors that a request can cause;
- :mod:`.app`: the addresses;
- :mod:`.openapi`, :mod:`.page`: their description, for programs and for people;
- :mod:`.endpoint`: the socket, the token, the end.
"""
