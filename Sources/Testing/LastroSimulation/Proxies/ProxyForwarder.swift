// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HTTPTypes
internal import Lastro
internal import LastroTesting

/// The code of a proxy that answers requests with their whole URLs by sending them on.
struct ProxyForwarder: Sendable {
  let transport: SimulatedTransport
  /// The value of `Proxy-Authorization` that is required; `nil` for none.
  let authorization: String?

  private static let notForwarded: Set<String> = ["proxy-authorization", "proxy-connection", "connection", "host"]

  func answer(_ request: LoopbackRequest) async -> LoopbackResponse {
    if let authorization, request.headers["Proxy-Authorization"] != authorization {
      return LoopbackResponse(status: 407, headers: ["Proxy-Authenticate": "Basic realm=\"proxy\""])
    }
    guard let head = head(of: request) else { return LoopbackResponse(status: 400) }
    var sent = TransferRequest(head: head, allowsResend: false)
    if !request.body.isEmpty { sent.body = .raw(Data(request.body)) }
    do throws(TransportError) {
      let response = try await transport.execute(sent)
      var answer = LoopbackResponse(status: response.head.status.code, body: Array(response.body.bytes ?? Data()))
      for field in response.head.headerFields where field.name != .connection && field.name != .transferEncoding {
        answer = answer.adding(field.name.rawName, field.value)
      }
      return answer
    } catch {
      return LoopbackResponse(status: error.stage == .timeout ? 504 : 502)
    }
  }

  /// Returns the head of the request that is sent on; `nil` if the target is not in absolute form (RFC 9112 §3.2.2).
  private func head(of request: LoopbackRequest) -> HTTPRequest? {
    guard request.target.lowercased().hasPrefix("http://"), let method = HTTPRequest.Method(request.method) else {
      return nil
    }
    let rest = request.target.dropFirst(7)
    let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
    let path = rest[end...].hasPrefix("/") ? String(rest[end...]) : "/\(rest[end...])"
    var head = HTTPRequest(method: method, scheme: "http", authority: String(rest[..<end]), path: path)
    for field in request.head.fields where !Self.notForwarded.contains(field.name.lowercased()) {
      // The engine frames the body again.
      guard let name = HTTPField.Name(field.name), name != .contentLength, name != .transferEncoding else { continue }
      head.headerFields.append(HTTPField(name: name, value: field.value))
    }
    return head
  }
}
