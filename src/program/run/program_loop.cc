#include "program/run/program_loop.h"
