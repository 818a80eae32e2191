// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import Testing

/// An engine, and servers of HTTP/2 it trusts.
struct HTTP2Lab {
  let authority: CertificateAuthority
  let engine: CurlTransport

  init() throws {
    authority = try CertificateAuthority()
    engine = try CurlTransport()
  }

  func tls() throws -> LoopbackTLS { LoopbackTLS(try authority.issue(hosts: ["localhost"])) }

  func server(
    _ settings: LoopbackHTTP2Settings = .init(),
    respond: @escaping @Sendable (LoopbackRequest) throws -> LoopbackResponse
  ) throws -> LoopbackServer {
    try .http2(tls: tls(), settings: settings, respond: respond)
  }

  /// Answers `/ok`; for the rest a fault in front of, or within, a body of five bytes.
  func faultServer(_ fault: LoopbackHTTP2Fault, at point: LoopbackHTTP2Fault.Point) throws -> LoopbackServer {
    try server { request in
      var response = LoopbackResponse.text(request.path == "/ok" ? "fine" : "12345")
      if request.path != "/ok" { response.fault = .http2(fault, at: point) }
      return response
    }
  }

  /// Bounded, so that what hangs fails; never sent again unless asked for.
  func outcome(
    _ server: LoopbackServer, _ path: String = "/", method: HTTPRequest.Method = .get,
    adapting adapt: (inout TransferRequest) -> Void = { _ in }
  ) async -> Outcome {
    await engine.outcome(server, path, method: method) { bound(&$0, adapt) }
  }

  func failure(
    _ server: LoopbackServer, _ path: String = "/", method: HTTPRequest.Method = .get,
    adapting adapt: (inout TransferRequest) -> Void = { _ in }
  ) async throws -> TransportError {
    try await engine.failure(server, path, method: method) { bound(&$0, adapt) }
  }

  private func bound(_ request: inout TransferRequest, _ adapt: (inout TransferRequest) -> Void) {
    request.trust(authority)
    request.deadline = .seconds(200)
    request.allowsResend = false
    if request.head.method == .post { request.body = .raw("pay") }
    adapt(&request)
  }
}
