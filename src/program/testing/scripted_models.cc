#include "program/testing/scripted_models.h"
