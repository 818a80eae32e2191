// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import LastroWire

/// The header fields that all requests to a host have in common, kept as the bytes to send.
package struct CommonFields {
  private let settings: MessageSettings
  private var authority: String?
  private var prepared = PreparedFields()

  package init(_ settings: MessageSettings) { self.settings = settings }

  /// Writes the common fields that the caller has not set.
  mutating func write(
    _ head: HTTPRequest, _ given: GivenFields, to writer: inout RequestWriter
  ) throws(RequestViolation) {
    guard given.isDisjoint(with: .common), let wanted = head.authority else {
      return try add(own(given, host: head.host(given)), to: &writer)
    }
    if authority != wanted {
      var fields = PreparedFields()
      for (name, value) in own(given, host: wanted) { try fields.add(name, value) }
      prepared = fields
      authority = wanted
    }
    try writer.add(prepared)
  }

  private func add(_ fields: [(name: String, value: String)], to writer: inout RequestWriter) throws(RequestViolation) {
    for (name, value) in fields { try writer.add(name, value) }
  }

  private func own(_ given: GivenFields, host: String) -> [(name: String, value: String)] {
    var fields = [(name: "Host", value: host)]
    if let agent = settings.userAgent, !given.contains(.userAgent) { fields.append(("User-Agent", agent)) }
    if settings.sendsAccept, !given.contains(.accept) { fields.append(("Accept", "*/*")) }
    if settings.decompresses, !given.contains(.coding) { fields.append(("Accept-Encoding", ContentCoding.offer)) }
    return fields
  }
}
