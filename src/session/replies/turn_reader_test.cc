#include "session/replies/turn_reader.h"
