#include "session/samples/mismatch.h"
