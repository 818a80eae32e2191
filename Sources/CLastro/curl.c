#include "CLastro.h"
