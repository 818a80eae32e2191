// SPDX-License-Identifier: Apache-2.0

import CLastroCrypto

extension PeerCertificate {
  /// Whether it names a host (RFC 6125), the common name counted where there are no alternative names.
  package func isFor(_ host: HostName) -> Bool {
    clastro_certificate_is_for(der, der.count, host.text, host.isIPAddress)
  }
}
