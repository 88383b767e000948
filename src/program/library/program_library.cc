#include "program/library/program_library.h"
