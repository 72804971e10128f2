from .exact import (
    joint_probabilities as joint_probabilities,
    joint_states as joint_states,
    sample_exact as sample_exact,
)
from .gibbs import (
    Sample as Sample,
    sample_gibbs as sample_gibbs,
)
from .graphs import (
    Graph as Graph,
    graph_from_edges as graph_from_edges,
    grid_graph as grid_graph,
    karate_graph as karate_graph,
    les_miserables_graph as les_miserables_graph,
    random_graph as random_graph,
    scale_free_graph as scale_free_graph,
    square_side as square_side,
)
from .ising import (
    ising_grid as ising_grid,
    ising_model as ising_model,
)
from .mixing import (
    MixingDiagnostic as MixingDiagnostic,
)
from .noise import (
    add_noise as add_noise,
)
from .potentials import (
    random_model as random_model,
)
