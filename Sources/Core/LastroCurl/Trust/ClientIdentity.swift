// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroSupport

/// A client certificate and its key, which have been read and match each other.
final class ClientIdentity: Sendable {
  /// The largest accepted PEM file, in bytes.
  static let maximumBytes = 1 << 20
  private static let inUse = FileContents<TLSOptions.Identity, ClientIdentity>()

  /// The chain as PEM.
  let certificate: [UInt8]
  /// The private key as PEM.
  let key: [UInt8]
  let password: String?
  /// The state of the files before they were read, or of the rotating identity; `nil` for a fixed one from memory.
  let version: FileVersion?
  /// The client's own certificate, which is the first of the chain.
  let leaf: PeerCertificate
  /// The end of its validity.
  let expiry: CertificateExpiry?

  /// Returns the identity that the files currently contain. Its users share it. The call may block.
  static func shared(_ source: TLSOptions.Identity) throws(TransportError) -> ClientIdentity {
    // Read before the identity, which may be replaced meanwhile.
    let revision = source.rotation?.revision
    let identity = try inUse.content(of: source, source.version) { () throws(TransportError) in
      try ClientIdentity(source)
    }
    if let revision { source.rotation?.store(usable: identity, of: revision) }
    return identity
  }

  /// Returns the latest usable identity of a rotating source, whichever connections it was read for.
  static func lastUsable(of source: TLSOptions.Identity) -> ClientIdentity? {
    source.rotation?.usable as? ClientIdentity
  }

  /// Reads the files. The call may block.
  private init(_ source: TLSOptions.Identity) throws(TransportError) {
    version = source.version
    let source = source.current
    certificate = try Self.text(of: source.certificate, isKey: false)
    key = try source.key.map { pem throws(TransportError) in try Self.text(of: pem, isKey: true) } ?? certificate
    password = source.keyPassword
    guard let leaf = Self.leaf(certificate, key, password) else { throw .unusableIdentity }
    self.leaf = leaf
    expiry = leaf.facts.map(CertificateExpiry.init)
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

  /// Returns the first certificate of the chain if OpenSSL accepts the chain and the key. For an encrypted key without a
  /// password, OpenSSL would otherwise prompt on the terminal when libcurl loads it.
  private static func leaf(_ certificate: [UInt8], _ key: [UInt8], _ password: String?) -> PeerCertificate? {
    guard let context = SSL_CTX_new(TLS_client_method()) else { return nil }
    defer { SSL_CTX_free(context) }
    guard clastro_context_set_identity(context, certificate, certificate.count, key, key.count, password) else {
      return nil
    }
    return SSL_CTX_get0_certificate(context).flatMap { PeerCertificate($0) }
  }

  /// Sets the identity for the connections of an OpenSSL context.
  func use(in context: OpaquePointer) -> Bool {
    clastro_context_set_identity(context, certificate, certificate.count, key, key.count, password)
  }
}

extension TLSOptions.Identity {
  /// The paths of the identity's files.
  var paths: [String] {
    [certificate, key].compactMap { pem in if case .file(let path)? = pem { path } else { nil } }
  }

  /// The state of the files, or of a rotating identity; `nil` for a fixed one from memory, and if a file does not
  /// exist. The call may block.
  var version: FileVersion? {
    // Read before the identity, so that a later replacement is noticed the next time.
    let revision = rotation?.revision
    let paths = paths
    return paths.isEmpty && revision == nil ? nil : FileVersion(paths, revision: revision)
  }
}

extension TransportError {
  static let unusableIdentity = invalidTLSOptions(
    "the client certificate or its key cannot be used",
    hint: "give both as PEM, as a pair, and the password of an encrypted key")

  static func unreadableIdentity(_ path: String, _ failure: BoundedFile.Failure) -> TransportError {
    invalidTLSOptions(
      "the client certificate's file \(path.onOneLine.cut(to: 120)) \(failure.text)",
      hint: "give a readable PEM file")
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
