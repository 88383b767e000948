#include "program/rows/program_rows.h"
