// printf is NVRTC's own. The names below are only declared, for signatures of functions that never run here.
#pragma once
typedef struct _IO_FILE FILE;
#define EOF (-1)
