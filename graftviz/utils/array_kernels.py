"""Exponentials of arrays, a kernel that several rooms share."""

from __future__ import annotations

import math

import numpy as np

from graftviz.utils.compiling import inner_kernel

_LEAST_EXPONENT = -700.0  # exp of less is negligible in a total of at least 1
_ROUNDER = 1.5 * 2.0**52
_LOG_2_HIGH = 0.6931471803691238  # ln 2 without its last bits, so that k times it is exact
_LOG_2_LOW = 1.9082149292705877e-10  # ln 2 − _LOG_2_HIGH


@inner_kernel
def exponentiate(values, bits, count):
    """Replace ``values[:count]``, all ≤ 0, by their exponentials.

    Written as a polynomial, which the compiler can vectorise, unlike calls to the math library.
    """
    floats = bits.view(np.float64)
    for m in range(count):
        # Adding 1.5 · 2^52 leaves the nearest whole number k in the lowest bits of the float.
        floats[m] = max(values[m], _LEAST_EXPONENT) / math.log(2.0) + _ROUNDER
    for m in range(count):
        x = max(values[m], _LEAST_EXPONENT)
        k = floats[m] - _ROUNDER
        r = x - k * _LOG_2_HIGH - k * _LOG_2_LOW
        value = 1.0 / 39916800.0
        value = value * r + 1.0 / 3628800.0
        value = value * r + 1.0 / 362880.0
        value = value * r + 1.0 / 40320.0
        value = value * r + 1.0 / 5040.0
        value = value * r + 1.0 / 720.0
        value = value * r + 1.0 / 120.0
        value = value * r + 1.0 / 24.0
        value = value * r + 1.0 / 6.0
        value = value * r + 0.5
        value = value * r + 1.0
        value = value * r + 1.0
        bits[m] = (bits[m] + 1023) << 52  # the float 2^k: k moved into the exponent
        values[m] = value * floats[m]
