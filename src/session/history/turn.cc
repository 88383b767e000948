#include "session/history/turn.h"
