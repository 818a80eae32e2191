// SPDX-License-Identifier: Apache-2.0
#pragma once

// What became of bytes that were to be opened: the tag may be wrong, or libcrypto may fail.
typedef enum { CLASTRO_OPENED, CLASTRO_FORGED, CLASTRO_OPEN_FAILED } clastro_opening;
