#pragma once
#include "ws_dialect.h"
void gemm(void) {}
