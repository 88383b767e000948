#include "program/context/context_table.h"
