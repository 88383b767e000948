#include "session/history/turn_path.h"
