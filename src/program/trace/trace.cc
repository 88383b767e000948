#include "program/trace/trace.h"
