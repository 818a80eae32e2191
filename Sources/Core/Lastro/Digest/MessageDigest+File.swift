// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import LastroSupport

extension MessageDigest {
  /// Computes the SHA-256 hash (FIPS 180-4) of a file, or of a slice of one, with OpenSSL's `EVP_Digest` functions.
  ///
  /// ```swift
  /// let whole = try await MessageDigest(ofFile: "/srv/backup.tar")
  /// let part = try await MessageDigest(ofFile: "/srv/backup.tar", offset: 16 << 20, length: 16 << 20)
  /// ```
  ///
  /// The file is read on a thread of its own, in blocks of at most 128 KiB. Cancelling the task ends the call at once,
  /// and the reading after the current block.
  ///
  /// The length is determined when the call begins: bytes that are appended later are not part of the digest. A body of
  /// the whole file that is made after that has them, so give the same `length` to the digest and to the body if the
  /// file may grow. Bytes that are changed in place are not noticed.
  ///
  /// - Parameters:
  ///   - path: the path of a regular file.
  ///   - offset: the first byte of the slice, from 0. Default 0.
  ///   - length: the number of bytes of the slice, which may be 0. Default `nil`: all bytes up to the file's present
  ///     end.
  /// - Throws: ``TransportError`` of stage `request`, code `invalid_body`, if the file does not exist, is not a regular
  ///   file or cannot be read, if `offset` or `length` is negative, if the slice goes beyond the end of the file, or if
  ///   the file becomes shorter than that while it is read; ``ConfigurationError`` if OpenSSL has no SHA-256 or no
  ///   memory; `CancellationError`.
  public init(ofFile path: String, offset: Int64 = 0, length: Int64? = nil) async throws {
    let answer = OneAnswer<Result<MessageDigest, any Error>>()
    let work = { @Sendable in
      answer.give(Result { try Self.computed(ofFile: path, offset, length) { answer.isGiven } })
    }
    self = try await withTaskCancellationHandler {
      // If no thread can be created, read here: that is slow, but correct.
      if DetachedThread.start(work) != 0 { work() }
      return try await answer.value().get()
    } onCancel: {
      answer.give(.failure(CancellationError()))
    }
  }

  /// Reads and hashes on the current thread. If `isGivenUp` returns true, the digest is that of the bytes so far.
  private static func computed(
    ofFile path: String, _ offset: Int64, _ length: Int64?, isGivenUp: () -> Bool
  ) throws -> MessageDigest {
    let slice = try FileSlice(of: path, offset: offset, length: length, noun: "the file")
    let reader = try FileSlice.Reader(slice)
    do {
      let hasher = try MessageHasher()
      while !isGivenUp(), let block = try reader.next() { hasher.update(block) }
      return try hasher.digest()
    } catch let error as HashingError {
      throw error.error
    }
  }
}
