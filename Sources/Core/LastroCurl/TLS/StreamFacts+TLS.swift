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
    var version: UnsafePointer<CChar>?
    var cipher: UnsafePointer<CChar>?
    var protocolName: UnsafePointer<UInt8>?
    let length = clastro_read_tls_agreement(session, &version, &cipher, &protocolName)
    guard let version else { return nil }
    let name = protocolName.map { String(decoding: UnsafeBufferPointer(start: $0, count: length), as: UTF8.self) }
    var chain: [PeerCertificate] = []
    if withChain { Self.readPresented(by: session, into: &chain) }
    self.init(
      version: String(cString: version), cipher: cipher.map { String(cString: $0) },
      applicationProtocol: name?.isEmpty == true ? nil : name, presentedChain: chain)
  }

  private static func readPresented(by session: OpaquePointer, into chain: inout [PeerCertificate]) {
    withUnsafeMutablePointer(to: &chain) { chain in
      clastro_each_presented(session, chain) { chain, certificate in
        guard let one = PeerCertificate(certificate.pointee) else { return }
        chain.assumingMemoryBound(to: [PeerCertificate].self).pointee.append(one)
      }
    }
  }
}
