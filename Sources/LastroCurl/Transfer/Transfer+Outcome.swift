// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import HTTPTypes
internal import Lastro
internal import LastroExchange
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
    return finding(code).flatMap(weigh)
  }

  /// Whether it may be answered. Not while all went well, and the end of the upload's source is waited for.
  func mayEnd(_ code: CURLcode) -> Bool {
    isDelivered = outcome(code) == nil && awaitsSourceEnd
    return !isDelivered
  }

  private func finding(_ code: CURLcode) -> TransportError? {
    if let failure { return failure.with(code) }
    if code != CURLE_OK, !isOfNoConcern(code) {
      return TransportError(code, transfer: self).tellingStatus(of: self)
    }
    if job.isInspection { return nil }
    guard response != nil else {
      return .headMissing(requestSent: requestSent)
    }
    do {
      try decoder?.end()
    } catch {
      return error.with(code)
    }
    if isTruncatedByTLS {
      return .bodyMayBeCut
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

  /// The side that ended the connection with an alert before there was an answer.
  var alertingPeer: TLSPeer? {
    guard response == nil else { return nil }
    let used = tls.map { Unmanaged<TLSPeer>.fromOpaque(clastro_connection_owner($0)).takeUnretainedValue() }
    return (used ?? peer).flatMap { $0.alert == nil ? nil : $0 }
  }

  /// Answers an inspection.
  func reportInspection(_ facts: TransferFacts) {
    job.inspected = peer?.trust
    job.answer(
      .success(TransferResponse(head: HTTPResponse(status: .noContent), body: ResponseBody(Data()), facts: facts)))
  }
}

extension TransportError {
  fileprivate func with(_ code: CURLcode) -> TransportError {
    var error = self
    if error.engineCode == nil { error.engineCode = Int32(bitPattern: code.rawValue) }
    return error
  }
}
