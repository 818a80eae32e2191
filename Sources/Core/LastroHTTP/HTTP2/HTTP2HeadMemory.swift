// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroWire

/// Converts heads that arrived over HTTP/2 to the shared types, and remembers the latest one: for a head that did not
/// change, the session returns the same array.
struct HTTP2HeadMemory {
  private var head: ResponseHead?
  private var latest: (response: HTTPResponse, framing: ResponseFraming)?

  mutating func response(_ head: ResponseHead) throws(TransportError) -> (HTTPResponse, ResponseFraming) {
    if let latest, let known = self.head, known.status == head.status, known.fields.isSameMemory(as: head.fields) {
      return latest
    }
    let framing: ResponseFraming
    do throws(HeadViolation) { framing = try ResponseFraming(head) } catch { throw error.transportError }
    let response = try HeadMemory.make(head, resembling: latest?.response)
    self.head = head
    latest = (response, framing)
    return (response, framing)
  }
}

extension [ResponseHead.Field] {
  /// Returns whether both arrays share their memory, so that they are equal without a comparison of their elements.
  fileprivate func isSameMemory(as other: Self) -> Bool {
    count == other.count
      && withUnsafeBufferPointer { mine in other.withUnsafeBufferPointer { mine.baseAddress == $0.baseAddress } }
  }
}
