"""A table means the same tomorrow: a column is read as it was written when it was fitted."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from graphfilter.data import make_csbm, read_tables
from graphfilter.runs.plan import SplitBy, choose_split
from graphfilter.tables.dates import parse_moment, parse_times
from graphfilter.tables.encoder import TableEncoder
from graphfilter.tables.formats import frame_table
from graphfilter.util.errors import ConfigError, DataFileError


def fit(cells: Any, **options: Any) -> TableEncoder:
    return TableEncoder.fit(pa.table({"x": cells}), "v.csv", **options)


def read(encoder: TableEncoder, cells: Any) -> tuple[np.ndarray, str]:
    features, notes = encoder.encode(pa.table({"x": cells}), "new.csv")
    dense = features if isinstance(features, np.ndarray) else features.toarray()
    return dense, " ".join(notes)


PERCENT = ["52.1 %", "3 %", "0", "12.5%"]


@pytest.mark.parametrize("cells", [["52.1", "3"], [52.1, 3.0], [True, False]])
def test_per_cent_is_per_cent_tomorrow(cells: list[Any]) -> None:
    encoder = fit(PERCENT)
    np.testing.assert_allclose(read(encoder, PERCENT)[0][:, 0], [0.521, 0.03, 0, 0.125])
    with pytest.raises(DataFileError, match=r"must be in %, as when.*without a per cent sign"):
        read(encoder, cells)


def test_numbers_do_not_become_per_cent_tomorrow() -> None:
    with pytest.raises(DataFileError, match=r"must be in no unit.*got %"):
        read(fit(["52.1", "3", "0"]), ["52.1 %"])
    with pytest.raises(DataFileError, match=r"must be in no unit.*got EUR"):
        read(fit([52.1, 3.0]), ["5 €"])


def test_a_few_cells_in_another_unit_are_missing_and_counted() -> None:
    encoder = fit([f"{i} %" for i in range(100)] + ["12"])
    assert "1 cell is not a number with a per cent sign ('12'): read as missing" in encoder.notes[0]
    values, said = read(encoder, [f"{i} %" for i in range(100)] + ["90"])
    assert values[-1, 1] == 1
    assert values[-1, 0] == np.float32(0.495)
    assert "1 value is missing, 1 of them other words" in said


def test_currencies_are_not_mixed() -> None:
    with pytest.raises(DataFileError, match="'5 USD' is not a number in EUR"):
        fit(["1 €", "2 EUR", "3 €", "5 USD"])
    encoder = fit(["1 €", "2 EUR", "3"])
    np.testing.assert_array_equal(read(encoder, ["7", "8 €"])[0], [[7], [8]])
    with pytest.raises(DataFileError, match=r"must be in EUR.*got GBP"):
        read(encoder, ["7 £"])


def test_brackets_are_closed() -> None:
    np.testing.assert_array_equal(read(fit(["(3.00)", "4"]), ["(5)"])[0], [[-5]])
    for cell in ("(3.00", "3.00)"):
        with pytest.raises(DataFileError, match="is not a number"):
            fit(["1", "2", "3", cell])


@pytest.mark.parametrize(
    ("fitted", "cells", "values"),
    [
        (["1,234.5", "7"], ["1,234", "7"], [1234, 7]),
        (["1,234.5", "7"], ["1,5", "7"], [1.5, 7]),
        (["1.234,5", "7"], ["1.234", "7"], [1234, 7]),
        (["1.234,5", "7"], ["50.5"], [50.5]),
    ],
)
def test_decimal_sign_is_that_of_the_fit(
    fitted: list[str], cells: list[str], values: list[float]
) -> None:
    np.testing.assert_array_equal(read(fit(fitted), cells)[0][:, 0], values)


def weigh(
    cells: list[str], encoder: TableEncoder | None = None
) -> tuple[list[float], TableEncoder]:
    ends = [f"v{i}" for i in range(len(cells) + 1)]
    edges = pa.table({"source": ends[1:], "target": ends[:-1], "weight": cells})
    vertices = pa.table({"id": ends, "x": range(len(ends))})
    graph, found = read_tables(edges, vertices, encoder=encoder)
    assert graph.edge_weights is not None
    return graph.edge_weights.tolist(), found


def test_weights_are_read_as_they_were_written_in_the_fit() -> None:
    weights, encoder = weigh(["1.234,5", "7"])
    assert weights == [1234.5, 7]
    assert weigh(["1.234", "7"])[0] == pytest.approx([1.234, 7])
    assert weigh(["1.234", "7"], TableEncoder.from_dict(encoder.to_dict()))[0] == [1234, 7]
    with pytest.raises(DataFileError, match=r"row 1: column 'weight': '1,234' must have a dec"):
        weigh(["1,234", "1,5"], weigh(["1,234.5"])[1])
    weights, encoder = weigh(["12 %", "50 %"])
    assert weights == pytest.approx([0.12, 0.5])
    with pytest.raises(DataFileError, match="'12' is not a number with a per cent sign"):
        weigh(["12", "50"], encoder)


def test_a_number_of_either_sign_beside_others_of_another_is_refused() -> None:
    with pytest.raises(DataFileError, match=r"'1,234' must have a decimal point"):
        read(fit(["1,234.5", "7"]), ["1,234", "1,5"])


def test_points_between_thousands_are_said() -> None:
    table = pa.table({"a": ["50.100", "7.300"], "b": ["1,5", "2,5"]})
    encoder = TableEncoder.fit(table, "v.csv")
    np.testing.assert_array_equal(encoder.transform(table, "v.csv")[:, 0], [50100, 7300])
    assert "'a' read as numbers with a decimal comma" in encoder.notes[0]
    table = pa.table({"a": ["50.100", "7.5"], "b": ["1,5", "2,5"]})
    encoder = TableEncoder.fit(table, "v.csv")
    np.testing.assert_allclose(encoder.transform(table, "v.csv")[:, 0], [50.1, 7.5], rtol=1e-6)


def test_commas_that_could_be_decimal_are_said() -> None:
    encoder = TableEncoder.fit(pa.table({"a": ["50,100", "7,300"]}), "v.csv")
    assert "'a' read as numbers with commas between thousands" in encoder.notes[0]
    (note,) = TableEncoder.fit(pa.table({"a": ["50,100", "7,300.5"]}), "v.csv").notes
    assert "between" not in note


def test_numbers_far_from_zero_keep_their_digits() -> None:
    x = np.random.default_rng(0).normal(size=100)
    encoder = fit(x + 1e8)
    values, _ = read(encoder, x + 1e8)
    np.testing.assert_allclose(np.ptp(values[:, 0] - x), 0, atol=1e-6)
    (name,) = encoder.feature_names
    origin = float(name.removeprefix("x (above ").removesuffix(")"))
    np.testing.assert_allclose(values[:, 0].astype(float) + origin, x + 1e8, rtol=1e-12)
    assert "above" in fit([*(x + 1e8), 1e16]).feature_names[0]  # One outlier hides no digits.
    assert fit([1993.0, 1998.0, 2001.0]).feature_names == ("x",)
    assert encoder.columns[0].fill == (float(np.median(x + 1e8)),)
    lost = fit([1e15 + i / 8 for i in range(50)] + [1e15 + 1e9 + i for i in range(40)])
    assert "of more digits than float32 has; 40 different ones" not in lost.notes[0]
    assert "more digits than float32 has" in lost.notes[0]


def test_order_of_day_and_month_is_that_of_the_fit() -> None:
    encoder = fit(["03/04/2024", "03/25/2024", "12/31/2024"])
    with pytest.raises(DataFileError, match="all are like %d/%m/%Y"):
        read(encoder, ["03/04/2024"] * 30 + ["25/03/2024"])
    values, said = read(encoder, ["03/04/2024"])
    assert values[0, 0] == 0
    assert "day and month could be swapped; read as %m/%d/%Y, as when" in said
    values, said = read(encoder, ["2024-03-05", "03/25/2024"])
    np.testing.assert_array_equal(values[:, 0], [1, 21])
    assert said == ""


def test_the_order_that_reads_all_cells_wins() -> None:
    cells = [f"{i % 12 + 1:02}/{i % 12 + 1:02}/{2000 + i % 20}" for i in range(1500)]
    encoder = fit([*cells, "25/03/2024"])
    assert encoder.to_dict()["columns"][0]["spelling"] == "%d/%m/%Y"


def test_zones_are_those_of_the_fit() -> None:
    with_zone, without = "2024-07-01T12:00+02:00", "2024-07-01T12:00"
    for fitted, cell in ((with_zone, without), (without, with_zone)):
        encoder = fit([fitted, fitted.replace("12:", "13:")])
        with pytest.raises(DataFileError, match=r"with(out)? a time zone"):
            read(encoder, [cell])
    typed = [datetime(2024, 7, 1, 12 + i, tzinfo=ZoneInfo("Europe/Berlin")) for i in range(2)]
    naive = [value.replace(tzinfo=None) for value in typed]
    for fitted, cells in ((typed, naive), (naive, typed)):
        with pytest.raises(DataFileError, match=r"with(out)? a time zone"):
            read(fit(fitted), cells)


def test_years_of_two_digits_are_not_in_the_future() -> None:
    births = fit([f"01.02.{year}" for year in (45, 50, 62, 68)])
    assert births.feature_names == ("x (days since 1945-02-01)",)
    assert "years of two digits as 19" in births.notes[0]
    recent = fit([f"01.02.{year}" for year in (22, 23, 24)])
    assert recent.feature_names == ("x (days since 2022-02-01)",)
    np.testing.assert_array_equal(read(recent, ["01.02.25"])[0], [[1096]])


def test_what_is_said_of_one_column_alone_is_not_left_out_among_many() -> None:
    table = pa.table({f"x{i}": ["1 €", "2 €"] * 20 for i in range(5)})
    table = table.append_column("y", [["1 %", "oops", *["2 %"] * 38]])
    notes = TableEncoder.fit(table, "v.csv").notes
    begins = ("column 'x0' read as numbers", "4 more columns of this kind", "column 'y' read as")
    assert all(note.startswith(begin) for note, begin in zip(notes[:3], begins, strict=True))
    assert "1 cell is not a number with a per cent sign ('oops')" in notes[2]


def test_times_to_divide_by_are_not_in_the_future_and_say_their_day() -> None:
    column = ["01.02.62", "03.04.69", "05.06.45", "07.08.68"]
    table = frame_table({"born": column}, "v")
    times = parse_times(table.read(["born"]).column("born"), table, "born")
    assert [str(day)[:4] for day in times.as_array()] == ["1962", "1969", "1945", "1968"]
    with pytest.raises(ConfigError, match=r"must be a date like 2024-12-31; got '01\.02\.24'"):
        parse_moment("01.02.24", are_dates=True)
    graph = make_csbm(20, seed=0)
    seconds = np.arange(19_783, 19_803, dtype=np.float64) * 86400  # from 2024-03-01
    assert graph.labels is not None
    split, (note, *_) = choose_split(graph, 0, SplitBy("day", times=seconds))
    assert f"testing on the latest, from 2024-03-{1 + split.test.min():02} on" in note


NUMBER = st.sampled_from(
    ["1", "2.5", "-3", "1,234", "1,234.5", "1.234,5", "12 %", "5 €", "$3", "(4)", "1e3", "0", "",
     "n/a", "oops", "true", "1 000", "07"]
)  # fmt: skip
DATE = st.sampled_from(
    ["2024-03-04", "03/04/2024", "25/12/2024", "12/25/2024", "4.3.24", "2024-03-04T10:00Z",
     "2024-03-04 10:00", "2024-03-04T10:00+02:00", "", "Mar 4, 2024", "soon"]
)  # fmt: skip
WORD = st.sampled_from(["a", "b", "red house", "the red house by the sea", "", "é", "yes", "no"])


@pytest.mark.parametrize("column", [NUMBER, DATE, WORD], ids=["numbers", "dates", "words"])
@given(data=st.data())
def test_a_batch_reads_as_its_rows_read_alone(column: Any, data: st.DataObject) -> None:
    """Unless it is refused as a whole; what is read alone is then an error, or no number."""
    fitted = data.draw(st.lists(column, min_size=1, max_size=30))
    batch = data.draw(st.lists(column, min_size=1, max_size=6))
    try:
        encoder = fit(fitted)
        if not encoder.columns:
            return
        together, _ = read(encoder, batch)
    except DataFileError:
        return
    for i, cell in enumerate(batch):
        try:
            alone, _ = read(encoder, [cell])
        except DataFileError:
            # Few such cells among others are missing.
            gaps = [n for n, name in enumerate(encoder.feature_names) if name.endswith("missing")]
            assert all(together[i, gaps] == 1)
            continue
        np.testing.assert_array_equal(alone[0], together[i])


@given(data=st.data(), column=st.sampled_from([NUMBER, DATE, WORD]))
def test_what_is_fitted_reads_itself_back(data: st.DataObject, column: Any) -> None:
    cells = data.draw(st.lists(column, min_size=1, max_size=40))
    try:
        encoder = fit(cells)
    except DataFileError:
        return
    first, _ = read(encoder, cells)
    again, _ = read(TableEncoder.from_dict(encoder.to_dict()), cells)
    np.testing.assert_array_equal(first, again)
    assert np.isfinite(first).all()
