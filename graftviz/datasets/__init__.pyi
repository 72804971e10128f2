from .dataset import (
    DataSet as DataSet,
    noise_level as noise_level,
    positions_from_names as positions_from_names,
    suggest_lam as suggest_lam,
)
from .generated import (
    GENERATED as GENERATED,
    Generated as Generated,
    generated as generated,
    is_generated as is_generated,
)
from .positions import (
    read_positions as read_positions,
)
from .public import (
    public_names as public_names,
    public_reader as public_reader,
    read_public as read_public,
)
from .registry import (
    dataset_keys as dataset_keys,
    dataset_title as dataset_title,
    load_dataset as load_dataset,
    model_path as model_path,
)
from .truth import (
    read_truth as read_truth,
    truth_csv as truth_csv,
)
