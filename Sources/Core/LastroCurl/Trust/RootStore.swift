// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroSupport

/// Parsed roots. The store is filled before it is shared, and only read afterwards.
final class RootStore: @unchecked Sendable {
  // Sendable because OpenSSL itself locks an X509_STORE that is no longer added to, and `version` is constant.
  let pointer: OpaquePointer
  let version: FileVersion?

  /// Reads the roots that the files currently contain.
  convenience init(_ source: TLSOptions.Roots) throws(TransportError) {
    // Take the version before the files are read, so that a later change is noticed the next time.
    let version = RootFiles.version(of: source)
    let isDirectory = if case .directory = source { true } else { false }
    try self.init(try RootFiles.texts(of: source), version: version, isDirectory: isDirectory)
  }

  /// Creates a store.
  ///
  /// - Parameter texts: PEM texts, one per file.
  private init(_ texts: [[UInt8]], version: FileVersion?, isDirectory: Bool) throws(TransportError) {
    guard let pointer = clastro_roots_new() else { throw .noMemoryForRoots }
    self.pointer = pointer
    self.version = version
    var count: Int32 = 0
    for text in texts {
      let added = text.withUnsafeBytes { buffer -> Int32 in
        guard let base = buffer.baseAddress else { return 0 }
        return clastro_roots_add(pointer, base.assumingMemoryBound(to: CChar.self), buffer.count)
      }
      // Directories may contain other files, too.
      guard added >= 0 || isDirectory else { throw .invalidRoots("the PEM given as roots has a broken certificate") }
      count += max(0, added)
    }
    guard count > 0 else { throw .invalidRoots("the PEM given as roots holds no certificate") }
  }

  deinit { clastro_roots_free(pointer) }
}

/// The stores in use, so that stacks, loops and profiles with the same roots share one.
final class RootStoreCache: Sendable {
  static let shared = RootStoreCache()

  private struct Entry {
    weak var store: RootStore?
  }

  private let entries = Lock([TLSOptions.Roots: Entry]())

  /// Returns the store for the current contents of the files.
  func store(for source: TLSOptions.Roots) throws(TransportError) -> RootStore {
    let version = RootFiles.version(of: source)
    if let store = entries.withLock({ $0[source]?.store }), store.version == version { return store }
    let store = try RootStore(source)
    entries.withLock { entries in
      entries = entries.filter { $0.value.store != nil }
      entries[source] = Entry(store: store)
    }
    return store
  }
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
