// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes

/// A head in the form in which stores outside of memory keep it.
package struct StoredRow: Sendable, Codable {
  var status: Int
  var reason: String
  /// The names and values of the fields, alternating.
  var fields: [String]
  /// The time of the request, in microseconds since 1970.
  var requested: Int64
  var received: Int64
  var isDecoded: Bool
  /// Whether the response is credentialed; `nil` means false.
  var isCredentialed: Bool?

  /// Creates the form of a head.
  package init(_ head: StoredHead) {
    status = head.head.status.code
    reason = head.head.status.reasonPhrase
    fields = head.head.headerFields.flatMap { [$0.name.rawName, $0.value] }
    requested = Self.microseconds(head.requested)
    received = Self.microseconds(head.received)
    isDecoded = head.isDecoded
    isCredentialed = head.isCredentialed ? true : nil
  }

  /// Returns the head; `nil` if the values are not those of a valid response.
  package func head(id: Int64, selecting: [UInt8], length: Int64) -> StoredHead? {
    guard (200...999).contains(status), fields.count.isMultiple(of: 2), length >= 0 else { return nil }
    var all = HTTPFields()
    for index in stride(from: 0, to: fields.count, by: 2) {
      guard let name = HTTPField.Name(fields[index]) else { return nil }
      all.append(HTTPField(name: name, value: fields[index + 1]))
    }
    var head = StoredHead(
      head: HTTPResponse(status: .init(code: status, reasonPhrase: reason), headerFields: all),
      requested: .microseconds(requested), received: .microseconds(received), selecting: selecting,
      isDecoded: isDecoded, isCredentialed: isCredentialed ?? false)
    head.id = StoredHead.ID(rawValue: id)
    head.length = length
    return head
  }

  private static func microseconds(_ time: Duration) -> Int64 {
    let (seconds, attoseconds) = time.components
    // Clamp times that no date can have: such an entry is treated as extremely old or new.
    let clamped = min(max(seconds, -1_000_000_000_000), 1_000_000_000_000)
    return clamped * 1_000_000 + attoseconds / 1_000_000_000_000
  }
}
