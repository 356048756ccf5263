// Sources include this beside what they use.
#pragma once

#include <dmlc/parameter.h>
