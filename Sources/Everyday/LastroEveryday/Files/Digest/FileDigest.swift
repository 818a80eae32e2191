// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro

/// Computes the digest of a file, which it reads piece by piece.
enum FileDigest {
  private static let pieceBytes: Int64 = 4 << 20

  /// - Parameters:
  ///   - length: the number of bytes to digest.
  ///   - read: returns bytes from an offset on, at most `count`.
  /// - Returns: `nil` if the task was cancelled, the file is shorter, or OpenSSL cannot compute the digest.
  static func compute<Failure: Error>(
    _ algorithm: HashAlgorithm, length: Int64, isCancelled: () -> Bool,
    _ read: (_ offset: Int64, _ count: Int) async throws(Failure) -> Data
  ) async throws(Failure) -> MessageDigest? {
    guard let hasher = try? MessageHasher(algorithm) else { return nil }
    var offset: Int64 = 0
    while offset < length {
      if isCancelled() { return nil }
      let bytes = try await read(offset, Int(min(pieceBytes, length - offset)))
      if bytes.isEmpty { return nil }
      hasher.update(bytes)
      offset += Int64(bytes.count)
    }
    return try? hasher.digest()
  }
}

/// Compares a message's content with its `Content-Digest` (RFC 9530 §2).
struct ContentDigestCheck {
  private let digest: Digest
  private let hasher: MessageHasher

  /// Returns `nil` if the field has no usable digest.
  init?(_ field: String?) {
    guard let field, let digest = DigestField.digests(field).first, let hasher = try? MessageHasher(digest.algorithm)
    else { return nil }
    self.digest = digest
    self.hasher = hasher
  }

  func add(_ bytes: Data) { hasher.update(bytes) }

  func check() throws(TransportError) {
    guard let found = try? hasher.digest(), found != digest.value else { return }
    throw TransportError(
      stage: .response, code: .digestMismatch,
      message: "the body has the \(digest.algorithm) digest \(found), and its Content-Digest says \(digest.value)",
      hint: "find what changes bodies between the server and this machine", requestSent: true)
  }
}

extension TransportError {
  static func undigested(_ algorithm: HashAlgorithm, _ path: String, requestSent: Bool = true) -> Self {
    Self(
      stage: requestSent ? .response : .request, code: .fileFailed,
      message: "the \(algorithm) digest of \(path.escapedForDisplay) cannot be computed",
      hint: "let nothing else write to the file, and look at the providers in openssl.cnf",
      requestSent: requestSent)
  }
}
