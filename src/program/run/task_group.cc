#include "program/run/task_group.h"
