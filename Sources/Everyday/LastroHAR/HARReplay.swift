// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro

/// A recorded exchange that is replayed as the result of a transport.
struct HARReplay {
  let entry: HAR.Entry
  /// The position in the archive, from 1.
  let number: Int
  /// The remedy if the body is incomplete.
  let hint: String

  /// Whether the recorded request had been sent.
  var wasSent: Bool { entry.error == nil || entry.response.status != 0 || entry.error?.requestSent == true }

  func response(to request: TransferRequest) throws(TransportError) -> TransferResponse {
    let failure = entry.error.map(error)
    guard entry.response.status != 0 else {
      throw failure
        ?? TransportError(
          stage: .response, code: .connectionLost, message: "the response of exchange #\(number) was not recorded",
          hint: "record it again", requestSent: true, facts: facts)
    }
    if let failure {
      return TransferResponse(head: head, body: ResponseBody(source: FailedBody(failure)), facts: facts)
    }
    let bytes = try body()
    if let limit = request.delivery.limit(for: head.status), bytes.count > limit {
      throw TransportError(
        stage: .limit, code: .bodyTooLarge, message: "the body exceeds \(limit) bytes",
        hint: "raise maximumBodyBytes, or stream the body", requestSent: true, facts: facts)
    }
    return TransferResponse(head: head, body: ResponseBody(bytes), facts: facts)
  }

  private var head: HTTPResponse { head(status: entry.response.status) }

  private func head(status: Int) -> HTTPResponse {
    var fields = HTTPFields()
    for header in entry.response.headers {
      // Browsers record pseudo-header fields such as `:status`, which are not header fields.
      guard let name = HTTPField.Name(header.name) else { continue }
      fields.append(HTTPField(name: name, value: header.value))
    }
    // A number outside the valid range cannot be converted to a status.
    let code = (100...999).contains(status) ? status : 502
    return HTTPResponse(
      status: .init(code: code, reasonPhrase: entry.response.statusText), headerFields: fields)
  }

  private func body() throws(TransportError) -> Data {
    let content = entry.response.content
    guard content.isTruncated != true, content.text != nil || content.size <= 0 else {
      throw TransportError(
        stage: .request, code: .incompleteRecording,
        message: "the body of exchange #\(number) was not recorded: \(content.comment ?? "some of it is missing")",
        hint: hint)
    }
    guard let data = content.data else {
      throw TransportError(
        stage: .request, code: .incompleteRecording, message: "the body of exchange #\(number) is not valid base64",
        hint: "record it again")
    }
    return data
  }

  private func error(_ failure: HAR.Failure) -> TransportError {
    TransportError(
      stage: FailureStage(rawValue: failure.stage) ?? .response, code: FailureCode(failure.code),
      message: failure.message, hint: failure.hint, engineCode: failure.engineCode,
      requestSent: failure.requestSent ?? true, facts: entry.facts == nil ? nil : facts,
      head: failure.status.map { head(status: $0) })
  }

  private var facts: TransferFacts {
    let version = entry.response.httpVersion.isEmpty ? entry.request.httpVersion : entry.response.httpVersion
    let number = version.uppercased().hasPrefix("HTTP/") ? String(version.dropFirst(5)) : nil
    return TransferFacts(
      httpVersion: number == "2.0" ? "2" : number, remoteAddress: entry.serverIPAddress,
      remotePort: entry.facts?.remotePort, connectionID: entry.facts?.id,
      connectionReused: entry.facts?.reused ?? false, bytesSent: entry.facts?.bytesSent ?? 0,
      bytesReceived: entry.facts?.bytesReceived ?? max(0, entry.response.bodySize), resends: entry.facts?.resends ?? 0,
      trust: entry.facts?.trust.map(TrustVerdict.init))
  }
}

/// A streamed body that was interrupted when it was recorded.
private final class FailedBody: ResponseBodySource {
  private let error: TransportError

  init(_ error: TransportError) { self.error = error }

  var finalFacts: TransferFacts? { error.facts }
  func next() async throws(TransportError) -> Data? { throw error }
  func cancel() {}
}
