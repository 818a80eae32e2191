// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import HTTPTypes
internal import Lastro
internal import LastroWire

/// A server may answer in full and read no further (RFC 9113 §8.1). libcurl 7.88 then waits, over HTTP/2, until it can
/// send the rest of the request.
extension Transfer {
  /// The head of an answer came over HTTP/2.
  func noteAnswerOverHTTP2() {
    host.learnHTTP2()
    guard !job.request.body.isEmpty else { return }
    share.mayBeAnsweredEarly = true
    host.noteEarlyAnswer(job)
  }

  /// Whether all of the answer was handed over, by its own account. That the server ended its HTTP/2 stream libcurl
  /// does not tell before ours has ended too.
  var isAnsweredEarly: Bool {
    guard share.mayBeAnsweredEarly, response != nil, failure == nil, !receivingPaused else { return false }
    if !mayHaveBody { return true }
    guard let length = machine.contentLength else { return false }
    return clastro_body_bytes(easy.raw) >= length
  }

  /// Whether a result concerns only the rest of the request.
  func isOfNoConcern(_ code: CURLcode) -> Bool {
    (code == CURLE_HTTP2_STREAM || code.isEndOfConnection) && isAnsweredEarly
  }
}

extension TransportError {
  /// With the status of an answer that came in one TLS record with RST_STREAM: libcurl 7.88 hands over nothing of it,
  /// but remembers its status.
  func tellingStatus(of transfer: Transfer) -> TransportError {
    guard code == .http2Failure, transfer.response == nil, transfer.requestSent else { return self }
    let status = Int(clastro_latest_status(transfer.easy.raw))
    guard (200...999).contains(status) else { return self }
    return answered(status)
  }

  func answered(_ status: Int) -> TransportError {
    var error = self
    error.head = HTTPResponse(status: HTTPResponse.Status(code: status))
    error.message = "the server answered \(status) and reset the HTTP/2 stream; libcurl kept only the status"
    error.hint = "header fields and body of the response are lost"
    return error
  }
}
