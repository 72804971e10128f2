from .communities import (
    Communities as Communities,
    find_communities as find_communities,
)
from .difference import (
    ModelDifference as ModelDifference,
    compare_models as compare_models,
    marginal_distances as marginal_distances,
)
from .facts import (
    Change as Change,
    changes_by_size as changes_by_size,
    degree_counts as degree_counts,
    degree_ranks as degree_ranks,
    deviation_from_independence as deviation_from_independence,
    entropies as entropies,
    mutual_informations as mutual_informations,
    strongest_partners as strongest_partners,
    total_variations as total_variations,
)
from .picture import (
    GraphPicture as GraphPicture,
    difference_picture as difference_picture,
    graph_picture as graph_picture,
)
