// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import HTTPTypes
package import Lastro

/// A builder of archive entries from the events of observers, or from exchanges of transports, with secrets masked.
package struct HARMaker: Sendable {
  /// The redaction; `nil`: nothing is masked.
  let redaction: Redaction?
  /// The maximum number of bytes of a body.
  let limit: Int

  package init(redaction: Redaction?, limit: Int) {
    self.redaction = redaction
    self.limit = limit
  }

  package func entry(_ request: ResourceRequest, _ event: FetchEvent) -> HAR.Entry {
    var entry = entry(request, startedAt: event.sinceEpoch)
    (entry.call, entry.attempt, entry.hop) = (event.callID, event.attempt, event.hop)
    entry.operation = event.operation.map(masked)
    return entry
  }

  /// Returns an entry without a response.
  ///
  /// - Parameter date: the time since 1970.
  package func entry(_ request: ResourceRequest, startedAt date: Duration) -> HAR.Entry {
    HAR.Entry(
      startedDateTime: HARDate.text(date), time: 0, request: self.request(request),
      response: HAR.Response(status: 0), timings: HAR.Timings())
  }

  package func answer(_ entry: inout HAR.Entry, _ answer: FetchEvent.Answer) {
    setResponse(of: &entry, answer.response.head, body: answer.body, answer.response.facts)
  }

  package func setResponse(of entry: inout HAR.Entry, _ head: HTTPResponse, body: Data?, _ facts: TransferFacts) {
    entry.response = response(head, body: body)
    note(&entry, facts)
  }

  package func fail(_ entry: inout HAR.Entry, _ error: TransportError) {
    if let head = error.head {
      entry.response = response(head, body: nil)
      entry.response.status = 0
    }
    entry.error = failure(error, status: error.head?.status.code)
    if let facts = error.facts { note(&entry, facts) }
  }

  /// Records the end of a streamed body; `nil` if it was not reported, because the call was abandoned.
  package func endStreamedBody(_ entry: inout HAR.Entry, _ end: FetchEvent.BodyEnd?, elapsed: Duration) {
    if let facts = end?.facts { note(&entry, facts) }
    time(&entry, end?.facts, elapsed: elapsed)
    let bytes = end?.bytes ?? 0
    entry.response.content.size = bytes
    if bytes > 0 || end == nil || end?.error != nil {
      entry.response.content.isTruncated = true
      entry.response.content.comment = "a streamed body, which is not recorded"
    }
    if let error = end?.error { entry.error = failure(error, status: entry.response.status) }
  }

  private func failure(_ error: TransportError, status: Int?) -> HAR.Failure {
    func masked(_ text: String) -> String { redaction?.text(text, of: error) ?? text }
    return HAR.Failure(
      stage: error.stage.rawValue, code: error.code.rawValue, message: masked(error.message),
      hint: error.hint.map(masked), requestSent: error.requestSent, engineCode: error.engineCode, status: status)
  }

  package func time(_ entry: inout HAR.Entry, _ facts: TransferFacts?, elapsed: Duration) {
    entry.timings = HAR.Timings(facts, elapsed: elapsed)
    entry.time = entry.timings.total
  }

  private func note(_ entry: inout HAR.Entry, _ facts: TransferFacts) {
    let version = facts.httpVersion.map { "HTTP/\($0)" } ?? ""
    entry.request.httpVersion = version
    entry.response.httpVersion = version
    entry.serverIPAddress = facts.remoteAddress
    entry.connection = facts.connectionID.map(String.init)
    entry.facts = HAR.Connection(
      id: facts.connectionID, reused: facts.connectionReused, remotePort: facts.remotePort,
      trust: facts.trust?.rawValue, resends: facts.resends, bytesSent: facts.bytesSent,
      bytesReceived: facts.bytesReceived)
    if facts.bytesReceived > 0 { entry.response.bodySize = facts.bytesReceived }
  }

  private func request(_ request: ResourceRequest) -> HAR.Request {
    let fields = request.head.headerFields
    let url = redaction?.url(request.url) ?? request.url
    return HAR.Request(
      method: request.head.method.rawValue, url: url, cookies: HARCookies.sent(in: fields, redaction),
      headers: headers(fields), queryString: HARQuery.items(ofURL: url), postData: postData(request),
      bodySize: request.body.length ?? -1)
  }

  private func response(_ head: HTTPResponse, body: Data?) -> HAR.Response {
    let fields = head.headerFields
    var content = HAR.Content(mimeType: masked(fields[.contentType] ?? ""))
    if let body {
      content.size = Int64(body.count)
      let written = HARBody(body, limit: limit, redaction: redaction, isCoded: isCoded(fields))
      (content.text, content.encoding, content.comment) = (written.text, written.encoding, written.comment)
      content.isTruncated = written.isTruncated ? true : nil
    }
    return HAR.Response(
      status: head.status.code, statusText: masked(head.status.reasonPhrase),
      cookies: HARCookies.set(in: fields, redaction), headers: headers(fields), content: content,
      redirectURL: fields[.location].map { redaction?.url($0) ?? $0 } ?? "",
      bodySize: body.map { Int64($0.count) } ?? -1)
  }

  private func postData(_ request: ResourceRequest) -> HAR.PostData? {
    let fields = request.head.headerFields
    let type = masked(fields[.contentType] ?? request.body.contentType ?? "")
    switch request.recordedBody.source {
    case .empty: return nil
    case .bytes(let data):
      let written = HARBody(data, limit: limit, redaction: redaction, isCoded: isCoded(fields))
      return HAR.PostData(
        mimeType: type, text: written.text, encoding: written.encoding, comment: written.comment,
        isTruncated: written.isTruncated ? true : nil)
    case .file:
      return HAR.PostData(mimeType: type, comment: "a file, which is not recorded", isTruncated: true)
    case .stream:
      return HAR.PostData(mimeType: type, comment: "a streamed body, which is not recorded", isTruncated: true)
    }
  }

  private func isCoded(_ fields: HTTPFields) -> Bool { fields[.contentEncoding].map { $0 != "identity" } ?? false }

  private func headers(_ fields: HTTPFields) -> [HAR.Field] {
    fields.map { field in
      let value: String =
        switch field.name {
        // The value is a URL: its items are recognised by their names in queries.
        case .location, .referer, .contentLocation: redaction?.url(field.value) ?? field.value
        default: redaction?.value(of: field) ?? field.value
        }
      return HAR.Field(name: redaction?.secretsMasked(in: field.name.rawName) ?? field.name.rawName, value: value)
    }
  }

  private func masked(_ text: String) -> String { redaction?.text(text) ?? text }
}

