from .creation import *
from .elementwise import *
from .manipulation import *
from .questions import *
from .ranges import *
from .searching import *
from .reductions import *
from .running import *
