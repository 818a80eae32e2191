// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroWire

/// A partial response whose body is open.
struct SegmentPart: Sendable {
  let body: ResponseBody
  /// The length of the body; `nil` if the response does not say.
  private let count: Int64?
  /// The number of bytes before the requested one: caches respond in whole blocks.
  let overlap: Int64
  /// `Content-Digest` as received.
  private let digest: String?

  /// - Parameter start: the first wanted byte.
  init(_ answer: Fetched<ResponseBody, ResourceResponse>, _ head: RangeAnswer, from start: Int64) {
    body = answer.value
    count = head.range?.bytes.map { Int64($0.count) }
    overlap = head.range?.bytes.map { max(0, start - $0.lowerBound) } ?? 0
    digest = answer.response.headerFields[.contentDigest]
  }

  var reader: Reader {
    Reader(body: body.makeAsyncIterator(), left: count, overlap: overlap, check: ContentDigestCheck(digest))
  }

  /// A single pass over the body. If it is abandoned early, because another segment took over the rest, the digest is
  /// not checked.
  struct Reader {
    fileprivate var body: ResponseBody.AsyncIterator
    fileprivate var left: Int64?
    fileprivate var overlap: Int64
    fileprivate let check: ContentDigestCheck?

    /// Returns the next bytes from the wanted one on, or `nil` at the end.
    ///
    /// - Throws: the errors of the body, and a digest mismatch, in which case the last bytes are not returned.
    mutating func next() async throws(TransportError) -> Data? {
      while let chunk = try await body.next() {
        if let check {
          check.add(chunk)
          left = left.map { $0 - Int64(chunk.count) }
          if left == 0 { try check.check() }
        }
        guard overlap > 0 else { return chunk }
        let wanted = Data(chunk.dropFirst(Int(clamping: overlap)))
        overlap -= Int64(chunk.count - wanted.count)
        if !wanted.isEmpty { return wanted }
      }
      return nil
    }
  }
}
