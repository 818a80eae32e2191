// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroSupport
internal import LastroWire

/// Converts checked heads to the shared types, and remembers the latest one. The responses of a server are much alike,
/// so the parts that did not change are reused.
struct HeadMemory {
  /// The latest head, which the next one is compared with.
  private(set) var latest: KnownHead?
  /// The response that was made from the latest head.
  private var response: HTTPResponse?
  /// The time for which the server keeps an idle HTTP/1.1 connection open, from `Keep-Alive: timeout=` of the latest
  /// head.
  private(set) var keepAlive: Duration?

  /// - Parameter known: the form of `head` that may be kept for comparison.
  mutating func response(_ head: ResponseHead, known: KnownHead?) throws(TransportError) -> HTTPResponse {
    if let known, known === latest, let response { return response }
    let response = try Self.make(head, resembling: response)
    latest = known
    keepAlive = Self.keepAlive(head)
    self.response = known == nil ? nil : response
    return response
  }

  private static func keepAlive(_ head: ResponseHead) -> Duration? {
    for field in head.fields where field.name.utf8.count == 10 && field.name.lowercased() == "keep-alive" {
      for part in field.value.lowercased().filter({ $0 != " " && $0 != "\t" }).split(separator: ",") {
        let pair = part.split(separator: "=", maxSplits: 1)
        if pair.count == 2, pair[0] == "timeout", let seconds = UInt32(digits: pair[1]) {
          return .seconds(seconds)
        }
      }
    }
    return nil
  }

  /// - Parameter known: a response whose fields may be the same.
  static func make(_ head: ResponseHead, resembling known: HTTPResponse?) throws(TransportError) -> HTTPResponse {
    let old = known?.headerFields ?? HTTPFields()
    var fields: [HTTPField] = []
    fields.reserveCapacity(head.fields.count)
    for (index, field) in head.fields.enumerated() {
      fields.append(try Self.field(field, resembling: index < old.count ? old[index] : nil))
    }
    return HTTPResponse(
      status: HTTPResponse.Status(code: head.status, reasonPhrase: head.reason), headerFields: HTTPFields(fields))
  }

  private static func field(
    _ field: ResponseHead.Field, resembling known: HTTPField?
  ) throws(TransportError) -> HTTPField {
    if let known, known.name.rawName == field.name {
      return known.value == field.value ? known : HTTPField(name: known.name, value: field.value)
    }
    return try HTTPField(field)
  }
}
