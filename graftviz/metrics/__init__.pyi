from .likelihood import (
    Ncmll as Ncmll,
    hidden_halves as hidden_halves,
    ncmll as ncmll,
    nll as nll,
)
from .observer import (
    EdgeMetrics as EdgeMetrics,
    MetricsObserver as MetricsObserver,
    StepMetrics as StepMetrics,
    negative_log_pseudo_likelihood as negative_log_pseudo_likelihood,
    recall_precision_f1 as recall_precision_f1,
)
