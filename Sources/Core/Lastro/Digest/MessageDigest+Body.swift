// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

extension MessageDigest {
  /// Reads a body and returns its SHA-256; `nil` for a stream that can be read only once. A file is read in blocks on
  /// the concurrent pool. A stream that can be reopened is opened once more for the hash, and must end.
  ///
  /// - Throws: an error with code `invalid_body` if a file cannot be read, or if a file or stream does not have its
  ///   declared length; `CancellationError`; `HashingError`; the errors of the stream.
  @concurrent
  package static func computed(of body: RequestBody) async throws -> MessageDigest? {
    let hasher = try MessageHasher()
    switch body.source {
    case .empty: break
    case .bytes(let data): hasher.update(data)
    case .file(let path, let length):
      let size = try FileSlice.size(of: path, "the body's file")
      guard size == length else {
        throw TransportError.refused(
          .invalidBody, "the body's file has \(size) bytes, and had \(length) when the body was made",
          hint: "do not change a file while it is sent")
      }
      return try await computed(of: .file(path: path, length: length))
    case .stream(_, false, _): return nil
    case .stream(let length, true, let open): try await hash(open(), length, into: hasher)
    }
    return try hasher.digest()
  }

  private static func hash(_ next: RequestBody.NextChunk, _ length: Int64?, into hasher: MessageHasher) async throws {
    var total: Int64 = 0
    while let chunk = try await next() {
      try Task.checkCancellation()
      hasher.update(chunk)
      total += Int64(chunk.count)
      // The source may never suspend: let other tasks use the thread between chunks.
      await Task.yield()
      // Stops at the declared length, so that an endless stream is detected.
      if let length, total > length { break }
    }
    guard length == nil || total == length else {
      throw TransportError.refused(
        .invalidBody, "the body's stream does not yield the \(length ?? 0) bytes that were announced for it",
        hint: "pass the length only where it is known")
    }
  }
}
