// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
internal import LastroWire

extension ResourceResponse {
  /// Whether a server refused the request only because its DPoP proof lacks the server's nonce (RFC 9449 §9).
  package var demandsProofNonce: Bool {
    status == .unauthorized
      && AuthenticationChallenge.challenges(in: head.headerFields).contains { $0["error"] == "use_dpop_nonce" }
  }
}
