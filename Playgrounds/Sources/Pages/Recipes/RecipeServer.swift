// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroTesting

/// The routes of api.example.org, which the recipes call.
struct RecipeServer: Sendable {
  /// The paths requested so far, so that a route can respond differently to its first request.
  private let seen = EventRecorder<String>()

  /// Returns the response to a request.
  func respond(to request: LoopbackRequest) -> LoopbackResponse {
    let isFirst = !seen.events.contains(request.path)
    seen.record(request.path)
    switch request.pathSegments.first {
    case "people": return people(request)
    case "image.iso": return image(request, cutting: false)
    case "cut.iso": return image(request, cutting: isFirst)
    case "files", "uploads": return upload(request)
    case "log", "parts", "orders", "chat", "items": return streamed(request)
    case "reports", "operations": return operation(request, isFirst: isFirst)
    case "login", "account", "basic", "digest", "signed": return credentials(request)
    default: return other(request, isFirst: isFirst)
    }
  }

  private func people(_ request: LoopbackRequest) -> LoopbackResponse {
    switch (request.method, request.pathSegments.count) {
    case ("POST", _) where request.text.contains(#""name":"""#): .json(#"{"message":"a name is missing"}"#, status: 422)
    case ("POST", _): .json(#"{"id":2,"name":"bob"}"#, status: 201)
    case (_, 1): .json(#"[{"id":1,"name":"\#(request.queryItem("name") ?? "")"}]"#)
    default: .json(#"{"id":\#(request.pathSegments[1]),"name":"ann"}"#)
    }
  }

  private func image(_ request: LoopbackRequest, cutting: Bool) -> LoopbackResponse {
    let whole = Array("0123456789".utf8)
    let headers: KeyValuePairs = ["ETag": "\"1\"", "Accept-Ranges": "bytes"]
    if request.headers[.range] == "bytes=6-" {
      return LoopbackResponse(status: 206, headers: headers, body: Array(whole.suffix(4)))
        .adding("Content-Range", "bytes 6-9/10")
    }
    return LoopbackResponse(headers: headers, body: whole, fault: cutting ? .truncateBody(after: 6) : nil)
  }

  private func upload(_ request: LoopbackRequest) -> LoopbackResponse {
    switch (request.method, request.path) {
    case ("POST", "/uploads"): LoopbackResponse(status: 201, headers: ["Location": "/uploads/1"])
    case (_, "/uploads/1"): LoopbackResponse(status: 204, headers: ["Upload-Offset": "\(request.body.count)"])
    default: .text("\(request.body.count) bytes of \(request.headers[.contentType] ?? "")", status: 201)
    }
  }

  private func streamed(_ request: LoopbackRequest) -> LoopbackResponse {
    let events: KeyValuePairs = ["Content-Type": "text/event-stream"]
    switch request.path {
    case "/log": return .text("started\nready\n")
    case "/parts":
      let text = #"{"text":"Light","done":false}"# + "\n" + #"{"text":"scatters.","done":true}"# + "\n"
      return LoopbackResponse(headers: ["Content-Type": "application/x-ndjson"], body: Array(text.utf8))
    case "/orders":
      guard request.headers["Last-Event-ID"] == nil else { return LoopbackResponse(status: 204) }
      let text = "retry: 10\n\nid: 1\nevent: placed\ndata: tea\n\nid: 2\nevent: paid\ndata: tea\n\n"
      return LoopbackResponse(headers: events, body: Array(text.utf8))
    case "/chat":
      let text = "data: {\"text\":\"Light \"}\n\ndata: {\"text\":\"scatters.\"}\n\ndata: [DONE]\n\n"
      return LoopbackResponse(headers: events, body: Array(text.utf8))
    default:
      let isSecond = request.queryItem("page") == "b"
      return .json(isSecond ? #"{"data":[3]}"# : #"{"data":[1,2],"next":"b"}"#)
    }
  }

  private func operation(_ request: LoopbackRequest, isFirst: Bool) -> LoopbackResponse {
    if request.path == "/reports" { return LoopbackResponse(status: 202, headers: ["Location": "/operations/1"]) }
    return isFirst ? .json("{}").adding("Retry-After", "0") : .json(#"{"url":"/reports/1"}"#)
  }

  private func credentials(_ request: LoopbackRequest) -> LoopbackResponse {
    switch request.path {
    case "/login": return .text("hello").adding("Set-Cookie", "session=31d4; Secure; HttpOnly")
    case "/account": return .text(request.headers[.cookie] ?? "no session")
    case "/signed": return .text(request.headers["X-Signature"] ?? "not signed")
    default:
      if let sent = request.headers[.authorization] { return .text(String(sent.prefix { $0 != " " })) }
      return .text("who are you?", status: 401)
        .adding("WWW-Authenticate", #"Digest realm="a", nonce="n", qop="auth", algorithm=SHA-256"#)
    }
  }

  private func other(_ request: LoopbackRequest, isFirst: Bool) -> LoopbackResponse {
    switch request.path {
    case "/echo": return .text(request.text.isEmpty ? request.headers["X-Tenant"] ?? "" : request.text)
    case "/page":
      let type: KeyValuePairs = ["Content-Type": "text/plain; charset=iso-8859-1"]
      return LoopbackResponse(headers: type, body: [0x4F, 0x6C, 0xE1])
    case "/old": return LoopbackResponse(status: 308, headers: ["Location": "/people/1"])
    case "/rates":
      guard request.headers[.ifNoneMatch] == nil else { return LoopbackResponse(status: 304) }
      return .json(#"{"USD":1.08}"#).adding("ETag", "\"7\"").adding("Cache-Control", "max-age=60")
    case "/down": return .text("not now", status: 503)
    case "/uneven": return isFirst ? .fault(.stall) : .text("here")
    default: return .text("there is nothing", status: 404)
    }
  }
}
