// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
package import LastroTesting

/// A certificate as PEM files in a temporary directory, which is removed with this object. It is meant for programs,
/// and for options that require paths.
package final class CertificateFiles: Sendable {
  /// The path of the directory. Other users cannot read it.
  package let directory: String

  /// The path of the certificate and its intermediates.
  package var chain: String { directory + "/chain.pem" }
  /// The path of the private key.
  package var privateKey: String { directory + "/key.pem" }
  /// The path of the roots; the file does not exist if none were given.
  package var roots: String { directory + "/roots.pem" }

  /// Writes the files.
  ///
  /// - Parameters:
  ///   - identity: the certificate, its chain and its key.
  ///   - rootsPEM: the PEM text of roots. Default: none.
  /// - Throws: ``CertificateError/cannotWrite(_:)``.
  package init(_ identity: MintedCertificate, rootsPEM: String? = nil) throws(CertificateError) {
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

  /// Writes another text into the directory, replacing an existing file, and returns its path.
  ///
  /// - Throws: ``CertificateError/cannotWrite(_:)``.
  @discardableResult
  package func write(_ text: String, to name: String) throws(CertificateError) -> String {
    let path = directory + "/" + name
    do {
      try Data(text.utf8).write(to: URL(filePath: path))
    } catch {
      throw .cannotWrite("\(path): \(error)")
    }
    return path
  }
}
