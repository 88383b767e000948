#include "session/replies/blob_scanner.h"
