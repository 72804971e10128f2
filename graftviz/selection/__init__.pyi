from .grid import (
    with_plain_test as with_plain_test,
)
from .groups import (
    GroupComparison as GroupComparison,
    GroupProgress as GroupProgress,
    coded_alike as coded_alike,
    compare_groups as compare_groups,
    compare_groups_steps as compare_groups_steps,
    split_groups as split_groups,
)
from .information import (
    extended_bic as extended_bic,
    free_weights as free_weights,
)
from .intervals import (
    EdgeIntervals as EdgeIntervals,
    FoundEdges as FoundEdges,
)
from .path import (
    LamPath as LamPath,
    PathPoint as PathPoint,
    lam_path as lam_path,
    lam_path_steps as lam_path_steps,
)
from .rows import (
    RowsCurve as RowsCurve,
    RowsPoint as RowsPoint,
    RowsRun as RowsRun,
    rows_curve_steps as rows_curve_steps,
)
from .stability import (
    EdgeStability as EdgeStability,
    edge_stability as edge_stability,
    stability_steps as stability_steps,
)
from .subsamples import (
    subsample_rows as subsample_rows,
)
