// For sources one folder below the other operators: their "../operator_common.h" is found from this folder.
#pragma once

#include <tarsia/class_op/src/operator/operator_common.h>
