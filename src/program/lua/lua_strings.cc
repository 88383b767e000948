#include "program/lua/lua_strings.h"
