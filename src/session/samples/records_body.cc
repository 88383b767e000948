#include "session/samples/records_body.h"
