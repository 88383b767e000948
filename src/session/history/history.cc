#include "session/history/history.h"
