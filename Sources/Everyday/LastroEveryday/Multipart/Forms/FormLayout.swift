// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro

/// The content of a form on the wire, in order: bytes, and sources that are opened while the form is sent.
struct FormLayout: Sendable {
  /// The maximum size up to which adjacent bytes are joined, so that they are sent together.
  private static let maximumJoinedBytes = 1 << 20

  private(set) var segments: [RequestBody.Source] = []

  mutating func add(_ bytes: [UInt8]) { add(.bytes(Data(bytes))) }

  mutating func add(_ source: RequestBody.Source) {
    switch source {
    case .empty: break
    case .bytes(let data):
      if case .bytes(var joined)? = segments.last, joined.count + data.count <= Self.maximumJoinedBytes {
        segments.removeLast()
        joined.append(data)
        segments.append(.bytes(joined))
      } else {
        segments.append(source)
      }
    default: segments.append(source)
    }
  }

  /// Returns the form as a single source.
  ///
  /// - Throws: code `invalid_body` for an impossible length.
  func source() throws(TransportError) -> RequestBody.Source {
    let length = try length()
    if segments.count == 1, let only = segments.first, case .bytes = only { return only }
    let isReplayable = segments.allSatisfy { RequestBody(source: $0).isReplayable }
    let segments = segments
    return .stream(length: length, isReplayable: isReplayable) {
      let sending = FormSending(segments)
      return { try await sending.next() }
    }
  }

  private func length() throws(TransportError) -> Int64? {
    var total: Int64 = 0
    for segment in segments {
      guard let length = RequestBody(source: segment).length else { return nil }
      let (sum, isOver) = total.addingReportingOverflow(length)
      guard length >= 0, !isOver else {
        throw .refused(
          .invalidBody, "a part of the form announces \(length) bytes, out of range",
          hint: "announce the true length, or none")
      }
      total = sum
    }
    return total
  }
}
