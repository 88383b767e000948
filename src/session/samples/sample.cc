#include "session/samples/sample.h"
