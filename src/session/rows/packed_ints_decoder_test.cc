#include "session/rows/packed_ints_decoder.h"
