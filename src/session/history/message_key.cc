#include "session/history/message_key.h"
