#include "grammar/schema/negation.h"

#include <gtest/gtest.h>
