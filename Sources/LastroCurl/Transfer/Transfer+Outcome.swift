// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import HTTPTypes
internal import Lastro
internal import LastroWire

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

extension Transfer {
  /// Whether the request goes through a proxy, for telling whose fault a failed connection is.
  var isProxied: Bool { host.isProxied }

  var speaksHTTP2InTheClear: Bool {
    job.options.httpVersion == .http2 && job.request.head.scheme == "http"
  }

  /// Whether its connection speaks HTTP/2. Only while the transfer has one.
  var speaksHTTP2: Bool { speaksHTTP2InTheClear || clastro_speaks_http2(easy.raw) }

  /// What libcurl's result amounts to; `nil` is success.
  func outcome(_ code: CURLcode) -> TransportError? {
    if wasCut { return nil }
    guard let found = finding(code) else { return nil }
    guard isErrorAnswer, [.send, .response, .limit].contains(found.stage) else { return found }
    // What matters of such an answer is its status; a body that breaks off must not hide it.
    bodyCut = BodyCut(found)
    return nil
  }

  private func finding(_ code: CURLcode) -> TransportError? {
    if let failure { return failure.with(code) }
    if code != CURLE_OK, !isOfNoConcern(code) {
      return TransportError(code, transfer: self).tellingStatus(of: self)
    }
    if job.isInspection { return nil }
    guard response != nil else {
      return TransportError(
        stage: .response, code: .malformedResponse, message: "the transfer ended without a complete response head",
        engineCode: 0, requestSent: requestSent)
    }
    do {
      try decoder?.end()
    } catch {
      return error.with(code)
    }
    if isTruncatedByTLS {
      return TransportError(
        stage: .response, code: .truncatedBody,
        message: "the connection ended without TLS close_notify: the body may be cut short", engineCode: 0,
        requestSent: true)
    }
    return failureOfSourceAtEnd
  }

  /// Whether a body that the end of the connection ends (RFC 9112 §6.3) came to a proper end. libcurl 7.88 reports a
  /// bare TCP FIN under TLS as a clean one.
  var isTruncatedByTLS: Bool {
    guard let tls, machine.isCloseDelimited(method: job.request.head.method.rawValue) else { return false }
    return !clastro_connection_closed_cleanly(tls)
  }

  var hasCloseNotify: Bool { tls.map(clastro_connection_closed_cleanly) ?? false }

  /// Who ended the connection with an alert before there was an answer.
  var alertingPeer: TLSPeer? {
    guard response == nil else { return nil }
    let used = tls.map { Unmanaged<TLSPeer>.fromOpaque(clastro_connection_owner($0)).takeUnretainedValue() }
    return (used ?? peer).flatMap { $0.alert == nil ? nil : $0 }
  }

  /// Whether a head outside 200–299 is there, whose body is collected.
  var isErrorAnswer: Bool {
    if case .collect(_, cuts: true) = sink { response != nil } else { false }
  }

  /// Answers the job.
  func report(_ failure: TransportError?, facts: TransferFacts) {
    noteEnd(facts)
    if var failure {
      failure.facts = facts
      failure.head = response ?? failure.head
      // What came before the failure is for the reader that waits, also when both came in one turn.
      job.body?.handOver {}
      return job.finish(failure, facts: facts)
    }
    if job.isInspection {
      job.inspected = peer?.trust
      job.answer(
        .success(TransferResponse(head: HTTPResponse(status: .noContent), body: ResponseBody(Data()), facts: facts)))
    }
    switch sink {
    case .collect, .drop:
      if let response {
        let body = ResponseBody(collected.take())
        deliveries.answer(job, .success(TransferResponse(head: response, body: body, facts: facts)))
      }
    case .undecided, .stream: break
    }
    job.finish(nil, facts: facts)
  }
}

extension TransportError {
  fileprivate func with(_ code: CURLcode) -> TransportError {
    var error = self
    if error.engineCode == nil { error.engineCode = Int32(bitPattern: code.rawValue) }
    return error
  }
}
