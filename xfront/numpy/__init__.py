from .elementwise import *
from .questions import *
from .creation import *
from .ranges import *
