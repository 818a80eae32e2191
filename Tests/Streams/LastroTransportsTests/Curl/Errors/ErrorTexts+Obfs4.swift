// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Lastro
@testable import LastroTunnels

extension ErrorTexts {
  static func obfs4() throws -> Self {
    var texts = Self()
    let certificate = String(repeating: "A", count: 70)
    let nodeID = String(repeating: "0", count: 40)
    for text in [
      "x", "obfs4:a/b:1?cert=C", "obfs4:a:1?cert=C&x=y", "bridge meek a:1 cert=C", "bridge obfs4", "obfs4 a:1 x cert=C",
      "obfs4:a:1?cert=C&cert=C", "obfs4:a:70000?cert=C", "obfs4:a b:1?cert=C", "obfs4:a?cert=C",
      "obfs4:a:1?cert=C&iat-mode=3", "obfs4:a:1", "obfs4:a:1?cert=C&node-id=N", "obfs4:a:1?cert=",
      "obfs4:a:1?cert=AAAA",
      "obfs4:a:1?cert=A A", "obfs4:a:1?cert=A-A", "obfs4:a:1?cert=A!A", "obfs4:a:1?node-id=N", "obfs4:a:1?node-id=00",
    ] {
      texts.provoke({
        try WispServer(text.replacing("C", with: certificate).replacing("N", with: nodeID))
      })
    }
    let server = try WispServer(host: "bridge.example", port: 443, certificate: Secret(certificate))
    var unix = DialRequest(host: "a", port: 1, connection: ConnectionOptions())
    unix.connection?.unixSocketPath = "/run/a"
    texts.provoke(
      { try WispServer(host: "1::2::3", port: 1, certificate: Secret(certificate)) },
      { try WispCertificate.identity(of: [1]) }, { try server.request(for: unix, within: nil) },
      { throw TransportError.wispSilence(within: .seconds(10)) }, { throw TransportError.wispClosed() })
    for failure in [Obfs4Failure.noMark, .wrongMAC, .wrongAuthentication, .zeroSharedSecret, .cryptoUnavailable] {
      texts.provoke({ throw failure.dialing })
    }
    for failure in [Obfs4Failure.truncated, .wrongFrame, .counterExhausted, .cryptoUnavailable] {
      texts.provoke({ throw failure.carrying })
    }
    return texts
  }
}
