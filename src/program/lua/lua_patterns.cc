#include "program/lua/lua_patterns.h"
