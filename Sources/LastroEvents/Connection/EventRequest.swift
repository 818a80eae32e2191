// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroWire

extension ResourceRequest {
  /// Completes the request as an event source does (WHATWG HTML §9.2.2). What the caller set of it stays.
  mutating func askForEvents(after id: String) {
    if head.headerFields[.accept] == nil { head.headerFields[.accept] = "text/event-stream" }
    // A cache that kept events would give old ones as new.
    if head.headerFields[.cacheControl] == nil { head.headerFields[.cacheControl] = "no-store" }
    // An identifier that no field can carry cannot be told: it would be another one.
    guard !id.isEmpty, id.utf8.allSatisfy(FieldSyntax.isValue) else { return }
    head.headerFields[.lastEventID] = id
  }
}

extension HTTPField.Name {
  // Forced: letters and hyphens are a field name (RFC 9110 §5.6.2), and no other name could stand in.
  // swift-format-ignore: NeverForceUnwrap
  static let lastEventID = HTTPField.Name("Last-Event-ID")!
}

extension ResourceResponse {
  /// Refuses an answer that is no event stream. Parameters do not matter: the events are in UTF-8 whatever they say.
  func checkHasEvents() throws(TransportError) {
    guard status == .ok else {
      throw TransportError(
        stage: .response, code: .unexpectedStatus,
        message: "the server answered \(status.code), and an event stream is a 200",
        hint: "look at the URL: it may be that of another resource", requestSent: true, facts: facts)
    }
    let type = headerFields[.contentType] ?? ""
    let essence = type.prefix { $0 != ";" }.withoutBlanks.lowercased()
    guard essence == "text/event-stream" else {
      let what = type.isEmpty ? "no content type" : "content type \"\(type.prefix(80).escapedForDisplay)\""
      throw TransportError(
        stage: .response, code: .unexpectedContentType,
        message: "the server answered with \(what), and an event stream is text/event-stream",
        hint: "look whether the request asks for a stream, as some services want it in the body", requestSent: true,
        facts: facts)
    }
  }
}
