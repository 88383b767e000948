#include "session/models/session_models.h"
