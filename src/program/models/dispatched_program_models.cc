#include "program/models/dispatched_program_models.h"
