#include "grammar/schema/negation.h"
