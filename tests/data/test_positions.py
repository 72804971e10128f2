"""Positions of variables: files scaled into the player's frame, and refusals."""

from __future__ import annotations

import io

import numpy as np
import pytest

from graftviz import InputError
from graftviz.data.sets.files import read_positions

NAMES = ("a", "b", "c")


def read(text: str) -> np.ndarray:
    return read_positions(io.StringIO(text), NAMES)


def test_positions_fill_the_frame_with_equal_scales():
    places = read("name,x,y\nc,4,1\na,0,0\nother,9,9\nb,2,1\n")
    assert places.min() >= 0
    assert places.max() <= 10_000
    assert not places.flags.writeable
    width = places[2, 0] - places[0, 0]
    assert width > 9_000
    assert np.isclose(places[1, 0] - places[0, 0], width / 2)
    assert np.isclose(places[1, 1] - places[0, 1], width / 4)  # both axes scaled alike, y down
    assert np.allclose((places.min(axis=0) + places.max(axis=0)) / 2, 5_000)


def test_geographic_positions_are_projected():
    places = read("code,name,lon,lat\na,A,0,59\nb,B,10,61\nc,C,0,61\n")
    assert places[1, 1] < places[0, 1]
    east, north = places[1, 0] - places[2, 0], places[0, 1] - places[2, 1]
    assert np.isclose(east / north, 5.0 * np.cos(np.radians(60.0)))


def test_column_of_names_is_detected():
    assert (
        read("x,y,name\n0,0,a\n1,0,b\n2,2,c\n") == read("name,x,y\na,0,0\nb,1,0\nc,2,2\n")
    ).all()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "no column 'x'"),
        ("name,x\na,1\n", "no column 'y'"),
        ("name,x,y\na,1,2\nb,3,4\n", "no position for 'c'"),
        ("name,x,y\na,1,2\n", "no position for 'b' and 1 more"),
        ("name,x,y\na,1,2\na,1,2\n", "Row 3 .* second position for 'a'"),
        ("name,x,y\na,1,west\n", "Row 2 .* no number in column 'y': 'west'"),
        ("name,x,y\na,1\n", "Row 2 .* no number in column 'y': ''"),
        ("name,x,y\na,1,inf\n", "no number"),
        ("name,x,y\na,1,\0\n", "NUL"),
    ],
)
def test_invalid_positions_are_refused(text, sentence):
    with pytest.raises(InputError, match=sentence):
        read(text)


def test_equal_positions_are_centred():
    assert (read("name,x,y\na,1,1\nb,1,1\nc,1,1\n") == 5_000).all()
