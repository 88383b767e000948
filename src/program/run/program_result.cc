#include "program/run/program_result.h"
