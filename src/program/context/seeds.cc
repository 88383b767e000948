#include "program/context/seeds.h"
