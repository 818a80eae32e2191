// SPDX-License-Identifier: Apache-2.0
#pragma once

// The result of decryption: success, a wrong tag, or a failure of libcrypto.
typedef enum { CLASTRO_OPENED, CLASTRO_FORGED, CLASTRO_OPEN_FAILED } clastro_opening;
