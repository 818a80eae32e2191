// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// One sending of a form: opens one segment at a time, and gives its bytes. For one task at a time.
final class FormSending {
  /// Most bytes in memory for the sake of a file, or of bytes that are sent piece by piece.
  static let chunkBytes = 64 * 1024

  private var segments: ArraySlice<RequestBody.Source>
  private var current: RequestBody.NextChunk?
  /// What the segment announced and has not given; `nil` where it announced nothing.
  private var owed: Int64?

  init(_ segments: [RequestBody.Source]) { self.segments = segments[...] }

  /// The next piece; `nil` at the end.
  func next() async throws -> Data? {
    while true {
      guard let current else {
        guard try open() else { return nil }
        continue
      }
      guard let chunk = try await current() else {
        try end()
        continue
      }
      guard !chunk.isEmpty else { continue }
      try take(chunk.count)
      return chunk
    }
  }

  private func take(_ count: Int) throws(TransportError) {
    guard let owed else { return }
    guard Int64(count) <= owed else {
      throw .refused(
        .invalidBody, "a part of the form gives more bytes than it announced",
        hint: "announce the true length, or none")
    }
    self.owed = owed - Int64(count)
  }

  private func end() throws(TransportError) {
    if let owed, owed > 0 {
      throw .refused(
        .invalidBody, "a part of the form ended \(owed.counted("byte")) before the length it announced",
        hint: "announce the true length, or none")
    }
    current = nil
  }

  /// Opens the next segment; false behind the last.
  private func open() throws(TransportError) -> Bool {
    guard let segment = segments.popFirst() else { return false }
    owed = RequestBody(source: segment).length
    switch segment {
    case .empty: break
    case .bytes(let data): current = Self.pieces(of: data)
    case .file(let path, let length):
      let file = try FormFile(path, length: length)
      current = { try file.next() }
    case .stream(_, _, let open): current = open()
    }
    return true
  }

  private static func pieces(of data: Data) -> RequestBody.NextChunk {
    var rest = data
    return {
      guard !rest.isEmpty else { return nil }
      defer { rest = rest.dropFirst(chunkBytes) }
      // Copied: a slice has indices of its own, and would hold all of it.
      return Data(rest.prefix(chunkBytes))
    }
  }
}
