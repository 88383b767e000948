#include "session/samples/samples_body.h"
