// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroSupport

/// A client certificate and its key, which have been read and match each other.
final class ClientIdentity: Sendable {
  /// The largest accepted PEM file, in bytes.
  static let maximumBytes = 1 << 20

  /// The chain as PEM.
  let certificate: [UInt8]
  /// The private key as PEM.
  let key: [UInt8]
  let password: String?
  /// The state of the files before they were read; `nil` for an identity from memory.
  let version: FileVersion?

  /// Reads the files. The call may block.
  init(_ source: TLSOptions.Identity, version: FileVersion?) throws(TransportError) {
    certificate = try Self.text(of: source.certificate, isKey: false)
    key = try source.key.map { pem throws(TransportError) in try Self.text(of: pem, isKey: true) } ?? certificate
    password = source.keyPassword
    self.version = version
    guard isPair else { throw .unusableIdentity }
  }

  func hasSameContent(as other: ClientIdentity) -> Bool {
    certificate == other.certificate && key == other.key && password == other.password
  }

  private static func text(of pem: TLSOptions.PEM, isKey: Bool) throws(TransportError) -> [UInt8] {
    let bytes: [UInt8]
    switch pem {
    case .bytes(let text): bytes = text
    case .file(let path):
      do throws(BoundedFile.Failure) {
        bytes = try BoundedFile.bytes(of: path, upTo: maximumBytes, takesPipes: true)
      } catch {
        throw .unreadableIdentity(path, error)
      }
    }
    guard !bytes.isEmpty else { throw .emptyIdentity(isKey: isKey) }
    return bytes
  }

  /// Whether OpenSSL accepts both. For an encrypted key without a password, OpenSSL would otherwise prompt on the
  /// terminal when libcurl loads it.
  private var isPair: Bool {
    guard let context = clastro_nested_context_new(TLSOptions.Version.v1_2.position, -1) else { return false }
    defer { clastro_nested_context_free(context) }
    return use(in: context)
  }

  /// Sets the identity for the connections of an OpenSSL context.
  func use(in context: UnsafeMutableRawPointer) -> Bool {
    certificate.withUnsafeBytes { certificate in
      key.withUnsafeBytes { key in
        guard let certificateBase = certificate.baseAddress, let keyBase = key.baseAddress else { return false }
        return clastro_nested_context_set_identity(
          context, certificateBase.assumingMemoryBound(to: CChar.self), certificate.count,
          keyBase.assumingMemoryBound(to: CChar.self), key.count, password)
      }
    }
  }
}

extension TLSOptions.Identity {
  /// The paths of the identity's files.
  var paths: [String] {
    [certificate, key].compactMap { pem in if case .file(let path)? = pem { path } else { nil } }
  }

  /// The state of the files; `nil` for an identity from memory, and if a file does not exist. The call may block.
  var version: FileVersion? { paths.isEmpty ? nil : FileVersion(paths) }
}

/// The identities in use, shared by loops and sets of options, because a pipe can be read only once.
final class ClientIdentityCache: Sendable {
  static let shared = ClientIdentityCache()

  private struct Entry {
    weak var identity: ClientIdentity?
  }

  private let entries = Lock([TLSOptions.Identity: Entry]())

  /// Returns the identity that the files currently contain. The call may block.
  func identity(for source: TLSOptions.Identity) throws(TransportError) -> ClientIdentity {
    // Take the version before the files are read, so that a later change is noticed the next time.
    let version = source.version
    if let known = entries.withLock({ $0[source]?.identity }), known.version == version { return known }
    let identity = try ClientIdentity(source, version: version)
    entries.withLock { entries in
      entries = entries.filter { $0.value.identity != nil }
      entries[source] = Entry(identity: identity)
    }
    return identity
  }
}

extension TransportError {
  static let unusableIdentity = invalidTLSOptions(
    "the client certificate or its key cannot be used",
    hint: "give both as PEM, as a pair, and the password of an encrypted key")

  static func unreadableIdentity(_ path: String, _ failure: BoundedFile.Failure) -> TransportError {
    let path = path.onOneLine.cut(to: 120)
    let reason =
      switch failure {
      case .system(let code): "cannot be read: \(SystemError.text(code))"
      case .unfit: "is neither a file nor a pipe"
      case .tooLarge: "exceeds \(ClientIdentity.maximumBytes >> 20) MiB"
      case .silent: "is a pipe that was not written to and closed within a minute"
      }
    return invalidTLSOptions("the client certificate's file \(path) \(reason)", hint: "give a readable PEM file")
  }

  /// Returns the error for an empty part of an identity.
  ///
  /// - Parameter isKey: whether the key is empty, and not the certificate.
  static func emptyIdentity(isKey: Bool) -> TransportError {
    invalidTLSOptions(
      "the client \(isKey ? "certificate's key" : "certificate") is empty",
      hint: "give it as PEM, by its path or its bytes")
  }
}
