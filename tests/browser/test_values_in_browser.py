"""Reports of numbers and of several labels in a real browser."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphfilter import SGFClassifier, SGFRegressor
from graphfilter.data import make_csbm
from graphfilter.estimators.targets import named_target
from graphfilter.report.page import draw_run
from graphfilter.runs.folder import fit_folder
from graphfilter.runs.loading import REPORT_FILE
from graphfilter.runs.plan import Source, plan_fit
from graphfilter.training import MULTILABEL, REGRESSION

HOSTILE = '</script><script>hacked=1</script><img src=x onerror="hacked=1"><b>'


def make_report(numbers: bool, folder: Path) -> str:
    graph = make_csbm(n_vertices=90, n_features=4, seed=0)
    values = np.asarray(graph.features, dtype=float)[:, : 2 if numbers else 3]
    values[80:] = np.nan
    if numbers:
        estimator = SGFRegressor(max_epochs=20, random_state=0)
        # Two columns are coordinates, so that there is a map.
        graph = graph.replace(feature_names=("lat", "long", "size", "age"))
        target = named_target(REGRESSION, values, [HOSTILE, "rent"])
    else:
        estimator = SGFClassifier(max_epochs=20, random_state=0, n_members=2)
        labels = np.where(np.isnan(values), np.nan, values > 0)
        target = named_target(MULTILABEL, labels, ["lift", HOSTILE, "garden"])
    fit_folder(plan_fit(Source(graph), 0, target=target), estimator, folder, draw=draw_run)
    return (folder / REPORT_FILE).as_uri()


@pytest.mark.parametrize("numbers", [True, False], ids=["numbers", "labels"])
def test_report_of_values_opens_on_any_screen(numbers: bool, visit, tmp_path: Path) -> None:
    url = make_report(numbers, tmp_path)
    report = visit(url)
    for plot in ("filter", "training"):
        assert report.page.locator(f"#{plot}-plot .main-svg").count() > 0, plot
    drawn = [f"scatter-plot-{t}" for t in range(2)]
    drawn += [f"map-{t}-{kind}" for t in range(2) for kind in ("known", "says", "missed")]
    for plot in drawn if numbers else ():
        assert report.page.locator(f"#{plot} .main-svg .point").count() > 0, plot
    assert report.page.locator(".whys details").count() == 5
    report.page.evaluate("document.querySelectorAll('.whys details').forEach(d => d.open = true)")
    report.check_no_sideways_scroll()
    report.check()
    report.check_contrast()
    report.check_structure()
    assert report.page.evaluate("typeof hacked") == "undefined"
    phone = visit(url, width=390, dark=True)
    phone.page.evaluate("document.querySelectorAll('.whys details').forEach(d => d.open = true)")
    phone.check_no_sideways_scroll()
    phone.check_contrast()