extension ResourceRequest {
  /// The body before the stack compressed it.
  var recordedBody: RequestBody { body.isEmpty ? body : options.uncodedBody ?? body }
}

extension HAR.Timings {
  /// Creates the phases of a transfer.
  ///
  /// libcurl reports the end of each phase since the beginning; a reused connection has no phases of its own.
  ///
  /// - Parameters:
  ///   - facts: the facts from the transport.
  ///   - elapsed: the time between the events, for transports that report no times.
  init(_ facts: TransferFacts?, elapsed: Duration) {
    func milliseconds(_ duration: Duration) -> Double { max(0, (duration.inSeconds * 1e6).rounded() / 1e3) }
    guard let facts, facts.timings.total > .zero else {
      self.init(wait: milliseconds(elapsed))
      return
    }
    let times = facts.timings
    self.init()
    var reached = Duration.zero
    if !facts.connectionReused, let connected = times.tls ?? times.connect {
      reached = times.nameLookup ?? .zero
      dns = milliseconds(reached)
      connect = milliseconds(connected - reached)
      if let tls = times.tls { ssl = milliseconds(tls - (times.connect ?? reached)) }
      reached = connected
    }
    let start = times.requestStart ?? reached
    blocked = milliseconds(times.queued + (start - reached))
    let first = times.firstByte ?? times.total
    wait = milliseconds(first - start)
    receive = milliseconds(times.total - first)
  }
}
