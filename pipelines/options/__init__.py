"""The options of each command: a frozen dataclass, the only list of them."""

from pipelines.options.fields import options_to_save as options_to_save
from pipelines.options.models import BenchmarkOptions as BenchmarkOptions
from pipelines.options.models import DataOptions as DataOptions
from pipelines.options.models import EvaluateOptions as EvaluateOptions
from pipelines.options.models import InfoOptions as InfoOptions
from pipelines.options.models import PredictOptions as PredictOptions
from pipelines.options.models import VerifyOptions as VerifyOptions
from pipelines.options.recipes import ClassifyOptions as ClassifyOptions
from pipelines.options.recipes import FineTuneOptions as FineTuneOptions
from pipelines.options.recipes import PretrainOptions as PretrainOptions
from pipelines.options.recipes import RunOptions as RunOptions
from pipelines.options.recipes import TagOptions as TagOptions
