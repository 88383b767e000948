#include "program/lua/lua_sandbox.h"
