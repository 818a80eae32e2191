// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A certificate as PEM files in a temporary directory that goes away with this object: for programs, and for options
/// that take paths.
public final class CertificateFiles: Sendable {
  /// Path of the directory. Other users may not read it.
  public let directory: String

  /// Path of the certificate and the intermediates after it.
  public var chain: String { directory + "/chain.pem" }
  /// Path of the private key.
  public var privateKey: String { directory + "/key.pem" }
  /// Path of the roots; there is no such file when none were given.
  public var roots: String { directory + "/roots.pem" }

  /// Writes the files.
  ///
  /// - Parameters:
  ///   - identity: certificate, chain and key.
  ///   - rootsPEM: PEM text of roots; default none.
  /// - Throws: ``CertificateError/cannotWrite(_:)``.
  public init(_ identity: MintedCertificate, rootsPEM: String? = nil) throws(CertificateError) {
    let folder = FileManager.default.temporaryDirectory.appending(path: "lastro-\(UUID().uuidString)")
    directory = folder.path
    do {
      try FileManager.default.createDirectory(
        at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    } catch {
      throw .cannotWrite("\(directory): \(error)")
    }
    try write(identity.chainPEM, to: "chain.pem")
    try write(identity.privateKeyPEM, to: "key.pem")
    if let rootsPEM { try write(rootsPEM, to: "roots.pem") }
  }

  deinit { try? FileManager.default.removeItem(atPath: directory) }

  /// Writes another text into the directory, over one that is there, and gives its path.
  ///
  /// - Throws: ``CertificateError/cannotWrite(_:)``.
  @discardableResult
  public func write(_ text: String, to name: String) throws(CertificateError) -> String {
    let path = directory + "/" + name
    do {
      try Data(text.utf8).write(to: URL(filePath: path))
    } catch {
      throw .cannotWrite("\(path): \(error)")
    }
    return path
  }
}
