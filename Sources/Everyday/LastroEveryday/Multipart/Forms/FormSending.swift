// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroWire

/// A transmission of a form, which opens one segment at a time and returns its bytes. For one task at a time.
final class FormSending {
  /// The size of the pieces in which bytes in memory are sent.
  static let chunkBytes = 64 * 1024

  private var segments: ArraySlice<RequestBody.Source>
  private var current: RequestBody.NextChunk?
  /// The number of announced bytes that the segment has not supplied yet; `nil` if it announced no length.
  private var owed: Int64?

  init(_ segments: [RequestBody.Source]) { self.segments = segments[...] }

  /// Returns the next piece; `nil` at the end.
  func next() async throws -> Data? {
    while true {
      guard let current else {
        guard open() else { return nil }
        continue
      }
      guard let chunk = try await current() else {
        try endSegment()
        continue
      }
      guard !chunk.isEmpty else { continue }
      try deductFromOwed(chunk.count)
      return chunk
    }
  }

  private func deductFromOwed(_ count: Int) throws(TransportError) {
    guard let owed else { return }
    guard Int64(count) <= owed else {
      throw .refused(
        .invalidBody, "a part of the form gives more bytes than it announced",
        hint: "announce the true length, or none")
    }
    self.owed = owed - Int64(count)
  }

  private func endSegment() throws(TransportError) {
    if let owed, owed > 0 {
      throw .refused(
        .invalidBody, "a part of the form ended \(owed.counted("byte")) before the length it announced",
        hint: "announce the true length, or none")
    }
    current = nil
  }

  /// Opens the next segment. Returns false after the last one.
  private func open() -> Bool {
    guard let segment = segments.popFirst() else { return false }
    owed = RequestBody(source: segment).length
    switch segment {
    case .empty: break
    case .bytes(let data): current = Self.pieces(of: data)
    case .file(let path, let length):
      let slice = RequestBody.Source.slice(ofFile: path, length: length, noun: "the form's file")
      if case .stream(_, _, let open) = slice { current = open() }
    case .stream(_, _, let open): current = open()
    }
    return true
  }

  private static func pieces(of data: Data) -> RequestBody.NextChunk {
    var rest = data
    return {
      guard !rest.isEmpty else { return nil }
      defer { rest = rest.dropFirst(chunkBytes) }
      // Copied, because a slice would retain the whole data, and has other indices.
      return Data(rest.prefix(chunkBytes))
    }
  }
}
