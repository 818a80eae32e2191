// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// The trusted roots of a partition, in the form that costs a handshake least: a single file, which libcurl parses once
/// and caches (only without a CA directory), or our own parsed store. Roots from memory through libcurl's option would
/// be parsed at every handshake: 15 ms each.
final class TrustedRoots {
  private(set) var file: String?
  private(set) var store: OpaquePointer?

  init(_ roots: TLSOptions.Roots) throws(TransportError) {
    switch roots {
    case .system: file = Self.systemFile
    case .file(let path): file = path
    case .pem(let bytes):
      store = bytes.withUnsafeBytes { buffer in
        buffer.baseAddress.flatMap { clastro_roots_parse($0.assumingMemoryBound(to: CChar.self), buffer.count) }
      }
      guard store != nil else {
        throw TransportError(
          stage: .tls, code: .invalidTLSConfiguration, message: "the PEM given as roots holds no certificate",
          hint: "it must have at least one BEGIN CERTIFICATE block")
      }
    }
  }

  deinit {
    if let store { clastro_roots_free(store) }
  }

  func apply(to easy: EasyHandle) {
    easy.set(CURLOPT_CAPATH, pointer: nil)
    if let file { easy.set(CURLOPT_CAINFO, file) } else { easy.set(CURLOPT_CAINFO, pointer: nil) }
    // An https proxy is judged by the same roots; libcurl would take those it was built with.
    easy.set(CURLOPT_PROXY_CAPATH, pointer: nil)
    if let file { easy.set(CURLOPT_PROXY_CAINFO, file) } else { easy.set(CURLOPT_PROXY_CAINFO, pointer: nil) }
  }

  /// The system's bundle: `SSL_CERT_FILE`, else the first of the distributions' usual places.
  static let systemFile: String? = {
    var candidates = [
      "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
      "/etc/ssl/cert.pem",
    ]
    if let configured = getenv("SSL_CERT_FILE") { candidates.insert(String(cString: configured), at: 0) }
    return candidates.first { access($0, R_OK) == 0 }
  }()
}
