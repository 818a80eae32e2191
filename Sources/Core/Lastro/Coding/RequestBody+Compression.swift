// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

extension RequestBody {
  /// Returns the body as a coding compresses it: few bytes at once, many bytes, files and streams while they are sent.
  /// It can be sent again if this body can.
  ///
  /// - Parameter maximum: the number of bytes up to which they are compressed at once.
  /// - Returns: the body; `nil` if the bytes do not become fewer.
  func compressed(by coding: ContentCoding, atOnceUpTo maximum: Int) throws(TransportError) -> RequestBody? {
    guard let makeEncoder = coding.makeEncoder else {
      throw .refused(
        .invalidOption, "the content coding \(coding.name) cannot compress requests", hint: "compress them with gzip")
    }
    let source: Source
    switch self.source {
    case .empty: return nil
    case .bytes(let bytes) where bytes.count <= maximum:
      guard let encoder = makeEncoder() else { throw .cannotCompress(coding.name) }
      let compressed = try encoder.encode(bytes, isLast: true)
      guard compressed.count < bytes.count else { return nil }
      source = .bytes(compressed)
    case .bytes(let bytes): source = .compressed({ bytes.blocks }, isReplayable: true, coding.name, makeEncoder)
    case .file(let path, let length):
      let slice = try FileSlice(of: path, offset: 0, length: length, noun: "the body's file")
      guard case .stream(_, let isReplayable, let open) = slice.source else { return nil }
      source = .compressed(open, isReplayable: isReplayable, coding.name, makeEncoder)
    case .stream(_, let isReplayable, let open):
      source = .compressed(open, isReplayable: isReplayable, coding.name, makeEncoder)
    }
    return RequestBody(source: source, contentType: contentType, secrets: secrets, trailers: trailers)
  }
}

extension Data {
  /// The bytes in blocks of the size that a file is read in.
  fileprivate var blocks: RequestBody.NextChunk {
    var rest = self
    return {
      defer { rest = rest.dropFirst(FileSlice.blockBytes) }
      return rest.isEmpty ? nil : rest.prefix(FileSlice.blockBytes)
    }
  }
}

extension RequestBody.Source {
  fileprivate static func compressed(
    _ open: @escaping @Sendable () -> RequestBody.NextChunk, isReplayable: Bool, _ name: String,
    _ makeEncoder: @escaping @Sendable () -> (any ContentEncoding)?
  ) -> Self {
    .stream(length: nil, isReplayable: isReplayable) {
      let next = open()
      var encoder = makeEncoder()
      var hasEnded = false
      return {
        if hasEnded { return nil }
        guard let current = encoder else { throw TransportError.cannotCompress(name) }
        while let chunk = try await next() {
          let bytes = try current.encode(chunk, isLast: false)
          if !bytes.isEmpty { return bytes }
        }
        hasEnded = true
        encoder = nil
        return try current.encode(Data(), isLast: true)
      }
    }
  }
}
