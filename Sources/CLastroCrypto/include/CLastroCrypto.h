// SPDX-License-Identifier: Apache-2.0
// What Lastro itself needs of OpenSSL's libcrypto: message digests, and the reading of certificates.
#pragma once

#include "clastro_certificate.h"
#include "clastro_digest.h"
