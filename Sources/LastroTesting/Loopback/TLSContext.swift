// SPDX-License-Identifier: Apache-2.0

import CLoopback

/// An `SSL_CTX` of the server side.
final class TLSContext: @unchecked Sendable {
  // Unchecked because an SSL_CTX is only read after its set-up, and OpenSSL counts its references atomically.
  let pointer: OpaquePointer

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
    let made = alpn.withUnsafeBufferPointer { alpn in
      var settings = cloopback_tls_options(
        chain_pem: strings.copy(options.identity.chainPEM),
        key_pem: strings.copy(options.identity.privateKeyPEM),
        client_authorities_pem: options.clientAuthoritiesPEM.map(strings.copy),
        minimum_version: Int32(options.minimumVersion.rawValue),
        maximum_version: Int32(options.maximumVersion.rawValue),
        alpn: alpn.baseAddress,
        alpn_length: alpn.count,
        allows_resumption: options.allowsResumption)
      return cloopback_tls_context_new(&settings, problem.buffer)
    }
    guard let made else { throw .invalidTLS(problem.text) }
    pointer = made
  }

  deinit { cloopback_tls_context_free(pointer) }
}
