#include "program/context/context.h"
