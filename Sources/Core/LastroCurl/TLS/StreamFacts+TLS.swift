// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

extension StreamFacts.TLS {
  /// Reads the results of a handshake that has ended. Returns `nil` if there are none.
  ///
  /// - Parameters:
  ///   - session: OpenSSL's session.
  ///   - withChain: whether the presented certificates are read, too.
  init?(of session: OpaquePointer, withChain: Bool = true) {
    guard let version = SSL_get_version(session) else { return nil }
    let cipher = SSL_CIPHER_get_name(SSL_get_current_cipher(session))
    var selected: UnsafePointer<UInt8>?
    var length: UInt32 = 0
    SSL_get0_alpn_selected(session, &selected, &length)
    let name = selected.map { String(decoding: UnsafeBufferPointer(start: $0, count: Int(length)), as: UTF8.self) }
    let chain = withChain ? PeerCertificate.all(in: SSL_get_peer_cert_chain(session)) : []
    self.init(
      version: String(cString: version), cipher: cipher.map { String(cString: $0) },
      applicationProtocol: name?.isEmpty == true ? nil : name,
      presentedChain: chain.compactMap(\.self))
  }
}
