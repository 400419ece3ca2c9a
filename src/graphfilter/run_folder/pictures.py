"""``filter.png`` and ``channels.png``: the responses of what was learned."""

from __future__ import annotations

from os import PathLike

from graphfilter.estimators import filter_view
from graphfilter.fits import ChannelMetrics, Fit
from graphfilter.models import ChannelNetwork
from graphfilter.operators import Channels
from graphfilter.report import Conclusion


def draw_filter_picture(fit: Fit, conclusion: Conclusion, path: str | PathLike[str]) -> None:
    """Draw the response at the start and learned, with the frequencies of what is predicted.

    Nothing is drawn for a network without a filter.
    """
    if not fit.estimator.filters_:
        return
    from graphfilter.report import draw_filter, save_figure

    found = conclusion.found
    view = filter_view(
        fit.estimator,
        fit.plan.frequency,
        title=f"{fit.graph.name}: the learned filter",
        corner=f"{found.part} {found.yardstick.name} {found.yardstick.write(found.ours.value)}",
    )
    save_figure(draw_filter(view), path)


def draw_channel_picture(
    fit: Fit, channels: list[ChannelMetrics], path: str | PathLike[str]
) -> None:
    """Draw the response of every channel; nothing without any."""
    estimator = fit.estimator
    members = [m for m in estimator.members_ if isinstance(m, ChannelNetwork)]
    operator = estimator.prepared_.operator(estimator.system_.operator) if members else None
    if not isinstance(operator, Channels):
        return
    from graphfilter.report import draw_channels, save_figure

    shares = {channel["name"]: channel["share"] for channel in channels}
    filters = {name: [m.learned_filters()[name] for m in members] for name in shares}
    lowest = {name: operator.part(name).interval[0] for name in shares}
    title = f"{fit.graph.name}: the filter of each edge type, and its share in the prediction"
    save_figure(draw_channels(filters, shares, lowest, title), path)
