// SPDX-License-Identifier: Apache-2.0

import CLoopback
import Lastro

/// A server-side `SSL_CTX`, and the fault of its handshakes.
final class TLSContext: @unchecked Sendable {
  // Unchecked because an SSL_CTX is only read after its setup, and OpenSSL counts its references atomically.
  let pointer: OpaquePointer
  let fault: LoopbackTLS.HandshakeFault?

  init(_ options: LoopbackTLS) throws(LoopbackError) {
    let strings = CStrings()
    let problem = ErrorText()
    var alpn: [UInt8] = []
    for name in options.applicationProtocols {
      let bytes = Array(name.utf8)
      guard (1...255).contains(bytes.count) else { throw .invalidTLS("the protocol name \"\(name)\" is unusable") }
      alpn.append(UInt8(bytes.count))
      alpn += bytes
    }
    let names = options.identitiesByName.keys.sorted()
    let named = names.compactMap { options.identitiesByName[$0] }
    let staple = options.ocspResponse ?? []
    let made = alpn.withUnsafeBufferPointer { alpn in
      staple.withUnsafeBufferPointer { staple in
        var settings = cloopback_tls_options(
          chain_pem: strings.copy(options.identity.chainPEM),
          key_pem: strings.copy(options.identity.privateKeyPEM),
          client_authorities_pem: options.clientAuthoritiesPEM.map(strings.copy),
          minimum_version: options.minimumVersion.position,
          maximum_version: options.maximumVersion.position,
          alpn: alpn.baseAddress,
          alpn_length: alpn.count,
          allows_resumption: options.allowsResumption,
          staple: staple.baseAddress,
          staple_length: staple.count,
          names: strings.copy(names),
          name_chains_pem: strings.copy(named.map(\.chainPEM)),
          name_keys_pem: strings.copy(named.map(\.privateKeyPEM)),
          name_count: names.count)
        return cloopback_tls_context_new(&settings, problem.buffer)
      }
    }
    guard let made else { throw .invalidTLS(problem.text) }
    pointer = made
    fault = options.handshakeFault
  }

  /// Allows sessions of another context to be resumed with this one.
  func takeOverSessions(of other: TLSContext) throws(LoopbackError) {
    guard cloopback_tls_context_share_tickets(other.pointer, pointer) else {
      throw .invalidTLS("the keys of its session tickets cannot be taken over")
    }
  }

  deinit { cloopback_tls_context_free(pointer) }
}
