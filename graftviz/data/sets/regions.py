"""Regions of the USDA plants data set, with approximate coordinates."""

from __future__ import annotations

from typing import NamedTuple


class Region(NamedTuple):
    """State, province or territory, with the approximate coordinates of its centre in degrees."""

    name: str
    longitude: float
    latitude: float


# Regions by code, in the order of the columns.
REGIONS = {
    "ab": Region("Alberta", -115.0, 55.0),
    "ak": Region("Alaska", -152.7, 64.5),
    "al": Region("Alabama", -86.8, 32.8),
    "ar": Region("Arkansas", -92.4, 34.9),
    "az": Region("Arizona", -111.7, 34.3),
    "bc": Region("British Columbia", -125.0, 54.5),
    "ca": Region("California", -119.6, 37.3),
    "co": Region("Colorado", -105.5, 39.0),
    "ct": Region("Connecticut", -72.7, 41.6),
    "dc": Region("District of Columbia", -77.0, 38.9),
    "de": Region("Delaware", -75.5, 39.0),
    "dengl": Region("Greenland", -42.0, 70.0),
    "fl": Region("Florida", -82.5, 28.6),
    "fraspm": Region("St. Pierre and Miquelon", -56.3, 46.9),
    "ga": Region("Georgia", -83.4, 32.6),
    "hi": Region("Hawaii", -155.5, 19.6),
    "ia": Region("Iowa", -93.5, 42.1),
    "id": Region("Idaho", -114.7, 44.4),
    "il": Region("Illinois", -89.2, 40.1),
    "in": Region("Indiana", -86.3, 39.9),
    "ks": Region("Kansas", -98.4, 38.5),
    "ky": Region("Kentucky", -85.3, 37.5),
    "la": Region("Louisiana", -92.0, 31.1),
    "lb": Region("Labrador", -61.5, 54.0),
    "ma": Region("Massachusetts", -71.8, 42.3),
    "mb": Region("Manitoba", -97.5, 55.0),
    "md": Region("Maryland", -76.8, 39.0),
    "me": Region("Maine", -69.2, 45.4),
    "mi": Region("Michigan", -84.6, 43.5),
    "mn": Region("Minnesota", -94.3, 46.3),
    "mo": Region("Missouri", -92.5, 38.4),
    "ms": Region("Mississippi", -89.7, 32.8),
    "mt": Region("Montana", -109.6, 47.0),
    "nb": Region("New Brunswick", -66.3, 46.6),
    "nc": Region("North Carolina", -79.4, 35.5),
    "nd": Region("North Dakota", -100.5, 47.4),
    "ne": Region("Nebraska", -99.8, 41.5),
    "nf": Region("Newfoundland", -56.0, 48.7),
    "nh": Region("New Hampshire", -71.6, 43.7),
    "nj": Region("New Jersey", -74.7, 40.2),
    "nm": Region("New Mexico", -106.1, 34.4),
    "ns": Region("Nova Scotia", -63.2, 45.1),
    "nt": Region("Northwest Territories", -119.0, 64.5),
    "nu": Region("Nunavut", -91.0, 66.0),
    "nv": Region("Nevada", -116.7, 39.4),
    "ny": Region("New York", -75.5, 42.9),
    "oh": Region("Ohio", -82.8, 40.3),
    "ok": Region("Oklahoma", -97.5, 35.6),
    "on": Region("Ontario", -86.0, 50.5),
    "or": Region("Oregon", -120.6, 43.9),
    "pa": Region("Pennsylvania", -77.8, 40.9),
    "pe": Region("Prince Edward Island", -63.3, 46.4),
    "pr": Region("Puerto Rico", -66.5, 18.2),
    "qc": Region("Québec", -72.0, 53.0),
    "ri": Region("Rhode Island", -71.6, 41.7),
    "sc": Region("South Carolina", -80.9, 33.9),
    "sd": Region("South Dakota", -100.2, 44.4),
    "sk": Region("Saskatchewan", -106.0, 54.5),
    "tn": Region("Tennessee", -86.3, 35.8),
    "tx": Region("Texas", -99.3, 31.5),
    "ut": Region("Utah", -111.7, 39.3),
    "va": Region("Virginia", -78.9, 37.5),
    "vi": Region("Virgin Islands", -64.8, 17.7),
    "vt": Region("Vermont", -72.7, 44.1),
    "wa": Region("Washington", -120.4, 47.4),
    "wi": Region("Wisconsin", -90.0, 44.6),
    "wv": Region("West Virginia", -80.6, 38.6),
    "wy": Region("Wyoming", -107.6, 43.0),
    "yt": Region("Yukon", -135.5, 63.5),
}
