/*
 * model_headers.c: the first bytes of both models. In a file of their own, compiled without link-time
 * optimization: what stands here is replaced after linking, so no compiler may take it for the truth.
 */
#include "model.h"

__attribute__((section(".model.header"), used)) const model_header model_installed = {
    MODEL_MAGIC, MODEL_VERSION, 0, 0, 0
};
__attribute__((section(".received"), used)) const model_header model_received = { 0, 0, 0, 0, 0 };
