// SPDX-License-Identifier: Apache-2.0
// C shims for libcrypto and zlib: message digests, reading of certificates, the ciphers and key exchange of obfs4 and
// Shadowsocks, raw deflate, and decompression of content codings. No policy is decided here.
#pragma once

#include "clastro_aead.h"
#include "clastro_certificate.h"
#include "clastro_curve25519.h"
#include "clastro_digest.h"
#include "clastro_key_derivation.h"
#include "clastro_opening.h"
#include "clastro_secretbox.h"
#include "clastro_zlib.h"
