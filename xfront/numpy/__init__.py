"""The functions of NumPy on arrays that live on devices and trace into programs."""

from . import fft, linalg
from .contractions import *
from .counting import *
from .creation import *
from .diagonals import *
from .differences import *
from .editing import *
from .einsum import *
from .elementwise import *
from .functional import *
from .manipulation import *
from .padding import *
from .polynomials import *
from .questions import *
from .ranges import *
from .reductions import *
from .running import *
from .searching import *
from .sets import *
from .sorting import *
from .statistics import *
