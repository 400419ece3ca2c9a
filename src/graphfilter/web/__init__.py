"""Two services on this machine, on one web server: the endpoint of a run, and the studio.

- :mod:`.server`: the socket, who may ask, how much may be sent, how it is read, and the end.

``graphfilter serve`` answers programs:

- :mod:`.endpoint`: the model and its graph, in memory once, predictions for known and new vertices,
  the addresses, the token, and what it takes and gives.

``graphfilter studio`` is a page for a table:

- :mod:`.studio`: the page and its addresses; tables that were sent, how each column was read, the
  graphs they make, and their fits, one after the other, watched, paused and stopped.
"""

from importlib.util import find_spec

from graphfilter.util.errors import ConfigError

if missing := [name for name in ("starlette", "uvicorn") if find_spec(name) is None]:
    raise ConfigError(
        f"serve and studio need packages that are not installed ({', '.join(missing)}): pip "
        "install 'graphfilter[serve]'"
    )
