"""What a command makes once per process, made before processes are forked that would all make it.

Nothing here trains: a process that is forked off one that has trained on a GPU cannot.
"""

from __future__ import annotations

from functools import cache

import typer.main
from matplotlib.figure import Figure

from graphfilter.cli.app import app
from graphfilter.report.html import make_environment
from graphfilter.report.pictures import draw_png

typer.main.get_command = cache(typer.main.get_command)
typer.main.get_command(app)
for name in make_environment().list_templates(["j2"]):
    make_environment().get_template(name)
figure = Figure(layout="constrained")
figure.subplots().set_title("fonts")
draw_png(figure)
