// SPDX-License-Identifier: Apache-2.0

/// A response of a server created by ``LoopbackServer/http(port:unixSocketPath:tls:respond:)``.
public struct LoopbackResponse: Sendable, Hashable {
  /// A fault that replaces a proper response.
  public struct Fault: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
      case stall
      case reset
      case close
      case truncateBody(after: Int)
      case stallBody(after: Int)
      case http2(LoopbackHTTP2Fault, at: LoopbackHTTP2Fault.Point)
    }

    package let kind: Kind

    /// Never responds: waits until the client gives up.
    public static let stall = Self(kind: .stall)
    /// Resets the connection instead of responding.
    public static let reset = Self(kind: .reset)
    /// Closes the connection instead of responding.
    public static let close = Self(kind: .close)
    /// Resets the stream with REFUSED_STREAM: the request was not processed (RFC 9113 §8.7). An HTTP/1.1 server
    /// responds with 500 instead.
    public static let refusedStream = http2(.resetStream(.refusedStream), at: .beforeHeaders)
    /// Sends GOAWAY that excludes the request, which was not processed, and ends the connection (RFC 9113 §6.8). An
    /// HTTP/1.1 server responds with 500 instead.
    public static let goAway = http2(.goAway(lastStream: .before, .noError), at: .beforeHeaders)

    /// Sends the head with its full `Content-Length` and the given number of body bytes, then closes without
    /// close_notify.
    public static func truncateBody(after count: Int) -> Self { Self(kind: .truncateBody(after: count)) }

    /// Sends the head and the given number of body bytes, then nothing.
    public static func stallBody(after count: Int) -> Self { Self(kind: .stallBody(after: count)) }

    /// Causes an HTTP/2 fault at a point of the response. An HTTP/1.1 server responds with 500 instead.
    package static func http2(_ fault: LoopbackHTTP2Fault, at point: LoopbackHTTP2Fault.Point) -> Self {
      Self(kind: .http2(fault, at: point))
    }
  }

  /// The status code.
  public var status: Int
  /// The header fields in order. `Content-Length` is added if it is missing.
  package var fields: [RawRequestHead.Field]
  /// The body. It is not sent to HEAD, nor with 1xx, 204 and 304.
  public var body: [UInt8]
  /// The fields after the body; over HTTP/1.1 the body is then sent as one chunk. Default: none.
  package var trailers: [RawRequestHead.Field] = []
  /// The 1xx responses before this one, of which only the heads are sent.
  package var interimResponses: [LoopbackResponse] = []
  /// The fault. Default: none.
  public var fault: Fault?

  /// Creates a response.
  public init(
    status: Int = 200, headers: KeyValuePairs<String, String> = [:], body: [UInt8] = [], fault: Fault? = nil
  ) {
    self.status = status
    fields = headers.map { RawRequestHead.Field(name: $0.key, value: $0.value) }
    self.body = body
    self.fault = fault
  }

  /// Returns a response with a JSON text.
  public static func json(_ text: String, status: Int = 200) -> Self {
    Self(status: status, headers: ["Content-Type": "application/json"], body: Array(text.utf8))
  }

  /// Returns a response with a plain text.
  public static func text(_ text: String, status: Int = 200) -> Self {
    Self(status: status, headers: ["Content-Type": "text/plain; charset=utf-8"], body: Array(text.utf8))
  }

  /// Returns a response that consists of a fault.
  public static func fault(_ fault: Fault) -> Self { Self(fault: fault) }

  /// Returns a copy with an additional header field.
  public func adding(_ name: String, _ value: String) -> Self {
    var copy = self
    copy.fields.append(RawRequestHead.Field(name: name, value: value))
    return copy
  }

  /// Returns a copy with an additional trailer field.
  public func addingTrailer(_ name: String, _ value: String) -> Self {
    var copy = self
    copy.trailers.append(RawRequestHead.Field(name: name, value: value))
    return copy
  }

  /// Returns a copy with an additional interim response before it, such as 103.
  public func after(interim status: Int, headers: KeyValuePairs<String, String> = [:]) -> Self {
    var copy = self
    copy.interimResponses.append(Self(status: status, headers: headers))
    return copy
  }

  var allowsBody: Bool { status >= 200 && status != 204 && status != 304 }

  /// Returns the bytes of the head.
  package func head(closing: Bool) -> [UInt8] {
    let names = Set(fields.map { $0.name.lowercased() })
    var text = "HTTP/1.1 \(status) \(Self.reasons[status] ?? "")\r\n"
    for field in fields { text += "\(field.name): \(field.value)\r\n" }
    if allowsBody && isChunked {
      text += "Transfer-Encoding: chunked\r\n"
    } else if allowsBody && !names.contains("content-length") {
      text += "Content-Length: \(body.count)\r\n"
    }
    if closing && !names.contains("connection") { text += "Connection: close\r\n" }
    return interimResponses.flatMap { $0.head(closing: false) } + Array((text + "\r\n").utf8)
  }

  /// Returns the bytes of the body in a response to the given method.
  package func sentBody(to method: String) -> [UInt8] { method == "HEAD" || !allowsBody ? [] : body }

  /// Returns the body in its HTTP/1.1 format: trailers require chunks (RFC 9112 §7.1.2).
  package func sentHTTP1Body(to method: String) -> [UInt8] {
    let body = sentBody(to: method)
    guard isChunked, method != "HEAD", allowsBody else { return body }
    let chunk = body.isEmpty ? [] : Array("\(String(body.count, radix: 16))\r\n".utf8) + body + Array("\r\n".utf8)
    return chunk + Array(("0\r\n" + trailers.map { "\($0.name): \($0.value)\r\n" }.joined() + "\r\n").utf8)
  }

  private var isChunked: Bool {
    !trailers.isEmpty && !fields.contains { $0.name.lowercased() == "content-length" }
  }

  private static let reasons: [Int: String] = [
    200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 206: "Partial Content",
    301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
    307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized",
    403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 409: "Conflict", 410: "Gone",
    413: "Content Too Large", 422: "Unprocessable Content", 429: "Too Many Requests",
    500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
  ]
}
