// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroWire

extension ResourceRequest {
  /// Adds the fields that an event source sends (WHATWG HTML §9.2.2), unless the caller has set them.
  mutating func askForEvents(after id: String) {
    if head.headerFields[.accept] == nil { head.headerFields[.accept] = "text/event-stream" }
    // A cache that stored events would replay old ones as new.
    if head.headerFields[.cacheControl] == nil { head.headerFields[.cacheControl] = "no-store" }
    // An identifier that a field cannot carry is not sent, because it would change in transit.
    guard !id.isEmpty, id.utf8.allSatisfy(FieldSyntax.isValue) else { return }
    head.headerFields[.lastEventID] = id
  }
}

extension HTTPField.Name {
  // Force-unwrapped: letters and hyphens form a valid field name (RFC 9110 §5.6.2), and no fallback name would do.
  // swift-format-ignore: NeverForceUnwrap
  static let lastEventID = HTTPField.Name("Last-Event-ID")!
}

extension ResourceResponse {
  /// Throws unless the response is an event stream. Parameters of the content type are ignored: events are always
  /// UTF-8.
  func checkHasEvents() throws(TransportError) {
    guard status == .ok else {
      throw TransportError(
        stage: .response, code: .unexpectedStatus,
        message: "the server answered \(status.code), but an event stream needs a 200",
        hint: "look at the URL: it may be that of another resource", requestSent: true, facts: facts)
    }
    let type = headerFields[.contentType] ?? ""
    let essence = type.prefix { $0 != ";" }.withoutBlanks.lowercased()
    guard essence == "text/event-stream" else {
      let what = type.isEmpty ? "no content type" : "content type \"\(type.prefix(80).escapedForDisplay)\""
      throw TransportError(
        stage: .response, code: .unexpectedContentType,
        message: "the server answered with \(what), but an event stream is text/event-stream",
        hint: "check that the request asks for a stream, which some services expect in the body", requestSent: true,
        facts: facts)
    }
  }
}
