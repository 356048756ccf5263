// Expressions whose elements come from other places of their operands.
#pragma once

#include <mshadow/extension/broadcast.h>
#include <mshadow/extension/image.h>
#include <mshadow/extension/index.h>
#include <mshadow/extension/patch.h>
#include <mshadow/extension/reduce.h>
#include <mshadow/extension/reshape.h>
#include <mshadow/extension/sequence.h>
#include <mshadow/extension/slice.h>
