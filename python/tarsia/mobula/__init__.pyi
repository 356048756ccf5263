# Types of tarsia.mobula, for type checkers and editors.
from . import const as const
from . import func as func
from . import func as function
from . import glue as glue
from . import op as op
from . import op as operator
from . import testing as testing
from . import utils as utils
from .config import config as config

__all__ = ["__version__", "config", "const", "func", "function", "glue", "op", "operator", "testing", "utils"]

__version__: str
