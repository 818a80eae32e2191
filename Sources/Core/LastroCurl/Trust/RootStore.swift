// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

/// Parsed roots. The store is filled before it is shared, and only read afterwards, except as described for
/// `shows_roots_to_curl` in `clastro_connection_rules`. It may be sent to other threads, because OpenSSL itself locks an
/// `X509_STORE` that is no longer added to, and `version` is constant.
final class RootStore: @unchecked Sendable {
  private static let inUse = FileContents<TLSOptions.Roots, RootStore>()

  let pointer: OpaquePointer
  let version: FileVersion?

  /// Returns a store with the roots that the files currently contain. Its users share it. The call may block.
  static func shared(_ source: TLSOptions.Roots) throws(TransportError) -> RootStore {
    try inUse.content(of: source, source.version) { () throws(TransportError) in try RootStore(source) }
  }

  /// Reads the roots that the files currently contain. The call may block.
  init(_ source: TLSOptions.Roots) throws(TransportError) {
    // Before the files are read, so that a later change is noticed the next time.
    version = source.version
    let texts = try RootFiles.texts(of: source)
    guard let pointer = X509_STORE_new() else { throw .noMemoryForRoots }
    self.pointer = pointer
    // Like libcurl by default, accept a chain that ends at a trusted intermediate.
    X509_STORE_set_flags(pointer, UInt(X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST))
    let isDirectory = if case .directory = source { true } else { false }
    var count: Int32 = 0
    for text in texts {
      let added = clastro_roots_add(pointer, text, text.count)
      // Directories may contain other files, too.
      guard added >= 0 || isDirectory else { throw .invalidRoots("the PEM given as roots has a broken certificate") }
      count += max(0, added)
    }
    guard count > 0 else { throw .invalidRoots("the PEM given as roots holds no certificate") }
  }

  deinit { X509_STORE_free(pointer) }
}

extension TransportError {
  static let noSystemRoots = invalidRoots(
    "this machine has no file of trusted roots", hint: "install the package ca-certificates, or set SSL_CERT_FILE")
  static let noMemoryForRoots = invalidRoots("out of memory for trusted roots", hint: memoryHint)

  static func invalidRoots(
    _ message: String, hint: String = "give readable PEM with at least one BEGIN CERTIFICATE block"
  ) -> TransportError {
    TransportError(
      stage: .tls, code: .invalidTLSConfiguration, message: message,
      hint: hint)
  }
}
