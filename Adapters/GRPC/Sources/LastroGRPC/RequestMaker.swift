// SPDX-License-Identifier: Apache-2.0

internal import GRPCCore
internal import HTTPTypes
internal import Lastro

/// Makes the HTTP requests of calls, and sends them.
struct RequestMaker: Sendable {
  let authority: String
  let exchange: LastroGRPCTransport.Exchange
  private let base: String
  private let options: RequestOptions

  init(_ baseURL: String, _ options: RequestOptions, _ exchange: @escaping LastroGRPCTransport.Exchange)
    throws(TransportError)
  {
    var base = baseURL
    while base.hasSuffix("/") { base.removeLast() }
    guard !base.contains("?"), !base.contains("#") else {
      throw .refused(
        .invalidURL, "the base URL has a query or a fragment", hint: "give scheme, host, port and perhaps a path")
    }
    authority = try ResourceRequest(method: .post, url: base + "/").head.authority ?? ""
    self.base = base
    self.exchange = exchange
    var options = options
    if options.timeouts == nil {
      var timeouts = Timeouts.streaming
      // Streams may be silent for as long as their peers like.
      timeouts.idle = nil
      options.timeouts = timeouts
    }
    if options.redirects == nil { options.redirects = RedirectPolicy.none }
    options.endsWithResponse = true
    self.options = options
  }

  /// Returns the request of a call.
  ///
  /// - Throws: `TransportError` for metadata that cannot be sent.
  func request(
    _ descriptor: MethodDescriptor, _ metadata: Metadata, _ body: RequestBody, timeout: Duration?
  ) throws(TransportError) -> ResourceRequest {
    var options = options
    options.operation = descriptor.fullyQualifiedMethod
    if let timeout, timeout > .zero {
      // The client enforces the deadline. The stack knows it, too, so that it starts nothing that would end later.
      let total = options.timeouts?.total ?? timeout
      options.timeouts?.total = min(total, timeout)
    }
    var headers: RawHeaders = ["content-type": "application/grpc", "te": "trailers"]
    for (key, value) in metadata where key != "content-type" && key != "te" {
      headers.append(RawHeaders.Name(key), value.encoded())
    }
    return try ResourceRequest(
      method: .post, url: "\(base)/\(descriptor.fullyQualifiedMethod)", headers: headers, body: body, options: options)
  }
}
