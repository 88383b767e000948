#include "program/lua/lua_state.h"
