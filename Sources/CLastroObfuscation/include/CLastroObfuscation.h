// SPDX-License-Identifier: Apache-2.0
// What obfs4 and Shadowsocks need of OpenSSL's libcrypto, and the primitives that it has not.
#pragma once

#include "clastro_aead.h"
#include "clastro_curve25519.h"
#include "clastro_key_derivation.h"
#include "clastro_opening.h"
#include "clastro_secretbox.h"
