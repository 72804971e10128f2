"""Linear dynamical systems: learning the transition matrix of many time series, row by row.

>>> from graftviz import dynamics
>>> truth = dynamics.random_system(12, density=0.2, seed=1)
>>> series = dynamics.simulate(truth, 2000, seed=1)
>>> result = dynamics.learn(series, dynamics.SparsityInducing(parents=4))
>>> dynamics.coefficient_error(result.system, truth) < 0.2
True
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
