#include "program/trace/pass_log.h"
