#include "program/lua/lua_tables.h"
