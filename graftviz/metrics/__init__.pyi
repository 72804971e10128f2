from .likelihood import (
    Ncmll as Ncmll,
    hidden_halves as hidden_halves,
    ncmll as ncmll,
    ncmll_by_half as ncmll_by_half,
    nll as nll,
    nlpl as nlpl,
)
from .observer import (
    EdgeMetrics as EdgeMetrics,
    MetricsObserver as MetricsObserver,
    StepMetrics as StepMetrics,
    recall_precision_f1 as recall_precision_f1,
)
