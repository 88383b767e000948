#include "session/rows/packed_ints.h"
