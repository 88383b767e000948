#include "session/service/session_service.h"
