#include "program/lua/lua_json.h"
