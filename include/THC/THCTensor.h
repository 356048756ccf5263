/* A part of THC/THC.h. */
#include <THC/THC.h>
