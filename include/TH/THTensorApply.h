/* A part of TH/TH.h. */
#include <TH/TH.h>
