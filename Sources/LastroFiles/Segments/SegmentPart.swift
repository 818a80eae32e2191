// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroWire

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// An answer with a part, whose body is open.
struct SegmentPart: Sendable {
  private let body: ResponseBody
  /// How many bytes the body has; `nil` where it does not say so.
  private let count: Int64?
  /// `Content-Digest` as it came.
  private let digest: String?

  init(_ answer: Network.Value<ResponseBody, ResourceResponse>, _ head: RangeAnswer) {
    body = answer.value
    count = head.range?.bytes.map { Int64($0.count) }
    digest = answer.response.headerFields[.contentDigest]
  }

  var reader: Reader {
    Reader(body: body.makeAsyncIterator(), left: count, check: ContentDigestCheck(digest))
  }

  /// Reads the body once. One that is given up before its end, as a part is whose rest another segment took, cannot be
  /// compared with its digest.
  struct Reader {
    private var body: ResponseBody.AsyncIterator
    private var left: Int64?
    private let check: ContentDigestCheck?

    fileprivate init(body: ResponseBody.AsyncIterator, left: Int64?, check: ContentDigestCheck?) {
      self.body = body
      self.left = left
      self.check = check
    }

    /// - Throws: as the body, and a mismatch of its digest, with which the last bytes are not given.
    mutating func next() async throws(TransportError) -> Data? {
      guard let chunk = try await body.next() else { return nil }
      guard let check else { return chunk }
      check.add(chunk)
      left = left.map { $0 - Int64(chunk.count) }
      if left == 0 { try check.check() }
      return chunk
    }
  }
}
