// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import LastroWire

/// The header fields that all requests to a host have in common, kept as the bytes to send.
package struct CommonFields {
  private let added: AddedFields
  private var authority: String?
  private var prepared = RequestWriter()

  package init(_ added: AddedFields) { self.added = added }

  /// Writes the common fields that the caller has not set.
  mutating func write(
    _ head: HTTPRequest, _ given: GivenFields, to writer: inout RequestWriter
  ) throws(RequestViolation) {
    guard given.isDisjoint(with: .common), let wanted = head.authority else {
      return try add(given, host: head.host(given), to: &writer)
    }
    if authority != wanted {
      var fields = RequestWriter()
      try add(given, host: wanted, to: &fields)
      prepared = fields
      authority = wanted
    }
    try writer.add(prepared)
  }

  private func add(_ given: GivenFields, host: String, to writer: inout RequestWriter) throws(RequestViolation) {
    try writer.add("Host", host)
    if let agent = added.userAgent, !given.contains(.userAgent) { try writer.add("User-Agent", agent) }
    if added.sendsAccept, !given.contains(.accept) { try writer.add("Accept", "*/*") }
    if let codings = added.acceptEncoding, !given.contains(.coding) { try writer.add("Accept-Encoding", codings) }
  }
}
