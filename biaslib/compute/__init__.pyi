from .cluster import connected as connected
from .cluster import each_result as each_result
from .cluster import per_worker as per_worker
from .cluster import worker_model as worker_model
from .shards import ShardRun as ShardRun
from .shards import read_shards as read_shards
from .shards import run_shards as run_shards
