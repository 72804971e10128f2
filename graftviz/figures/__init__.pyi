from .budget import (
    partition_figure as partition_figure,
    quality_figure as quality_figure,
)
from .data import (
    figure_csv as figure_csv,
)
from .dynamics import (
    prediction_figure as prediction_figure,
)
from .graph import (
    graph_figure as graph_figure,
)
from .inspect import (
    change_figure as change_figure,
    degree_figure as degree_figure,
    edge_figure as edge_figure,
    matrix_figure as matrix_figure,
    node_figure as node_figure,
    norms_figure as norms_figure,
)
from .intervals import (
    intervals_figure as intervals_figure,
)
from .path import (
    path_figure as path_figure,
)
from .race import (
    race_figure as race_figure,
)
from .reservoir import (
    activation_figure as activation_figure,
    rank_figure as rank_figure,
    run_rank_figure as run_rank_figure,
)
from .rows import (
    rows_figure as rows_figure,
)
from .samples import (
    pairs_figure as pairs_figure,
    samples_figure as samples_figure,
)
from .stability import (
    stability_figure as stability_figure,
)
from .style import (
    figure_html as figure_html,
)
